"""A controller registers itself in its own file; representations are short."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

import flexjoint as fj
from flexjoint.control import REGISTRY, Controller, Gain, Registration


def test_a_class_with_a_registration_is_offered():
    @dataclass(frozen=True, eq=False, repr=False)
    class Damping(Controller):
        robot: fj.Robot
        gains: np.ndarray
        order: ClassVar[int] = 0
        registration: ClassVar[Registration] = Registration(
            "damping", "damping of the motors", gains=(Gain("D", "Nm s/rad | N s/m", "motor velocity"),)
        )

        def law(self, gains, state, reference, measurement):
            return state, -gains[0] * measurement.theta_v

    try:
        assert REGISTRY["damping"] is Damping
        law = REGISTRY["damping"].from_numbers(fj.load("hua_3r"), [2.0], 1e-3)
        still, speed = np.zeros(3), np.array([1.0, -2.0, 3.0])
        assert law((), [still], fj.JointState(still, still, still, speed))[1].tolist() == [-2.0, 4.0, -6.0]
        assert repr(law) == "Damping('hua_3r', D=2)"
        with pytest.raises(fj.InputError, match=r"Damping: gains must be \[D\], each a number or 3 numbers"):
            Damping(fj.load("hua_3r"), [1.0, 2.0])
        with pytest.raises(fj.InputError, match="use VariableStiffnessTracking"):
            Damping(fj.load("vsa_3r"), [1.0])
    finally:
        REGISTRY.pop("damping", None)


def test_a_subclass_without_its_own_registration_is_not_offered():
    class Renamed(fj.control.MotorPD):
        pass

    assert Renamed not in REGISTRY.values() and REGISTRY["motor_pd"] is fj.control.MotorPD


@pytest.mark.parametrize("name", sorted(REGISTRY))
def test_registrations_say_what_the_numbers_are(name):
    registration = REGISTRY[name].registration
    assert registration.name == name and registration.summary and registration.robots
    assert all(gain.unit and gain.meaning for gain in registration.gains)
    assert 0 <= registration.optional <= max(0, len(registration.gains) - 1)


HUA = fj.load("hua_3r")
LWR = fj.load("kuka_lwr")


@pytest.mark.parametrize(
    ("item", "text"),
    [
        (fj.control.MotorPD(LWR, [np.arange(7.0), 100.0]), "MotorPD('kuka_lwr', K_P=[0, 1, 2, 3, 4, 5, 6], K_D=100)"),
        (fj.control.OpenLoop(LWR), "OpenLoop('kuka_lwr')"),
        (
            fj.control.FeedbackLinearization(HUA, fj.control.gains_from_poles([-10] * 4), 1e-3),
            "FeedbackLinearization('hua_3r', K_0=10000, K_1=4000, K_2=600, K_3=40, period=0.001)",
        ),
        (
            fj.observers.Detector(fj.observers.MomentumResidual(HUA.rigid(), 50.0), {"residual": [1.0, 2.0, 3.0]}),
            "Detector(MomentumResidual('hua_3r', cutoff=50, period=0.001, max_gap=0.05), "
            "thresholds={'residual': [1, 2, 3]}, release=0.7, confirmation=0)",
        ),
    ],
    ids=["per joint", "no gains", "poles", "detector"],
)
def test_representations_are_short(item, text):
    assert repr(item) == text


def test_the_key_of_a_kernel_has_all_digits():
    """... which its representation has not."""
    one, two = (fj.observers.MomentumResidual(HUA.rigid(), 50.0 + x) for x in (0.0, 1e-12))
    assert repr(one) == repr(two) and one._key("log") != two._key("log")
    other = fj.observers.MomentumResidual(HUA.rigid().replace(gravity=[0.0, 0.0, -9.0]), 50.0)
    assert repr(one) == repr(other) and one._key("log") != other._key("log")
