"""What is in use on this computer: `show_config`."""

from __future__ import annotations

from collections.abc import Mapping

from ..compiler.runtime.calling import EXTENSION


def show_config() -> str:
    """Which parts are in use on this computer: call path, versions, processor.

    Example:
        >>> import flexjoint as fj
        >>> fj.show_config().startswith("flexjoint")  # doctest: +ELLIPSIS
        flexjoint ...
        True
    """
    text = configuration_text(configuration())
    print(text)
    return text


def configuration() -> dict[str, str]:
    """Versions by package, the call path, LLVM and the processor it compiles for."""
    import importlib.metadata as metadata
    import platform

    import llvmlite.binding as llvm

    from ..compiler.llvm.jit import target

    path = "C extension" if EXTENSION else "ctypes (the C extension was not built: install a C compiler and reinstall)"
    return {
        "flexjoint": metadata.version("flexjoint"),
        "python": platform.python_version(),
        "calls": path,
        **{name: metadata.version(name) for name in ("numpy", "casadi", "llvmlite", "scipy")},
        "llvm": ".".join(map(str, llvm.llvm_version_info)),
        "processor": target().cpu,
    }


def configuration_text(found: Mapping[str, str]) -> str:
    packages = [f"{name} {found[name]}" for name in ("numpy", "casadi", "llvmlite", "scipy")]
    first = f"flexjoint {found['flexjoint']}, Python {found['python']}"
    return "\n".join([first, f"calls: {found['calls']}", *packages, f"LLVM {found['llvm']} for {found['processor']}"])
