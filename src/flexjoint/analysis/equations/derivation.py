"""Derivation of the equations: an algorithm on symbols, its result simplified.

robot.with_symbols  ->  algorithm on SX  ->  trigonometric sums  ->  SymPy, grouped and factored
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, NamedTuple

from ...algorithm.algorithm import ALGORITHMS, Algorithm
from ...checks import positive, whole
from ...compiler.ir.program import Array
from ...dynamics import explain_orders  # noqa: F401  the algorithms register themselves
from ...errors import InputError
from ...formats.toml import suggestion
from ...progress import activity
from ...robot import Robot, numeric
from ...robot.parameters import found_in, select_all
from ...spatial import ca
from ...types import Expression
from .document import Equations, Parameter, Quantity, size
from .expansion import expanded
from .notation import Name, coordinate_names, parameter_names
from .simplification import Writer
from .trigonometric_sums import Budget, TooLarge

OWNER = "equations_of_motion"
SYMBOLS = {
    "mass_matrix": "M",
    "mass_matrix_rate": r"\dot{M}",
    "coriolis_torque": "c",
    "coriolis_matrix": "C",
    "gravity_torque": "g",
    "static_torque": r"g_{\mathrm{static}}",
    "rotor_coupling": "S",
    "rotor_torque": r"c_{\mathrm{rotor}}",
    "carrier_torque": r"c_{\mathrm{carrier}}",
    "inverse_dynamics": r"\tau",
    "torque_derivatives_0": r"\tau_e",
    "torque_derivatives_1": r"\dot{\tau}_e",
    "torque_derivatives_2": r"\ddot{\tau}_e",
    "kinetic_energy": "T",
    "gravity_energy": "U",
    "jacobian": "J",
}
TIME_LIMIT = 60.0  # s


def equations_of_motion(
    robot: Robot,
    quantities: Sequence[str] | None = None,
    *,
    symbols: Sequence[str] | None = None,
    order: int = 0,
    time_limit: float = TIME_LIMIT,
) -> Equations:
    """The equations of motion of a small robot, simplified, as SymPy expressions, LaTeX or code.

    Needs SymPy: `pip install sympy`.

    Args:
        robot: A robot of two or three joints; with more joints a quantity may take too long.
        quantities: Names of algorithms, such as "mass_matrix", "coriolis_torque", "gravity_torque", "rotor_coupling",
            "inverse_dynamics" or "torque_derivatives".  Default those of the link and motor equations that the robot
            has.
        symbols: Paths and patterns of the numbers that become symbols (docs/parameters.md); () for numbers throughout.
            Default every number that is not 0.
        order: Highest time derivative of the torque on the links, for "torque_derivatives".  Default 0.
        time_limit: Seconds after which the derivation is given up.  Default 60.

    Returns:
        Equations: `equations["mass_matrix"]`, `latex()`, `sympy_code()`, `python_code()`.

    Raises:
        InputError: SymPy is missing, a name is unknown, a quantity has no closed form for this robot or is too large.

    Example:
        >>> import flexjoint as fj, numpy as np
        >>> arm = fj.Link("arm", fj.Joint("hinge"), mass=2.0, com=(0.3, 0.0, 0.0), inertia=0.02 * np.eye(3))
        >>> pendulum = fj.Robot("pendulum", (arm,), gravity=[9.81, 0.0, 0.0])
        >>> fj.analysis.equations_of_motion(pendulum, ["inverse_dynamics"])["inverse_dynamics"]
        Matrix([[a_1*(I_1zz + l_c1**2*m_1) + g*l_c1*m_1*sin(q_1)]])
    """
    sympy = imported()
    numeric(OWNER, robot)
    started, budget = time.monotonic(), Budget(positive(OWNER, "time_limit", time_limit, " of seconds"))
    chosen = [known(name) for name in (default_quantities(robot) if quantities is None else listed_names(quantities))]
    if whole(OWNER, "order", order) and not any("order" in x.keywords for x in chosen):
        raise InputError(f"{OWNER}: order is {order}, which only torque_derivatives has; ask for that quantity")
    arm = parametrized(sympy, robot, symbols)
    found: list[Quantity] = []
    coordinates: dict[Any, Name] = {}
    for algorithm in chosen:
        name = algorithm.__name__
        with activity(f"deriving {name} of {robot.name}"):
            try:
                parts, inputs = derived(sympy, algorithm, arm, order, budget)
            except TooLarge as reason:
                passed = time.monotonic() - started
                raise InputError(too_large(robot, name, str(reason), len(arm.paths), passed)) from None
        found += parts
        coordinates |= inputs
    used = set().union(*(x.value.free_symbols for x in found))
    parameters = tuple(x for x in arm.parameters if x.symbol in used)
    return Equations(robot.name, tuple(found), parameters, {x: y for x, y in coordinates.items() if x in used})


class Parametrized(NamedTuple):
    """A robot, the same with SX in place of numbers, and the symbols."""

    robot: Robot
    with_symbols: Robot
    paths: tuple[str, ...]
    elements: list[Expression]  # SX by path
    parameters: list[Parameter]
    all_symbols: bool  # whether every number that is not 0 is a symbol


def parametrized(sympy: Any, robot: Robot, patterns: Sequence[str] | None) -> Parametrized:
    """The robot with symbols at the chosen paths; gravity along an axis has a positive g."""
    chosen = found_in(robot).values() if patterns is None else select_all(robot, listed_names(patterns))
    values = {path: x for parameter in chosen for path, x in parameter.numbers.items() if patterns is not None or x}
    units = {path: parameter.unit for parameter in found_in(robot).values() for path in parameter.elements}
    elements, parameters, given = [], [], {}
    for path, name in parameter_names(robot).items():
        if path not in values:
            continue
        x, sign = ca.SX.sym(path), -1.0 if name.plain == "g" and values[path] < 0 else 1.0
        elements.append(x)
        given[path] = sign * x
        parameters.append(Parameter(sympy.Symbol(name.plain), name.latex, path, sign * values[path], units[path]))
    return Parametrized(robot, robot.with_symbols(given), tuple(given), elements, parameters, patterns is None)


def derived(
    sympy: Any, algorithm: Algorithm, arm: Parametrized, order: int, budget: Budget
) -> tuple[list[Quantity], dict[Any, Name]]:
    """The results of an algorithm, simplified, and the names of the symbols of its inputs."""
    inputs, outputs = traced(algorithm, arm, order)
    names = {array.name: list(coordinate_names(array.name, size(array.shape)[0])) for array, _ in inputs}
    arrays = tuple((array, tuple(sympy.Symbol(x.plain) for x in given)) for array, given in names.items())
    elements = [*arm.elements, *(x for _, array in inputs for x in ca.vertsplit(array))]
    sums, variables = expanded(elements, [value for _, _, value in outputs], budget)
    writer = Writer(
        [*(x.symbol for x in arm.parameters), *(x for _, given in arrays for x in given)],
        variables,
        rates=[x for array, given in arrays if array != "q" for x in given][::-1],
        masses=[x.symbol for x in arm.parameters if x.path.endswith(".mass")],
        fractions=arm.all_symbols,
        budget=budget,
    )
    found = [
        Quantity(
            label,
            SYMBOLS.get(label, label_latex(label)),
            arrays,
            sympy.Matrix(*size(shape), [writer.expression(x) for x in row]),
            shape,
        )
        for (label, shape, _), row in zip(outputs, sums)
    ]
    return found, {x: name for array, given in arrays for x, name in zip(given, names[array])}


def imported() -> Any:
    """SymPy, or an InputError that says how to get it."""
    try:
        import sympy
    except ImportError:
        raise InputError("equations need SymPy, which is not installed: pip install sympy") from None
    return sympy


def listed_names(x: Any) -> tuple[str, ...]:
    """Names given as a text or a sequence."""
    return (x,) if isinstance(x, str) else tuple(x)


def known(name: str) -> Algorithm:
    """The algorithm of a quantity; raises InputError if there is none."""
    if name not in ALGORITHMS:
        raise InputError(f"{OWNER}: no quantity '{name}'; {suggestion(name, ALGORITHMS)}")
    return ALGORITHMS[name]


def default_quantities(robot: Robot) -> list[str]:
    """The terms of the link and motor equations that the robot has."""
    found = ["mass_matrix", "coriolis_torque", "gravity_torque"]
    found += ["static_torque"] * bool(robot.parallel_springs)
    complete = robot.fidelity == "complete"
    found += ["rotor_coupling", "rotor_torque"] * complete
    if any(robot.compliant) and not complete:
        found.append("torque_derivatives")
    solvable = not any(robot.damped) and not any(robot.variable_stiffness)
    return [*found, "inverse_dynamics"] if solvable else found


def traced(
    algorithm: Algorithm, arm: Parametrized, order: int
) -> tuple[list[tuple[Array, Expression]], list[tuple[str, tuple[int, ...], Expression]]]:
    """The inputs of an algorithm with their symbols; label, shape and expression of its outputs."""
    robot = arm.robot
    if any(robot.variable_stiffness) and "stiffness" in algorithm.keywords:
        raise InputError(
            f"{OWNER}: {algorithm.__name__} of '{robot.name}' has no formula: the springs of its joints of variable "
            "stiffness are solved by iteration; ask for torque_derivatives, the torque on the links"
        )
    options: dict[str, Any] = {"order": order} if "order" in algorithm.keywords else {}
    structure = algorithm.structure(robot, **options)
    inputs = [(array, ca.SX.sym(array.name, *array.shape)) for array in algorithm.inputs(robot, structure)]
    value = algorithm.function(arm.with_symbols, *(x for _, x in inputs), **options)
    outputs = []
    for output in algorithm.outputs(robot, structure, value):
        label = algorithm.__name__ if not isinstance(value, tuple) else f"{algorithm.__name__}_{output.array.name}"
        for k, layer in enumerate(output.layers):
            outputs.append((f"{label}_{k}" if output.stacked else label, output.array.shape, ca.SX(layer)))
    return inputs, outputs


def label_latex(label: str) -> str:
    """A name as upright text."""
    return rf"\mathrm{{{label}}}".replace("_", r"\_")


def too_large(robot: Robot, name: str, reason: str, count: int, seconds: float) -> str:
    """Why a quantity was given up, and what to type instead."""
    return (
        f"{OWNER}: {name} of '{robot.name}' ({robot.n} joints, {count} symbols) was given up after {seconds:.0f} s: "
        f"{reason}; ask for other quantities, fewer symbols or none (symbols=()), a robot with fewer joints, or pass a "
        "larger time_limit=; for numbers use fj.compile, for code of any robot fj.export_c"
    )
