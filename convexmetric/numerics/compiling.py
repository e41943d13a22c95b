"""Decorators of compiled loops: numba's ``njit`` with the settings that every loop of this package has.

A loop is compiled when it is first called with arrays of some type, and cached: in the folder ``NUMBA_CACHE_DIR``, next
to its source file, or in the home folder, wherever can be written first; it releases the interpreter's lock. Browsers
run it as the Python it is written in, where a division by zero raises: none may occur, though compiled loops divide as
NumPy does. Caches do not depend on the settings below: run ``make clean-cache`` after changing them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    # numba infers types when a loop is called; mypy treats a loop as untyped and does not check its body.
    from typing import no_type_check as compiled
    from typing import no_type_check as compiled_in_any_order
else:
    import os
    import warnings
    from contextlib import suppress
    from functools import cache, partial

    import numba
    from numba.core.caching import CompileResultCacheImpl, FunctionCache

    _OF_ENVIRONMENT, *_OTHERS = CompileResultCacheImpl._locator_classes

    class _ReadOnly(_OF_ENVIRONMENT):
        """The folder ``NUMBA_CACHE_DIR`` of an image: numba takes no folder that it cannot write to."""

        def ensure_cache_path(self):
            os.stat(self.get_cache_path())

    class _Places(CompileResultCacheImpl):
        _locator_classes = (_OF_ENVIRONMENT, _ReadOnly, *_OTHERS)

    class _Cache(FunctionCache):
        """Cache of a loop, for which a full or read-only disk is no error."""

        _impl_class = _Places

        def save_overload(self, sig, data):
            with suppress(OSError):
                super().save_overload(sig, data)

    @cache
    def _warn_once():
        warnings.warn(
            "no folder can be written to keep compiled loops in, so that every process compiles anew, for some "
            "seconds: set NUMBA_CACHE_DIR to a folder that 'convexmetric warm-up' has filled",
            stacklevel=4,
        )

    def _compiled(function, **more):
        loop = numba.njit(nogil=True, error_model="numpy", **more)(function)
        try:
            loop._cache = _Cache(function)
        except RuntimeError:
            _warn_once()
        return loop

    compiled = _compiled
    # Sums may be added in another order, multiplications fused with additions, and zeros lose their sign, so that loops
    # use vector registers. NaN and infinity stay what they are.
    compiled_in_any_order = partial(_compiled, fastmath={"reassoc", "contract", "nsz"})

__all__ = ["compiled", "compiled_in_any_order"]
