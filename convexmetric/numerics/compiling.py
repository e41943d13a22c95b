"""Decorators of compiled loops: numba's ``njit`` with the settings that every loop of this package has.

A loop is compiled when it is first called with arrays of some type, and cached: in the folder ``NUMBA_CACHE_DIR``, next
to its source file, or in the home folder, wherever can be written first; it releases the interpreter's lock. Browsers
run it as the Python it is written in, where a division by zero raises: none may occur, though compiled loops divide as
NumPy does. Caches do not depend on the settings below: run ``make clean-cache`` after changing them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

#: Seconds of the processor that compiling has taken in this process.
seconds = 0.0

if TYPE_CHECKING:
    # numba infers types when a loop is called; mypy treats a loop as untyped and does not check its body.
    from typing import no_type_check as compiled
    from typing import no_type_check as compiled_in_any_order
else:
    from functools import cache, cached_property, partial, update_wrapper
    from threading import Lock

    _LOCK = Lock()

    @cache
    def _dispatcher(loop, inner=False):
        from convexmetric.numerics.dispatchers import dispatcher

        return dispatcher(loop.py_func, loop.settings, inner)

    class Loop:
        """A function that numba compiles, with settings; numba is imported when the first is called."""

        def __init__(self, function, **settings):
            update_wrapper(self, function)
            self.py_func, self.settings = function, settings

        def __call__(self, *arguments):
            return self.dispatcher(*arguments)

        def __reduce__(self):
            return self.__qualname__

        @cached_property
        def dispatcher(self):
            """Function of numba; threads that are first at the same time get the same one."""
            with _LOCK:
                return _dispatcher(self)

        @property
        def _numba_type_(self):
            # What numba asks for in loops that call this one, under its own lock.
            return _dispatcher(self, inner=True)._numba_type_

    compiled = Loop
    # Sums may be added in another order, multiplications fused with additions, and zeros lose their sign, so that loops
    # use vector registers. NaN and infinity stay what they are.
    compiled_in_any_order = partial(Loop, fastmath={"reassoc", "contract", "nsz"})

__all__ = ["compiled", "compiled_in_any_order"]
