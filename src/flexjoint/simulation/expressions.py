"""Digests of the user's own laws in SX: of the expressions they are compiled from, with every number in them.

An object says little about its law: a global or an attribute that the law reads may change while the object stays.  The
expressions say all, so that a kernel, or a folder of samples, is used for a law only if it was made for it.
"""

from __future__ import annotations

import hashlib
from typing import Any, NamedTuple

import numpy as np

from ..control.base import Controller, JointState, rows
from ..observers.base import Measurement, Observer, measurement_sizes
from ..robot import Robot
from ..spatial import ca, sx
from .plant import Contact, Plant


class Expressions(NamedTuple):
    """What a law computes, as a digest."""

    digest: str


class KnownContact:
    """A contact that is equal to another if both compute the same."""

    def __init__(self, robot: Robot, contact: Contact):
        self.contact, self.__qualname__ = contact, getattr(contact, "__qualname__", type(contact).__qualname__)
        self.digest = contact_digest(robot, contact)

    def __call__(self, t: Any, state: JointState) -> Any:
        return self.contact(t, state)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, KnownContact) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)


def expressions_of(item: Any) -> Any:
    """Of a controller or an observer; the object itself where its law cannot be traced here."""
    try:
        return Expressions(controller_digest(item) if isinstance(item, Controller) else observer_digest(item))
    except Exception:  # of the user's code, which is run again, and reported, where its kernel is made
        return item


def controller_digest(controller: Controller) -> str:
    robot, gains = controller.robot, ca.SX.sym("gains", *controller.gains.shape)
    memory = [ca.SX.sym("memory", size) for size in controller.memory_sizes]
    reference = ca.SX.sym("reference", controller.order + 1, controller.width)
    state = symbols(JointState, robot)
    after, tau = controller.law(rows(gains), memory, rows(reference), state)
    return traced([gains, *memory, reference, *state], [*after, tau])


def observer_digest(observer: Observer) -> str:
    """Of its law, and of where it starts from a measurement of zeros and one of ones."""
    robot, memory = observer.robot, [ca.SX.sym("memory", size) for size in observer.memory]
    seen, tau = symbols(Measurement, robot), ca.SX.sym("torque", robot.motor_count)
    after, outputs = observer.law(memory, seen, tau)
    begins = [observer.start(Measurement(*(np.full(x.shape[0], value) for x in seen))) for value in (0.0, 1.0)]
    started = [np.asarray(x, dtype=float) for states, found in begins for x in (*states, *found.values())]
    more = [str(dict(observer.outputs)), *(f"{x.shape} {x.tobytes().hex()}" for x in started)]
    return traced([*memory, *seen, tau], [*after, *(outputs[name] for name in observer.outputs)], *more)


def contact_digest(robot: Robot, contact: Contact) -> str:
    t, state = ca.SX.sym("t"), symbols(JointState, robot)
    wrenches = Plant(robot, contact).touched(t, state)
    return traced([t, *state], list(wrenches.values()), *wrenches)


def symbols(kind: Any, robot: Robot) -> Any:
    """A JointState or a Measurement of symbols."""
    return kind(*(ca.SX.sym(name, size) for name, size in zip(kind._fields, measurement_sizes(robot))))


def traced(inputs: list[Any], outputs: list[Any], *more: str) -> str:
    """Digest of expressions, and of texts beside them."""
    function = ca.Function("law", inputs, [ca.densify(sx(x)) for x in outputs])
    return hashlib.sha256("\0".join([function.serialize(), *more]).encode()).hexdigest()
