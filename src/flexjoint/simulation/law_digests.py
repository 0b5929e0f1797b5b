"""What identifies the law of a controller, an observer or a contact: a kernel is used only for the law it was made for.

A law of flexjoint's own is identified by its class and fields.  A law of the user's in SX is identified by a digest of
the expressions it computes, with every number in them: its object says little, since a global or an attribute that the
law reads may change while the object stays.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ..control.base import Controller, JointState, rows
from ..observers.base import Measurement, Observer, measurement_sizes
from ..robot import Robot
from ..spatial import ca, sx
from ..types import Expression, Scalar
from .plant import Contact, Plant

Kind = TypeVar("Kind", JointState, Measurement)


class LawDigest(NamedTuple):
    """The digest of what a law computes."""

    digest: str


class DigestedContact:
    """A contact that is equal to another one if both compute the same."""

    def __init__(self, robot: Robot, contact: Contact):
        self.contact, self.__qualname__ = contact, getattr(contact, "__qualname__", type(contact).__qualname__)
        self.digest = contact_digest(robot, contact)

    def __call__(self, t: Scalar, state: JointState) -> Mapping[str, Expression]:
        return self.contact(t, state)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DigestedContact) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)


def code_of(item: Controller | Observer, *left_out: str) -> Any:
    """A text with class and fields of flexjoint's own laws, the fields `left_out` excepted; the LawDigest of others."""
    if not type(item).__module__.startswith("flexjoint.") or not is_dataclass(item):
        return digest_of(item)
    own = {x.name: getattr(item, x.name) for x in fields(item) if x.compare and x.name not in left_out}
    plain = {name: _plain(x, *left_out) for name, x in own.items()}
    if any(isinstance(x, Observer | Controller | LawDigest) for x in plain.values()):  # a law of the user's inside
        return digest_of(item)
    return f"{type(item).__qualname__} {plain!r}"


def _plain(value: Any, *left_out: str) -> Any:
    """A field as a value whose `repr` says all of it."""
    if isinstance(value, Robot):
        return value.digest
    if isinstance(value, Observer | Controller):
        return code_of(value, *left_out)
    if isinstance(value, Mapping):
        return {key: _plain(x, *left_out) for key, x in value.items()}
    return value.tolist() if isinstance(value, np.ndarray) else value


def digest_of(item: Controller | Observer) -> Any:
    """The LawDigest of a controller or an observer; the object itself where its law cannot be traced here."""
    try:
        return LawDigest(controller_digest(item) if isinstance(item, Controller) else observer_digest(item))
    except Exception:  # of the user's code, which is run again, and reported, where its kernel is made
        return item


def controller_digest(controller: Controller) -> str:
    """The digest of its law."""
    robot, gains = controller.robot, ca.SX.sym("gains", *controller.gains.shape)
    memory = [ca.SX.sym("memory", size) for size in controller.memory_sizes]
    reference = ca.SX.sym("reference", controller.rows, controller.width)
    state = symbols(Measurement, robot) if controller.torque_sensors else symbols(JointState, robot)
    after, tau = controller.law(rows(gains), memory, rows(reference), state)
    damping = [controller.checked_damper_command(state)] if controller.commands_damping else []
    return traced([gains, *memory, reference, *state], [*after, tau, *damping])


def observer_digest(observer: Observer) -> str:
    """The digest of its law, and of where it starts from a measurement of zeros and one of ones."""
    robot, memory = observer.robot, [ca.SX.sym("memory", size) for size in observer.memory]
    seen, tau = symbols(Measurement, robot), ca.SX.sym("torque", robot.motor_count)
    after, outputs = observer.law(memory, seen, tau)
    begins = [observer.start(Measurement(*(np.full(x.shape[0], value) for x in seen))) for value in (0.0, 1.0)]
    started = [np.asarray(x, dtype=float) for states, found in begins for x in (*states, *found.values())]
    more = [str(dict(observer.outputs)), *(f"{x.shape} {x.tobytes().hex()}" for x in started)]
    return traced([*memory, *seen, tau], [*after, *(outputs[name] for name in observer.outputs)], *more)


def contact_digest(robot: Robot, contact: Contact) -> str:
    """The digest of its wrenches."""
    t, state = ca.SX.sym("t"), symbols(JointState, robot)
    wrenches = Plant(robot, contact).touched(t, state)
    return traced([t, *state], list(wrenches.values()), *wrenches)


def symbols(kind: type[Kind], robot: Robot) -> Kind:
    """A JointState or a Measurement of symbols."""
    return kind(*(ca.SX.sym(name, size) for name, size in zip(kind._fields, measurement_sizes(robot))))


def traced(inputs: Sequence[Expression], outputs: Sequence[Expression], *more: str) -> str:
    """The digest of expressions, and of texts beside them."""
    function = ca.Function("law", inputs, [ca.densify(sx(x)) for x in outputs])
    return hashlib.sha256("\0".join([function.serialize(), *more]).encode()).hexdigest()
