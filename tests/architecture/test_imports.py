"""What may import what, and what importing flexjoint loads."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import flexjoint
from support.public import TOP

PACKAGE = Path(flexjoint.__file__).parent
LAYERS = [
    "errors",
    "file_limits",
    "findings",
    "types",
    "boundary",
    "control_characters",
    "tables",
    "html",
    "lazy",
    "checks",
    "progress",
    "registry",
    "reprs",
    "python_code",
    "compiler",
    "numerics",
    "atomic",
    "spatial",
    "springs",
    "drives",
    "robot",
    "catalog",
    "formats",
    "algorithm",
    "adapters",
    "dynamics",
    "kinematics",
    "trajectory",
    "observers",
    "control",
    "simulation",
    "results",
    "logs",
    "detection",
    "analysis",
    "identification",
    "studies",
    "deployment",
    "plots",
    "viewer",
    "studio",
    "reports",
    "cli",
    "__main__",
]  # a module imports from its own layer and those before it
LEAVES = ["cli"]  # nothing but __main__ imports them; they alone may import flexjoint as its users do
MODULES = sorted(PACKAGE.rglob("*.py"))


def layer(path):
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported(path, source=None):
    """Layers of flexjoint a module imports from, anywhere in its text; "" for the package itself."""
    package = ("flexjoint", *path.relative_to(PACKAGE).parent.parts)
    found = set()
    for node in ast.walk(ast.parse(path.read_text() if source is None else source)):
        if isinstance(node, ast.Import):
            names = [alias.name.split(".") for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else ()
            base = [*above, *(node.module.split(".") if node.module else [])]
            names = [[*base, alias.name] for alias in node.names]
        else:
            continue
        ours = [name[1] if len(name) > 1 else "" for name in names if name[0] == "flexjoint"]
        found |= {"" if x in TOP else x for x in ours}
    return found


def forbidden(path, source=None):
    own = layer(path)
    if own == "__main__":
        return imported(path, source) - set(LEAVES)
    allowed = set(LAYERS[: LAYERS.index(own) + 1]) - set(LEAVES) | {own}
    return imported(path, source) - (allowed | {""} if own in LEAVES else allowed)


def test_every_module_has_a_layer():
    assert {layer(path) for path in MODULES} - {"__init__", "_exports"} <= set(LAYERS)


def test_imports_go_one_way():
    modules = [path for path in MODULES if layer(path) not in ("__init__", "_exports")]
    assert {str(path.relative_to(PACKAGE)): x for path in modules if (x := forbidden(path))} == {}


def test_nothing_imports_a_leaf():
    assert not imported(PACKAGE / "__init__.py") & set(LEAVES)


@pytest.mark.parametrize(
    ("module", "source", "bad"),
    [
        ("robot/model.py", "from ..algorithm.algorithm import algorithm", {"algorithm"}),
        ("robot/model.py", "import flexjoint.dynamics.recursion.energy", {"dynamics"}),
        ("robot/model.py", "import flexjoint", {""}),
        ("compiler/runtime/kernel.py", "from ...errors import InputError\nfrom ... import dynamics", {"dynamics"}),
        ("compiler/runtime/kernel.py", "def f():\n    from ...algorithm.compile import compile", {"algorithm"}),
        ("compiler/runtime/kernel.py", "from ..ir.program import Program\nfrom . import cache", set()),
        ("dynamics/inverse.py", "from ..cli import app", {"cli"}),
        ("robot/model.py", "from .. import mass_matrix", {""}),
        ("cli/robots.py", "import flexjoint as fj\nfrom .. import mass_matrix", set()),
    ],
)
def test_a_wrong_import_would_be_seen(module, source, bad):
    assert forbidden(PACKAGE / module, source) == bad


def modules_after(statement):
    code = f"{statement}; import sys; print(*sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


HEAVY = {"casadi", "llvmlite", "scipy", "matplotlib", "rich", "typer", "pinocchio", "mujoco", "xarray", "control"}
HEAVY |= {"jax", "torch"}


EVERY_NAME = "import flexjoint; [getattr(flexjoint, name) for name in flexjoint.__all__]"


@pytest.mark.parametrize(
    ("statement", "needed"),
    [
        ("import flexjoint", "flexjoint"),
        ("import flexjoint; flexjoint.load('kuka_lwr')", "flexjoint.robot"),
        ("import flexjoint.trajectory", "flexjoint.trajectory.spline"),
        (EVERY_NAME, "flexjoint.dynamics.recursion.newton_euler"),
    ],
    ids=["package", "robot", "trajectory", "every name"],
)
def test_importing_loads_numpy_only(statement, needed):
    loaded = modules_after(statement)
    assert {needed, "numpy"} <= loaded
    assert not HEAVY & loaded


def test_editors_see_the_public_names():
    """What type checkers read, `_exports.py`, is what a user gets."""
    imports = [x for x in ast.parse((PACKAGE / "_exports.py").read_text()).body if isinstance(x, ast.ImportFrom)]
    named = {alias.asname for x in imports for alias in x.names if not alias.asname.startswith("_")}
    assert named == set(flexjoint.__all__) <= set(dir(flexjoint))


def test_the_top_level_is_short():
    assert len(TOP) <= 55, "the rest belongs to subpackages"


def test_a_name_of_a_subpackage_is_pointed_to():
    code = "import flexjoint; flexjoint" + ".MotorPD"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert ("module 'flexjoint' has no attribute 'MotorPD'; it is fj.control.MotorPD") in done.stderr


@pytest.mark.parametrize("module", ["_exports", "numerics", "formats.loading"])
def test_names_can_be_used_after_any_module_was_imported(module):
    """Walks such as `pkgutil.walk_packages` import modules before any name is used."""
    code = f"import flexjoint.{module}; flexjoint.load('kuka_lwr'); print('__getattr__' in vars(flexjoint))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "False\n", done.stderr


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'flexjoint' has no attribute 'collision_distance'"):
        _ = flexjoint.collision_distance


def test_a_kernel_loads_casadi_and_llvm():
    """... so the test above would see them."""
    loaded = modules_after("import flexjoint as fj; fj.gravity_torque(fj.random_robot(1, 0), [0.1])")
    assert {"casadi", "llvmlite"} <= loaded
    assert not (HEAVY - {"casadi", "llvmlite"}) & loaded
