"""A component as a functional mock-up unit: `export_fmu`."""

from __future__ import annotations

import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path

from ...atomic import replacing
from ...compiler.c.export import check_c_name
from ...compiler.c.target import Target
from ...errors import FlexjointError
from ...results.files import check_path
from ..c_code import FLAGS, code, header
from ..component import Component
from ..continuous_c import continuous_files
from .model_description import model_description

STAMP = (1980, 1, 1, 0, 0, 0)  # of all files, so that equal FMUs are equal files
FLAGS_OF_COMPILER = ("-std=c99", "-O2", "-ffp-contract=off", "-fPIC", "-shared", "-fvisibility=hidden")

MODEL = """\
#include "@NAME@.h"
@CONTINUOUS@
#define MODEL_GUID "@GUID@"
#define MODEL_PERIOD @PERIOD@
#define MODEL_STATE @NAME@_state
#define MODEL_PARAMETERS @NAME@_parameters
#define MODEL_INPUT @NAME@_input
#define MODEL_OUTPUT @NAME@_output
#define MODEL_INIT @NAME@_init
#define MODEL_DEFAULTS @NAME@_defaults
#define MODEL_STEP @NAME@_step
#define MODEL_RATES @NAME@_rates
#define MODEL_DIRECTIONAL @NAME@_directional
#define STATES @STATES@
#define PARAMETER_COUNT @PARAMETERS@
#define INPUT_COUNT @INPUTS@
#define OUTPUT_COUNT @OUTPUTS@
#define HAS_RATES @RATES@
#define HAS_FLAGS @FLAGS@
@TIME@
"""


def export_fmu(component: Component, path: str | os.PathLike[str], name: str = "") -> Path:
    """Write a component as an FMU by FMI 2.0, with its sources and a binary for this machine.

    Every component is for co-simulation, with a communication step of one period or several; a plant is for model
    exchange too.  Numbers are called `q[1]`, `K_P[3]`; parameters are tunable.

    Args:
        component: Such as `online_loop` and `plant_component` return.
        path: .fmu file.
        name: Identifier of the model in C; by default that of the component.

    Returns:
        The path.

    Raises:
        InputError: The path or the name cannot be used.
        FlexjointError: There is no C compiler, or it fails.

    Example:
        >>> import flexjoint as fj
        >>> plant = fj.deployment.plant_component(fj.load("hua_3r"))
        >>> fj.deployment.export_fmu(plant, "arm.fmu").name
        'arm.fmu'
    """
    place = check_path(path, (".fmu",), "an FMU")
    chosen = name or re.sub(r"[^A-Za-z0-9_]+", "_", component.name).strip("_").lower()
    check_c_name(chosen)
    texts = source_files(component, chosen)
    guid = hashlib.sha256("".join(texts.values()).encode()).hexdigest()[:32]
    texts["model.h"] = texts["model.h"].replace("@GUID@", guid)
    sources = [x for x in texts if x.endswith(".c")]
    description = model_description(component, chosen, guid, sources, f"flexjoint {version('flexjoint')}")
    system, suffix = binary_place()
    with tempfile.TemporaryDirectory() as folder:
        library = compiled(Path(folder), texts, f"{chosen}{suffix}")
        content = {"modelDescription.xml": description.encode()}
        content[f"binaries/{system}/{library.name}"] = library.read_bytes()
    content |= {f"sources/{file}": text.encode() for file, text in texts.items()}
    with replacing(place) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for inside, data in content.items():
            archive.writestr(zipfile.ZipInfo(inside, STAMP), data, zipfile.ZIP_DEFLATED)
    return place


def source_files(component: Component, name: str) -> dict[str, str]:
    """The texts of all C files; the guid is left open in model.h."""
    about = [component.name, f"written by flexjoint {version('flexjoint')}"]
    continuous = continuous_files(component, name) if component.rates is not None else {}
    given = [x for x in component.outputs if x.name != FLAGS]
    inputs = [x.name for x in component.inputs]
    clocks = [(macro, x) for macro, x in (("STAMP", "t"), ("ELAPSED", "elapsed")) if x in inputs]
    time = [f"#define {macro} {place_of(component, x)}" for macro, x in clocks]
    numbers = {
        "CONTINUOUS": f'#include "{name}_continuous.h"' if continuous else "",
        "PERIOD": Target().literal(component.period),
        "STATES": sum(x.size for x in component.state),
        "PARAMETERS": sum(x.size for x in component.parameters),
        "INPUTS": sum(x.size for x in component.inputs),
        "OUTPUTS": sum(x.size for x in given),
        "RATES": int(component.rates is not None),
        "FLAGS": int(len(given) < len(component.outputs)),
        "TIME": "\n".join(time),
        "NAME": name,
    }
    model = MODEL
    for key, value in numbers.items():
        model = model.replace(f"@{key}@", str(value))
    interface = files("flexjoint.deployment.fmu").joinpath("interface.c").read_text()
    return {
        f"{name}.h": header(component, name, about, Target()),
        f"{name}.c": code(component, name, Target()),
        **continuous,
        "model.h": model,
        "interface.c": interface,
    }


def place_of(component: Component, name: str) -> int:
    """The place of an input among all inputs."""
    names = [x.name for x in component.inputs]
    return sum(x.size for x in component.inputs[: names.index(name)])


def binary_place() -> tuple[str, str]:
    """The folder of binaries for this machine, and their suffix."""
    word = "64" if sys.maxsize > 2**32 else "32"
    if platform.system() == "Darwin":
        return f"darwin{word}", ".dylib"
    if platform.system() == "Windows":
        return f"win{word}", ".dll"
    return f"linux{word}", ".so"


def compiled(folder: Path, texts: dict[str, str], library: str) -> Path:
    """The shared library of the sources."""
    for file, text in texts.items():
        (folder / file).write_text(text)
    compiler = next((x for x in (os.environ.get("CC", ""), "cc", "gcc", "clang") if x and shutil.which(x)), None)
    if compiler is None:
        raise FlexjointError("export_fmu: no C compiler was found (cc, gcc, clang, or the variable CC); install one")
    sources = [x for x in texts if x.endswith(".c")]
    command = [compiler, *FLAGS_OF_COMPILER, "-o", library, *sources, "-lm"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        raise FlexjointError(f"export_fmu: {compiler} failed: {done.stderr.strip()[:500]}")
    return folder / library
