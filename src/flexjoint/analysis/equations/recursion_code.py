"""Inverse dynamics as code to read beside the paper: the operator recursion with a name for every quantity.

    phi_3_d = -tilde(A_3) @ phi_3  # (19)
    V_3_d = phi_3 @ V_2_d + A_3_d + B_3_d  # (17)
    f_3_dd = C_3_dd + D_3_dd + phi_4.T @ f_4_dd  # (24)

Source: [Hoepler (17)-(25), Algorithm 1].  The sweeps of `dynamics/spatial_operators.py` run once over the bodies, with
operations that write statements instead of computing; orders follow from the structure of the robot.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterator, Sequence
from keyword import iskeyword
from typing import Any, NamedTuple

import numpy as np

from ...algorithm.form import Call, require
from ...drives import ElasticDrive, friction_law
from ...dynamics.drivetrain.orders import derivative_orders
from ...dynamics.recursion.bodies import Rotor, lump_fixed, rotors
from ...dynamics.requirements import constant_stiffness, lossless_gears
from ...dynamics.spatial_operators import BodyForces, inward_step, outward_sweep, spatial_inertia
from ...errors import InputError
from ...robot import Robot, numeric
from ...spatial import ca, is_zero
from ...springs import LinearSpring
from ...types import FloatArray
from .document import harmless
from .recursion_operations import C_HELPERS, PYTHON_HELPERS

OWNER = "recursion_code"
WIDTH = 116
BREAK = "\x00"  # a space where a line may end
SHORT = {"vector": "_v", "spatial": "", "transform": "_phi"}  # endings of the sums in C
KINDS = {"phi": "transform", "omega": "vector", "L": "vector", "N": "vector", "u": "double", "theta": "double"}

HEAD = """Inverse dynamics of the robot ROBOT by the operator recursion, written by flexjoint.

After R. Höpler, M. Thümmel, Symbolic computation of the inverse dynamics of elastic joint robots, ICRA 2004. Numbers in
parentheses are its equations. Names end in the number of the body, counted from the base, and in the order of the time
derivative: f_3, f_3_d, f_3_dd, f_3_d3. Derivatives are taken component by component in the frame of the body, whose z
is the joint axis. Spatial vectors have the rotation first: V = (omega, v), f = (moment, force). All quantities are on
the link side of the reductions, in SI units; m, rad, kg, Nm, N.

