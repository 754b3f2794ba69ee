"""The `kernel` decorator, the compile cache that cannot go stale, and the few things only a compiler can do.

numba's own on-disk cache looks at the file of the compiled function alone: it serves stale code when a kernel in
*another* file changes, and it ignores settings such as bounds checking. Here the cache folder's name carries a digest
of all sources that hold kernels and of every such setting, so a change of either starts an empty folder.

With ``NUMBA_DISABLE_JIT=1`` a kernel is the plain Python function, and every game plays the same.
"""

import hashlib
import os
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import llvmlite.binding
import numba
import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

Function = TypeVar("Function", bound=Callable[..., Any])

# numba fills its config module at run time, which type checkers cannot see.
_config: Any = numba.config

JIT_ENABLED = not _config.DISABLE_JIT
_SOURCE_FOLDERS = ("core", "envs", "agents")
_STALE_AFTER_DAYS = 30
_digests: dict[str, str] = {}
_dispatchers: list[Any] = []

if not JIT_ENABLED:
    # splitmix64 wraps around by design; compiled code does so in silence.
    np.seterr(over="ignore")


def kernel(function: Function) -> Function:
    """Compile `function` with numba: cached on disk, without the GIL, IEEE floats (no fastmath, no parallel)."""
    if function.__name__ in function.__code__.co_names + function.__code__.co_freevars:
        # Seen with numba 0.68: a self-recursive function works when compiled and crashes when loaded from the cache.
        raise TypeError(f"kernel {function.__name__} calls itself; write the recursion out with a stack")
    if not JIT_ENABLED:
        return function
    _add_sources(Path(function.__code__.co_filename).parent)
    dispatcher: Any = numba.njit(nogil=True, error_model="numpy")(function)
    _dispatchers.append(dispatcher)
    _enable_cache(dispatcher)
    return dispatcher


def shared_table(name: str, table: np.ndarray) -> Callable[[], np.ndarray]:
    """Return a kernel that gives `table` itself, not a frozen copy, so that its contents may grow at run time.

    `name` is the table's symbol, one in a process; `table` is C-contiguous, keeps its address, and lives for ever.
    (A global array inside a kernel is compiled in as a constant; a pointer in a state could not be saved.)
    """
    if not JIT_ENABLED:
        return lambda: table
    symbol = f"trilithon_{name}"
    llvmlite.binding.add_symbol(symbol, table.ctypes.data)
    shape, dtype = table.shape, table.dtype

    def address_of(typing_context: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            module = builder.module
            if symbol in module.globals:
                return builder.bitcast(module.globals[symbol], context.get_value_type(types.voidptr))
            variable = ir.GlobalVariable(module, ir.IntType(8), symbol)
            variable.linkage = "external"
            return builder.bitcast(variable, context.get_value_type(types.voidptr))

        return types.voidptr(), generate

    address: Any = intrinsic(address_of)

    @numba.njit(nogil=True)
    def get() -> np.ndarray:
        return numba.carray(address(), shape, dtype)

    return get


def cache_folder() -> Path:
    """The folder of the compile cache now: ``$TRILITHON_CACHE_DIR`` or the user's cache folder, and the digest."""
    settings = [numba.__version__, llvmlite.__version__, np.__version__, sys.version, *sorted(_digests.values())]
    settings += [str(_config.BOUNDSCHECK), str(_config.OPT), str(_config.DEBUG_JIT)]
    digest = hashlib.sha256("\0".join(settings).encode()).hexdigest()[:16]
    return _cache_root() / f"kernels-{digest}"


def compile_seconds() -> float:
    """Seconds this process has spent compiling kernels (from numba's own accounting of its dispatchers)."""
    total = 0.0
    for dispatcher in _dispatchers:
        for signature in dispatcher.signatures:
            metadata = dispatcher.get_metadata(signature) or {}
            total += metadata.get("timers", {}).get("compiler_lock", 0.0)
    return total


def _cache_root() -> Path:
    base = os.environ.get("TRILITHON_CACHE_DIR")
    if base:
        return Path(base)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "trilithon"


def _add_sources(folder: Path) -> None:
    """Let the digest cover the package that `folder` belongs to; a new package moves every kernel's cache.

    A game from outside brings verbs that are compiled into *our* generic kernels, so those must not outlive it.
    """
    while (folder.parent / "__init__.py").exists():
        folder = folder.parent
    if str(folder) in _digests:
        return
    _digests[str(folder)] = _digest_of(folder)
    for dispatcher in _dispatchers:
        _enable_cache(dispatcher)


def _digest_of(folder: Path) -> str:
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        source = path.read_bytes()
        # Compiled code depends on the core (its constants included) and on other files only where they hold kernels.
        if folder.name == "core" or b"@kernel" in source:
            digest.update(path.relative_to(folder).as_posix().encode() + b"\0" + source + b"\0")
    return digest.hexdigest()


def _enable_cache(dispatcher: Any) -> None:
    """Point one dispatcher at the present cache folder, or at none where no folder can be written."""
    folder = cache_folder()
    previous = _config.CACHE_DIR
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not os.access(folder, os.W_OK):
            return
        _config.CACHE_DIR = str(folder)
        dispatcher.enable_caching()
    except (OSError, RuntimeError):
        pass  # compiled anew in every process, and right all the same
    finally:
        _config.CACHE_DIR = previous


def _digest_own_sources() -> None:
    """All our folders at once, so that the digest does not depend on which modules were imported."""
    root = Path(__file__).resolve().parent.parent
    for name in _SOURCE_FOLDERS:
        if (root / name).is_dir():
            _digests[str(root / name)] = _digest_of(root / name)


def _remove_stale_folders() -> None:
    """Drop cache folders of other digests that nobody has written to for a month."""
    limit = time.time() - _STALE_AFTER_DAYS * 86400
    try:
        for folder in _cache_root().glob("kernels-*"):
            if folder.stat().st_mtime < limit and folder != cache_folder():
                shutil.rmtree(folder, ignore_errors=True)
    except OSError:
        pass  # the cache folder is a convenience


_digest_own_sources()
_remove_stale_folders()
