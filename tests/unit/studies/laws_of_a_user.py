"""Laws as a user writes them, in a module that other processes import too."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

import numpy as np

import flexjoint as fj

GAIN = 3.0
ROBOT = fj.random_robot(2, 5, prismatic=0.0, elastic=1.0, name="arm")


def closure(gain):
    def helper(x):
        return gain * np.sin(x)

    def law(t, state, reference, measurement):
        return state, helper(reference[0] - measurement.q) + GAIN

    return law


def with_defaults(gain):
    def law(t, state, reference, measurement, *, gain=gain, names=frozenset({"a", "b", "c"})):
        return state, gain * (reference[0] - measurement.q) if "a" in names else 0.0

    return law


class Plain:
    """Its repr holds an address."""

    def __init__(self, gain):
        self.gain, self.table = gain, {"b": np.full(2000, gain), "a": [gain]}
        self.tags = {"x", "y", "z", "long name"}

    @functools.cached_property
    def doubled(self):
        return 2 * self.gain

    def __call__(self, t, state, reference, measurement):
        return state, self.doubled * (reference[0] - measurement.q)

    def method(self, t, state, reference, measurement):
        return self(t, state, reference, measurement)


class Slotted:
    __slots__ = ("gain",)

    def __init__(self, gain):
        self.gain = gain

    def __call__(self, t, state, reference, measurement):
        return state, self.gain * (reference[0] - measurement.q)


class Kind(Enum):
    HARD = 1
    SOFT = 2


class Pair(NamedTuple):
    kp: float
    kd: float


@dataclass
class Data:
    pair: Pair
    kind: Kind = Kind.HARD
    more: dict = field(default_factory=dict)
    law: object = None

    def __call__(self, t, state, reference, measurement):
        return state, self.pair.kp * (reference[0] - measurement.q)


def scaled(gain, t, state, reference, measurement):
    return state, gain * (reference[0] - measurement.q)


def recursive(gain):
    def law(t, state, reference, measurement, depth=2):
        if depth:
            return law(t, state, reference, measurement, depth - 1)
        return state, gain * (reference[0] - measurement.q)

    return law


def with_kernel(gain):
    kernel, model = fj.compile(fj.gravity_torque, ROBOT), ROBOT

    def law(t, state, reference, measurement):
        return state, kernel(measurement.q) + fj.gravity_torque(model, measurement.q) + gain

    return law


MAKERS = {
    "closure": closure,
    "defaults": with_defaults,
    "instance": Plain,
    "bound method": lambda gain: Plain(gain).method,
    "slots": Slotted,
    "dataclass": lambda gain: Data(Pair(gain, 1.0)),
    "nested": lambda gain: Data(Pair(1.0, 1.0), more={"inner": closure(gain)}),
    "partial": lambda gain: functools.partial(scaled, gain),
    "partial of a partial": lambda gain: functools.partial(functools.partial(scaled, np.array([gain, 1.0])), state=()),
    "recursive": recursive,
    "kernel": with_kernel,
    "controller of flexjoint inside": lambda gain: Data(Pair(1.0, 1.0), law=fj.control.MotorPD(ROBOT, [gain, 1.0])),
    "generator of numbers": lambda gain: Data(Pair(1.0, 1.0), law=np.random.default_rng(int(gain))),
}