phi  from the parent to the body        A, B  parts of V: joint rate, rotation of the frame
V    velocity (gravity: V_0_d = -g)     P     M V
L    momentum of the rotors in a body   N     its rate L_d + omega x L
C    force that moves the body alone    D     part of f from the rotation of the frames of the next bodies
f    force through the joint            u     torque on the link, along the joint
"""


class Language(NamedTuple):
    """How one language writes comments and the operations of the sweeps."""

    comment: str
    operations: dict[str, str]


PYTHON = Language(
    comment="# {}",
    operations={
        "pose": "transform(R_{0}, p_{0}, H_{0}, {1})",
        "across": "{1} * H_{0}",
        "turned": "tilde({0}) @ {1}",
        "outward": "{0} @ {1}",
        "inward": "{0}.T @ {1}",
        "momentum": "M_{0} @ {1}",
        "transposed_cross": "tilde({0}).T @ {1}",
        "angular": "{0}[:3]",
        "gyroscopic": "cross({0}, {1})",
        "moment": "moment({0})",
        "along": "H_{0} @ {1}",
        "spin": "I_{0} * {1} * n_{0}",
        "carried": "I_{0} * n_{0} @ {1}",
    },
)
C99 = Language(
    comment="/* {} */",
    operations={
        "pose": "transform_at(R_{0}, p_{0}, H_{0}, {1})",
        "across": "times({1}, H_{0})",
        "turned": "turned({0}, {1})",
        "outward": "outward({0}, {1})",
        "inward": "inward({0}, {1})",
        "momentum": "momentum(m_{0}, h_{0}, J_{0}, {1})",
        "transposed_cross": "transposed_cross({0}, {1})",
        "angular": "angular({0})",
        "gyroscopic": "cross({0}, {1})",
        "moment": "moment({0})",
        "along": "along(H_{0}, {1})",
        "spin": "times_v(I_{0} * {1}, n_{0})",
        "carried": "I_{0} * dot(n_{0}, {1})",
    },
)
LANGUAGES = {"python": PYTHON, "c": C99}


def recursion_code(robot: Robot, language: str = "python", name: str = "inverse_dynamics") -> str:
    """Inverse dynamics as code that reads like the paper: one block per body, a name for every quantity.

    The function takes q and its derivatives, as many as `derivative_orders(robot).motion` says, each (n,), and computes
    the motor torques; in Python `recursion` returns all quantities by name.  The results are those of
    `inverse_dynamics` to rounding; for speed use `export_c`.

    Args:
        robot: Chains and trees of turning, sliding and helical joints, rigid or with linear springs, in Spong's or the
            complete model of rotors; its numbers are built in.
        language: "python", which needs NumPy, or "c", C99; "python" by default.
        name: Name of the function; "inverse_dynamics" by default.

    Returns:
        The source of a module, or of a C file with the function `void name(q, q_d, ..., tau)`.

    Raises:
        InputError: The paper's algorithm does not cover the robot.

    Example:
        >>> import flexjoint as fj, numpy as np
        >>> robot, module = fj.load("kuka_lwr"), {}
        >>> exec(fj.analysis.recursion_code(robot), module)
        >>> motion = np.random.default_rng(0).normal(size=(5, 7))
        >>> np.allclose(module["inverse_dynamics"](*motion), fj.inverse_dynamics(robot, *motion))
        True
    """
    numeric(OWNER, robot)
    if language not in LANGUAGES:
        raise InputError(f"{OWNER}: language is {language!r}; give 'python' or 'c'")
    require(OWNER, robot, constant_stiffness("inverse_dynamics"), lossless_gears, covered)
    writer = Writer(LANGUAGES[language], titles(robot), bool(np.any(robot.gravity)))
    algorithm_1(robot, writer)
    inputs = [f"q{suffix(k)}" for k in range(derivative_orders(robot).motion + 1)]
    taken = {
        *re.findall(r"\w+", PYTHON_HELPERS + C_HELPERS),
        *inputs,
        *(x for x, _ in writer.lines),
        "recursion",
        "tau",
    }
    if not (name.isascii() and name.isidentifier()) or iskeyword(name) or name in taken:
        raise InputError(f"{OWNER}: name is {name!r}; give letters, digits and underscores, and no name of the code")
    about, numbers = HEAD.replace("ROBOT", plain(robot.name)), "\n".join(constants(robot, writer))
    if language == "python":
        arguments = textwrap.fill(", ".join(inputs), WIDTH - 30, subsequent_indent=" " * 8)
        parts = [
            f'"""{about}"""\n{PYTHON_HELPERS}\n\n{numbers}\n\n\ndef {name}({arguments}):',
            f'    """Motor torques ({robot.n},) from the position of the joints ({robot.n},) and its derivatives."""',
            f'    return recursion({arguments})["tau"]\n\n\ndef recursion({arguments}):',
            f'    """All quantities by name."""\n    tau = np.zeros({robot.n})',
            *(line for _, line in writer.lines),
            "    return locals()\n",
        ]
        return "\n".join(parts)
    parameters = [*(f"const double {x}[{robot.n}]" for x in inputs), f"double tau[{robot.n}]"]
    declaration = textwrap.fill(f"void {name}({', '.join(parameters)})", WIDTH, subsequent_indent=" " * 8)
    parts = [f"/*\n{about}*/\n{C_HELPERS}\n{numbers}\n\n{declaration};\n\n{declaration} {{", *writer.used(), "}\n"]
    return "\n".join(parts)


# Algorithm 1 ----------------------------------------------------------------------------------------------------------


def algorithm_1(robot: Robot, op: Writer) -> None:
    """Write both sweeps and the equations of the motors  [Hoepler Algorithm 1]."""
    parents, turning, orders = [body.parent for body in lump_fixed(robot)], rotors(robot), derivative_orders(robot)
    often = [joint.differentiations for joint in orders.joints]
    tops: list[int] = []  # a force is part of those before it, a velocity of those behind it
    for i, parent in enumerate(parents):
        tops.append(max(often[i], tops[parent] if parent >= 0 else 0))
    velocities = list(tops)
    for i in reversed(range(len(parents))):
        if parents[i] >= 0:
            velocities[parents[i]] = max(velocities[parents[i]], velocities[i])
    op.remark("Outward sweep: velocities")
    motions = outward_sweep(op, parents, velocities)
    op.remark("Inward sweep: forces, torques, motors")
    forces = [BodyForces([], [], [])] * len(parents)
    theta = [
        [] if elastic else [op.rate(i, k) for k in range(orders.motion + 1)]
        for i, elastic in enumerate(robot.compliant)
    ]
    for i in inward_order(robot, parents, turning):
        op.remark(op.titles[i])
        momenta = []
        for m in range(1, tops[i] + 3):  # derivatives of θ that are not known have the factor 0 in all equations
            spins = [
                op.spin(x.coordinate + 1, theta[x.coordinate][m])
                for x in turning
                if x.body == i and m < len(theta[x.coordinate])
            ]
            momenta.append(op.named("L", i, m - 1, op.total([(1, x) for x in spins]), "(22)"))
        children = [k for k, parent in enumerate(parents) if parent == i]
        forces[i] = inward_step(op, i, motions, children, forces, momenta, tops[i])
        joint, number = robot.joints[i], i + 1
        damping = f"d_{number} * " if friction_law(joint).viscous else ""
        u = []
        for k, f in enumerate(forces[i].f[: often[i] + 1]):
            friction = damping + op.rate(i, k + 1) if damping else None
            u.append(op.named("u", i, k, op.total([(1, op.along(number, f)), (1, friction)]), "(15)"))
        if robot.compliant[i]:
            springs = [[(1, op.rate(i, k)), (1, f"{x} / K_{number}")] for k, x in enumerate(u)]
            theta[i] = [op.named("theta", i, k, op.total(x), "(3)") or "" for k, x in enumerate(springs)]
        torque: list[tuple[int, Any]] = [(1, u[0])]
        if joint.drive is not None:
            motor = joint.drive.motors[0]
            torque += [(1, f"B_{number} * {theta[i][2]}")] * bool(motor.inertia)
            torque += [(1, f"d_m{number} * {theta[i][1]}")] * bool(friction_law(motor).viscous)
        torque += [
            (1, op.carried(number, motions[x.body].omega[1])) for x in turning if x.coordinate == i and x.body >= 0
        ]
        op.write(f"tau[{i}]", op.text(op.total(torque), "double"), "(32)")


def inward_order(robot: Robot, parents: Sequence[int], turning: Sequence[Rotor]) -> list[int]:
    """The bodies from the tips to the base, each behind its children and behind the joints of the motors it carries."""
    order: list[int] = []
    remaining = list(range(len(parents)))
    while remaining:
        awaited = {parents[k] for k in remaining} | {x.body for x in turning if x.elastic and x.coordinate in remaining}
        if not (ready := [i for i in remaining if i not in awaited]):
            names = ", ".join(f"'{robot.joints[i].name}'" for i in remaining)
            raise InputError(
                f"{OWNER}: '{robot.name}' has motors on links that their joints move, or that other such motors wait "
                f"for, at the joints {names}, so that one sweep from the tips to the base does not solve it; use "
                "inverse_dynamics or export_c, or robot.with_fidelity('spong')"
            )
        order.append(ready[-1])
        remaining.remove(ready[-1])
    return order


def covered(call: Call) -> str | None:
    """Joints of their own with linear springs and at most viscous friction."""
    robot, instead = call.robot, "inverse_dynamics and export_c take it"
    if robot.followers:
        return f"joint '{robot.followers[0].joint.name}' follows another joint, which the paper has not; {instead}"
    if robot.transmissions:
        names = "' and '".join(robot.transmissions[0].joints)
        return f"a transmission couples the joints '{names}', which the paper has not; {instead}"
    if robot.parallel_springs:
        name = robot.parallel_springs[0].joint.name
        return f"joint '{name}' has a parallel spring; use robot.without_parallel_springs(), or {instead}"
    for joint in robot.joints:
        drive = joint.drive
        laws = [friction_law(joint), *(friction_law(motor) for motor in (drive.motors if drive else ()))]
        if any(law.level or law.loaded or law.backward is not None for law in laws):
            return f"the friction of joint '{joint.name}' is not viscous; use robot.without_friction(), or {instead}"
        if isinstance(drive, ElasticDrive) and not (isinstance(drive.spring, LinearSpring) and is_zero(drive.damping)):
            return (
                f"the spring of joint '{joint.name}' is damped or not linear; use robot.without_spring_damping() or a "
                f"number as stiffness, or inverse_dynamics, inverse_dynamics_along and export_c, which take it"
            )
    return None


# Statements -----------------------------------------------------------------------------------------------------------


class Terms(list[tuple[int, str]]):
    """A sum of c x that has not been written yet: its type is that of the quantity it belongs to."""


class Writer:
    """The operations of `dynamics.spatial_operators.SpatialOperations`, as statements of a language."""

    def __init__(self, language: Language, titles: Sequence[str], falling: bool) -> None:
        self.language, self.titles = language, titles
        self.base = [None, "V_0_d" if falling else None]
        self.lines: list[tuple[str, str]] = []  # name that a statement defines, "" of others; its text

    def __getattr__(self, name: str) -> Callable[..., str]:
        if name not in self.language.operations:
            raise AttributeError(name)
        return self.language.operations[name].format

    def pose(self, i: int) -> str:
        self.remark(self.titles[i])
        return self.language.operations["pose"].format(i + 1, self.rate(i, 0))

    def across(self, i: int, k: int) -> str:
        return self.language.operations["across"].format(i + 1, self.rate(i, k))

    def momentum(self, i: int, V: str) -> str:
        return self.language.operations["momentum"].format(i + 1, V)

    def rate(self, i: int, k: int) -> str:
        """q⁽ᵏ⁾ of the joint of body i."""
        return f"q{suffix(k)}[{i}]"

    def total(self, terms: Sequence[tuple[int, str | None]]) -> Terms | None:
        return Terms((c, x) for c, x in terms if x is not None) or None

    def named(self, symbol: str, i: int, k: int, value: Any, equation: str = "") -> str | None:
        if value is None:
            return None
        name, kind = f"{symbol}_{i + 1}{suffix(k)}", KINDS.get(symbol, "spatial")
        self.write(f"const {kind} {name}" if self.language is C99 else name, self.text(value, kind), equation, name)
        return name

    def text(self, value: Any, kind: str) -> str:
        """An expression of this type."""
        if not isinstance(value, Terms):
            return str(value)
        if self.language is C99 and kind != "double":
            end = SHORT[kind]
            parts = [x if c == 1 else f"times{end}({c}.0, {x})" for c, x in value]
            return parts[0] if len(parts) == 1 else f"sum{end}({f',{BREAK}'.join(parts)})"
        parts = [f"{'-' if c < 0 else '+'} {'' if abs(c) == 1 else f'{abs(c)} * '}{x}" for c, x in value]
        first = parts[0].removeprefix("+ ").replace("- ", "-")
        return BREAK.join([first, *parts[1:]])

    def write(self, left: str, right: str, equation: str, name: str = "") -> None:
        self.lines.append((name, self.statement(left, right, equation, "    ")))

    def remark(self, text: str) -> None:
        self.lines += [("", ""), ("", f"    {self.language.comment.format(text)}")]

    def statement(self, left: str, right: str, remark: str, indent: str = "") -> str:
        """An assignment with its comment, on several lines if it is long."""
        end = "" if self.language is PYTHON else ";"
        comment = f"  {self.language.comment.format(remark)}" if remark else ""
        if len(line := f"{indent}{left} = {right}{end}{comment}".replace(BREAK, " ")) <= WIDTH:
            return line
        lines: list[str] = []
        for term in right.split(BREAK):
            if lines and len(f"{lines[-1]} {term}") <= WIDTH:
                lines[-1] += f" {term}"
            else:
                lines.append(f"{indent}    {term}")
        if self.language is PYTHON:
            return "\n".join([f"{indent}{left} = ({comment}", *lines, f"{indent})"])
        return "\n".join([f"{indent}{left} ={comment}", *lines]) + ";"

    def constant(self, kind: str, name: str, value: Any, remark: str) -> str:
        """A number of the robot, a vector, or a matrix with a line per row where it is long."""
        numbers = np.asarray(value, dtype=float) + 0.0  # without negative zeros
        python, rows = self.language is PYTHON, [", ".join(map(repr, row)) for row in np.atleast_2d(numbers).tolist()]
        left = name if python else f"static const {kind} {name}"
        if not numbers.ndim:
            return self.statement(left, rows[0], remark)
        rows = [f"[{row}]" for row in rows] if python and numbers.ndim == 2 else rows
        left += f"[{numbers.size}]" if not python and kind == "double" else ""
        opening, closing = ("np.array([", "])") if python else ("{", "}") if kind == "double" else ("{{", "}}")
        line = self.statement(left, f"{opening}{', '.join(rows)}{closing}", remark)
        if "\n" not in line:
            return line
        end = "" if python else ";"
        comment = self.language.comment.format(remark)
        return "\n".join([f"{left} = {opening}  {comment}", *(f"    {row}," for row in rows), f"{closing}{end}"])

    def used(self) -> list[str]:
        """The lines without statements that nothing uses, of which C compilers warn."""
        kept: list[str] = []
        names: set[str] = set()
        for name, line in reversed(self.lines):
            if not name or name in names:
                kept.append(line)
                names |= set(re.findall(r"\w+", line))
        return kept[::-1]


def suffix(k: int) -> str:
    """Of a k-th derivative: "", _d, _dd, _d3, _d4, ..."""
    return ("", "_d", "_dd")[k] if k < 3 else f"_d{k}"


def plain(name: str) -> str:
    """A name as it may stand in a comment of both languages."""
    return harmless(name).replace("*/", "* /").replace("/*", "/ *")


def titles(robot: Robot) -> list[str]:
    """The comment above each body."""
    found = []
    for i, (body, moving) in enumerate(zip(lump_fixed(robot), robot.moving_joints)):
        link, joint = plain(robot.links[moving.link].name), moving.joint
        on = f"body {body.parent + 1}" if body.parent >= 0 else "the base"
        found.append(f"body {i + 1}: link '{link}' on {on}, {joint.kind.name} joint '{plain(joint.name)}'")
    return found


def constants(robot: Robot, op: Writer) -> Iterator[str]:
    """The numbers of the robot, a block per body."""

    def array(x: Any) -> FloatArray:
        return np.array(ca.DM(x)).squeeze()

    if op.base[1]:
        yield op.constant("spatial", "V_0_d", [0, 0, 0, *(-robot.gravity)], "base accelerated against gravity, m/s^2")
    turning = {x.coordinate: x for x in rotors(robot) if x.body >= 0}
    for i, body in enumerate(lump_fixed(robot)):
        k, joint, (linear, angular) = i + 1, robot.joints[i], body.screw.axes
        m, h, J = body.inertia.m, body.inertia.h, spatial_inertia(body.inertia)[:3, :3]
        yield f"\n{op.language.comment.format(op.titles[i])}"
        yield op.constant("double", f"R_{k}", array(body.R), "axes of its frame in that of its parent, at q = 0")
        yield op.constant("double", f"p_{k}", array(body.p), "origin of its frame there, m")
        yield op.constant("spatial", f"H_{k}", array(ca.vertcat(angular, linear)), "joint axis: rotation, translation")
        yield op.constant("double", f"m_{k}", float(m), "kg")
        yield op.constant("vector", f"h_{k}", array(h), "m times centre of mass, kg m")
        yield op.constant("double", f"J_{k}", array(J), "about the origin of its frame, kg m^2")
        if op.language is PYTHON:
            yield f"M_{k} = spatial_inertia(m_{k}, h_{k}, J_{k})"
        if viscous := friction_law(joint).viscous:
            yield op.constant("double", f"d_{k}", viscous, joint.kind.unit("Nm s/rad | N s/m"))
        if isinstance(joint.drive, ElasticDrive):
            yield op.constant("double", f"K_{k}", joint.drive.law.torque(1.0), joint.kind.unit("Nm/rad | N/m"))
        for motor in joint.drive.motors if joint.drive else ():
            if motor.inertia:
                yield op.constant("double", f"B_{k}", motor.inertia, joint.kind.unit("kg m^2 | kg") + ", motor")
            if viscous := friction_law(motor).viscous:
                yield op.constant("double", f"d_m{k}", viscous, joint.kind.unit("Nm s/rad | N s/m") + ", motor")
        if i in turning:
            rotor = turning[i]
            yield op.constant(
                "double", f"I_{k}", float(rotor.momentum), "momentum of its rotor per theta_d, kg m^2 | kg m"
            )
            yield op.constant("vector", f"n_{k}", array(rotor.axis), f"axis of its rotor, in body {rotor.body + 1}")
