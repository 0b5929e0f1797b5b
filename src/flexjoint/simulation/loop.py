"""The closed loop as one kernel: reference, controller and plant, with the loop over time inside.

Every period the law sees the state and the reference; its torque is held while the plant takes one or more steps of an
integrator.  With `hold=False` the law is evaluated in every stage instead: control in continuous time.  A state beyond
`LARGEST`, or not finite, ends a run: its row stays as it was, and the other rows of the batch go on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from ..api import kernel_of, parameter_array
from ..compiler.kernel import Kernel
from ..compiler.program import Array
from ..compiler.scan import scan
from ..control.base import Controller, JointState, memory_arrays, rows, state_arrays
from ..paths import select_all, with_symbols
from ..robot import Robot
from ..spatial import ca, sx
from .integrators import INTEGRATORS, Torque
from .plant import Contact, Plant

BLOCK = 50  # periods a call of the kernel: shorter ones pay for calls, longer ones outgrow the cache in batches
LARGEST = 1e6  # |q| + |q'| + |θ| + |θ'| of a joint, in rad, m and s
HUGE = 1e300  # Nm, N


@dataclass(frozen=True)
class Setup:
    """All that decides which code a simulation needs; gains do not."""

    robot: Robot
    controller: Controller = field(compare=False)
    period: float
    integrator: str = "runge_kutta"
    substeps: int = 1
    hold: bool = True
    contact: Contact | None = None
    free: tuple[str, ...] = ()
    law: str | Controller = field(init=False)  # what distinguishes the controller's code

    def __post_init__(self) -> None:
        object.__setattr__(self, "law", law_of(self.controller))

    @property
    def key(self) -> str | None:
        """What names the kernel on disk; only code of flexjoint's own, which the cache knows, has one."""
        if self.contact or not isinstance(self.law, str):
            return None
        rest = (self.period, self.integrator, self.substeps, self.hold, self.free)
        return f"simulation {self.robot.digest} {self.law} {rest!r}"

    @property
    def row(self) -> int:
        """How many numbers of each period are kept: (q, q', θ, θ', τ)."""
        return 2 * self.robot.n + 3 * self.robot.motor_count

    @property
    def samples(self) -> tuple[float, ...]:
        """At which fractions of a period the reference is needed."""
        return (0.0,) if self.hold else (0.0, 0.5, 1.0)


def law_of(controller: Controller) -> str | Controller:
    """Of flexjoint's own controllers the code, by name, model and all fields that are compared; else the controller."""
    if not type(controller).__module__.startswith("flexjoint.") or not is_dataclass(controller):
        return controller
    coded = [x.name for x in fields(controller) if x.compare and x.name not in ("robot", "gains")]
    own = {name: getattr(controller, name) for name in coded}
    return f"{type(controller).__qualname__} {controller.robot.digest} {controller.gains.shape} {own}"


class Carry(NamedTuple):
    """What goes from period to period; `done` of them are over, `joint` is the first one to leave the bounds, or n."""

    state: JointState
    memory: Sequence[Any]
    done: Any
    joint: Any


def one_period(
    setup: Setup, plant: Plant, gains: Sequence[Any], until: Any, carry: Carry, columns: Any
) -> tuple[Carry, Any]:
    """What comes after a period, and the state and torque it began with; beyond `until` nothing happens any more."""
    state, controller, t = carry.state, setup.controller, setup.period * carry.done
    references = [ca.horzsplit(x) for x in ca.horzsplit(columns, controller.order + 1)]
    memory, tau = controller.law(gains, carry.memory, references[0], state)

    def torque(stage: int, now: JointState) -> Any:
        return tau if setup.hold else controller.law(gains, carry.memory, references[stage], now)[1]

    after = advanced(setup, plant, t, state, torque)
    n = plant.robot.n
    size = ca.fabs(after.q) + ca.fabs(after.v) + ca.fabs(after.theta[:n]) + ca.fabs(after.theta_v[:n])
    for k, i in enumerate(plant.robot.motor_joints[n:], n):
        size[i] += ca.fabs(after.theta[k]) + ca.fabs(after.theta_v[k])
    bounded = [size[i] <= LARGEST for i in range(n)]  # false if it is NaN
    joint = sx(n)
    for i in reversed(range(n)):
        joint = ca.if_else(bounded[i], joint, i)
    running = ca.logic_and(carry.done < until, carry.joint == n)
    good = ca.logic_and(running, joint == n)
    follow = Carry(
        JointState(*(ca.if_else(good, new, old) for new, old in zip(after, state))),
        [ca.if_else(good, new, old) for new, old in zip(memory, carry.memory)],
        carry.done + good,
        ca.if_else(running, joint, carry.joint),
    )
    return follow, ca.vertcat(*state, ca.if_else(ca.fabs(tau) <= HUGE, tau, 0))


def advanced(setup: Setup, plant: Plant, t: Any, state: JointState, torque: Torque) -> JointState:
    """The plant after a period."""
    step, h = INTEGRATORS[setup.integrator], setup.period / setup.substeps
    if setup.substeps == 1:
        return step(plant, t, state, torque, h)
    starts = [sx(k) for k in range(setup.substeps)]
    return scan(lambda now, k: (step(plant, t + h * k, now, torque, h), ()), state, starts)[0]


@lru_cache(maxsize=64)
def loop_kernel(setup: Setup, block: int) -> Kernel:
    """The kernel of `block` periods.

    In: what is carried (state, memory, done, joint), until, references, gains, free parameters.  Out: history, with
    (q, q', θ, θ', τ) at the beginning of each period in a row, and what is carried on.
    """
    robot, controller = setup.robot, setup.controller
    count, samples = controller.order + 1, len(setup.samples)
    free = select_all(robot, setup.free)
    carried = [*state_arrays(robot), *memory_arrays("memory", controller), Array("done", ()), Array("joint", ())]
    inputs = [
        *carried,
        Array("until", ()),
        Array("reference", (block, samples, count, controller.width)),
        Array("gains", controller.gains.shape),
        *(parameter_array(parameter) for parameter in free),
    ]

    def loop(*arrays: Any) -> list[tuple[Array, Any]]:
        before, (until, reference, gains, *numbers) = arrays[: len(carried)], arrays[len(carried) :]
        leaves = {path: x[e] for x, parameter in zip(numbers, free) for e, path in enumerate(parameter.elements)}
        plant = Plant(with_symbols(robot, leaves), setup.contact)
        xs = [reference[k : k + samples * count, :].T for k in range(0, block * samples * count, samples * count)]
        start = Carry(JointState(*before[:4]), list(before[4:-2]), *before[-2:])
        last, ys = scan(lambda *x: one_period(setup, plant, rows(gains), until, *x), start, xs)
        after = (*last.state, *last.memory, last.done, last.joint)
        return [(Array("history", (block, setup.row)), ca.horzcat(*ys).T), *zip(carried, after)]

    key = f"{setup.key} {block}" if setup.key else None
    return kernel_of(f"simulation of {robot.name}", inputs, loop, key)
