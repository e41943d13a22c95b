"""numba's functions of compiled loops, and where they are cached; imported when the first loop is called."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from time import process_time
from typing import Any

import numba
from numba.core.caching import CompileResultCacheImpl, FunctionCache
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.runtime import rtsys

from convexmetric.imports import uncollected
from convexmetric.numerics import compiling

#: Whether this numba is of the versions whose compiler and cache were read. Others compile and load as they do by
#: themselves, which takes longer: what they need may be more, and a lack of it can end the process.
KNOWN = (0, 61) <= numba.version_info.short <= (0, 68)
#: Passes for closures, branches on types, and expressions of arrays, of which loops have none.
_IDLE = {"dead_branch_prune", "inline_closure_likes", "inline_overloads", "nopython_rewrites"}
_OF_ENVIRONMENT, *_OTHERS = CompileResultCacheImpl._locator_classes


class _ReadOnly(_OF_ENVIRONMENT):  # type: ignore[misc,valid-type]
    """The folder ``NUMBA_CACHE_DIR`` of an image: numba takes no folder that it cannot write to."""

    def ensure_cache_path(self) -> None:
        os.stat(self.get_cache_path())


class _Places(CompileResultCacheImpl):
    _locator_classes = (_OF_ENVIRONMENT, _ReadOnly, *_OTHERS)


class _Cache(FunctionCache):
    """Cache of a loop, for which a full or read-only disk is no error.

    A loop that was compiled needs numba's memory management only. numba gets ready to compile before it loads one, too,
    which takes a tenth of a second.
    """

    _impl_class: type[_Places] = _Places

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        if not KNOWN:
            return super().load_overload(sig, target_context)
        rtsys.initialize(target_context)
        with self._guard_against_spurious_io_errors():
            return self._load_overload(sig, target_context)

    def save_overload(self, sig: Any, data: Any) -> None:
        with suppress(OSError):
            super().save_overload(sig, data)


class _InnerPlaces(_Places):
    """Files of their own for loops as other loops call them."""

    def get_filename_base(self, fullname: str, abiflags: str) -> str:
        return f"{super().get_filename_base(fullname, abiflags)}.inner"


class _InnerCache(_Cache):
    _impl_class = _InnerPlaces


class _Compiler(Compiler):
    """numba's compiler without garbage collection, and without passes that change no loop."""

    def __init__(self, *arguments: Any) -> None:
        with uncollected():
            super().__init__(*arguments)

    def define_pipelines(self) -> list[Any]:
        pipelines: list[Any] = super().define_pipelines()
        for pipeline in pipelines if KNOWN else ():
            pipeline.passes = [each for each in pipeline.passes if each[0].name() not in _IDLE]
            pipeline.finalize()
        return pipelines

    def compile_extra(self, func: Callable[..., Any]) -> Any:
        begin, before = process_time(), compiling.seconds
        try:
            with uncollected():
                return super().compile_extra(func)
        finally:
            # Those of loops within are counted once.
            compiling.seconds = before + process_time() - begin


class _InnerLibrary(JITCodeLibrary):
    """Code of a loop that other loops optimise and translate for the processor, together with their own."""

    serialize_using_object_code = JITCodeLibrary.serialize_using_bitcode

    def _optimize_final_module(self) -> None:
        """Leave it to the loops that call it."""

    def _finalize_final_module(self) -> None:
        self._finalized = True


class _InnerCompiler(_Compiler):
    """Compiler of loops that are never called from Python: any function stands for what would call them."""

    def compile_extra(self, func: Callable[..., Any]) -> Any:
        # numba makes a copy of the target for every loop.
        self.state.targetctx.get_executable = lambda *_: [].append
        self.state.library = _InnerLibrary(self.state.targetctx.codegen(), func.__qualname__)
        return super().compile_extra(func)


@cache
def _warn_once() -> None:
    warnings.warn(
        "no folder can be written to keep compiled loops in, so that every process compiles anew, for some "
        "seconds: set NUMBA_CACHE_DIR to a folder that 'convexmetric warm-up' has filled",
        stacklevel=7,
    )


def dispatcher(function: Callable[..., Any], settings: dict[str, Any], inner: bool) -> Callable[..., Any]:
    """Return numba's function, which compiles a loop for the types that it is called with.

    An ``inner`` one is for other loops only: it lacks what calls it from Python, which takes long to compile where it
    takes tuples of arrays. None has what calls it from C.
    """
    wrappers = {"no_cpython_wrapper": inner, "no_cfunc_wrapper": True}
    compiler = _InnerCompiler if inner and KNOWN else _Compiler
    loop = numba.njit(nogil=True, error_model="numpy", pipeline_class=compiler, **wrappers, **settings)(function)
    try:
        loop._cache = (_InnerCache if inner else _Cache)(function)
    except RuntimeError:
        _warn_once()
    return loop
