"""A component as a folder of C and C++: `export_component`."""

from __future__ import annotations

import re
from importlib.metadata import version
from pathlib import Path

from ..compiler.c.export import check_c_name
from ..compiler.c.target import Target
from ..compiler.ir.number_formats import DOUBLE, SINGLE
from .build_files import cmake_lists, makefile, pkg_config
from .c_check import check_program
from .c_code import code, header
from .component import Component
from .cpp_class import cpp_header


def export_component(
    component: Component,
    folder: str | Path,
    name: str = "",
    *,
    float32: bool = False,
    freestanding: bool = False,
) -> list[Path]:
    """Write a component as C99 with an explicit state, a C++17 class, build files and a check.

    `make check` in the folder compares it with steps of the Python kernel, bit for bit.

    Args:
        component: Such as `online_loop(controller)` returns.
        folder: Where to write; made if it does not exist.
        name: Prefix of the C names; by default that of the component.
        float32: Whether to compute in single precision; False by default.
        freestanding: Whether to use no C library; False by default.

    Returns:
        The paths written.

    Raises:
        InputError: The name is none of C, or results of the component are not finite.

    Example:
        >>> import flexjoint as fj
        >>> law = fj.control.MotorPD(fj.load("panda"), [500.0, 50.0])
        >>> loop = fj.deployment.online_loop(law, period=1e-3)
        >>> [x.name for x in fj.deployment.export_component(loop, "c", "law")][:3]
        ['law.h', 'law.c', 'law.hpp']
    """
    chosen = name or re.sub(r"[^A-Za-z0-9_]+", "_", component.name).strip("_").lower()
    check_c_name(chosen)
    target = Target(SINGLE if float32 else DOUBLE, freestanding)
    about = [
        component.name,
        f"one step per {component.period:g} s, {component.kernel.operations} operations",
        f"written by flexjoint {version('flexjoint')}; all quantities on the link side, in SI units",
    ]
    files = {
        f"{chosen}.h": header(component, chosen, about, target),
        f"{chosen}.c": code(component, chosen, target),
        f"{chosen}.hpp": cpp_header(chosen),
        "check.c": check_program(component, chosen, target),
        "Makefile": makefile(chosen, freestanding),
        "CMakeLists.txt": cmake_lists(chosen, freestanding),
        f"{chosen}.pc.in": pkg_config(chosen, component.name),
    }
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    for file, text in files.items():
        (place / file).write_text(text)
    return [place / file for file in files]
