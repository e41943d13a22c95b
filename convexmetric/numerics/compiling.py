"""Decorators of compiled loops: numba's ``njit`` with the settings that every loop of this package has.

A loop is compiled when it is first called with arrays of some type, and cached next to its source file; it releases the
interpreter's lock. Browsers run it as the Python it is written in, where a division by zero raises: none may occur,
though compiled loops divide as NumPy does. Caches do not depend on the settings below: run ``make clean-cache`` after
changing them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    # numba infers types when a loop is called; mypy treats a loop as untyped and does not check its body.
    from typing import no_type_check as compiled
    from typing import no_type_check as compiled_in_any_order
else:
    import numba

    _SETTINGS = {"cache": True, "nogil": True, "error_model": "numpy"}
    compiled = numba.njit(**_SETTINGS)
    # Sums may be added in another order, multiplications fused with additions, and zeros lose their sign, so that loops
    # use vector registers. NaN and infinity stay what they are.
    compiled_in_any_order = numba.njit(**_SETTINGS, fastmath={"reassoc", "contract", "nsz"})

__all__ = ["compiled", "compiled_in_any_order"]
