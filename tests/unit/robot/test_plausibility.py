"""Numbers of robots in other units are warned of, once per kind; robots as they are pass in silence."""

import numpy as np
import pytest

import flexjoint as fj
from support.warned import said, with_limits

BODY = {"mass": 2.7, "com": (0.1, 0.0, 0.0), "inertia": np.diag([0.012, 0.016, 0.019])}
ELBOW = {"position": (0.3, 0.0, 0.0)}


def arm(*, joint=None, body=None, drive=None, **options):
    links = (
        fj.Link("upper", fj.Joint("shoulder"), **BODY),
        fj.Link("lower", fj.Joint("elbow", **ELBOW | {"drive": drive} | (joint or {})), "upper", **BODY | (body or {})),
    )
    return fj.Robot("arm", links, **options)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"gravity": (0, 0, -981)}, ["gravity is 981 m/s²", "9.81"]),
        ({"joint": {"position": (340, 0, 0)}}, ["the joint of link 'lower' is 340 m", "divide millimetres by 1000"]),
        ({"body": {"com": (0, 47.6, 0)}}, ["the centre of mass of link 'lower' is 47.6 m", "millimetres"]),
        ({"body": {"inertia": 1e6 * BODY["inertia"]}}, ["link 'lower'", "1.9e+04 kg m²", "83.9 m", "kg mm² by 1e-6"]),
        ({"body": {"inertia": 1e4 * BODY["inertia"]}}, ["link 'lower'", "kg cm² by 1e-4"]),
        ({"body": {"mass": 2700.0}}, ["link 'lower' has a mass of 2700 kg", "denser than any metal", "kg"]),
        (
            {"body": {"mass": 2700.0, "inertia": 1e3 * BODY["inertia"]}},
            ["link 'lower' has a mass of 2700 kg", "denser than any metal"],
        ),
        ({"joint": {"limits": fj.Limits(-170, 170)}}, ["limits.lower of joint 'elbow' is -170 rad", "-2.967"]),
        ({"joint": {"limits": fj.Limits(velocity=112)}}, ["limits.velocity of joint 'elbow' is 112 rad/s", "1.955"]),
        ({"drive": fj.ElasticDrive(1e-3, fj.Motor(1.0))}, ["stiffness of joint 'elbow' is 0.001 Nm/rad", "unit"]),
        ({"drive": fj.ElasticDrive(1e12, fj.Motor(1.0))}, ["stiffness of joint 'elbow' is 1e+12", "RigidDrive"]),
        ({"drive": fj.RigidDrive(fj.Motor(1e-7, gear_ratio=0.01))}, ["gear ratio of joint 'elbow' is 0.01", "θ_rotor"]),
        ({"drive": fj.RigidDrive(fj.Motor(3.2e4))}, ["motor inertia of joint 'elbow' is 3.2e+04 kg m²", "reflected"]),
        (
            {"joint": {"friction": fj.drives.Friction(1.0, 4.0, 0.1, static=6.0, stribeck_velocity=0.05)}},
            ["friction of joint 'elbow' falls from static = 6 over 0.05", "velocity 0.1", "velocity below"],
        ),
    ],
    ids=lambda x: str(x)[:40],
)
def test_other_units_are_warned_of(changes, words):
    (message,) = said(lambda: arm(**changes))
    assert message.startswith("arm: ")
    for word in words:
        assert word in message


def test_robots_as_they_are_pass_in_silence():
    assert said(lambda: [fj.load(name) for name in ("kuka_lwr", "dlr_lwr3", "dlr_lbr2", "hua_3r", "vsa_3r")]) == []
    assert said(lambda: [fj.random_robot(6, seed, tree=True, elastic=0.5, fixed=0.3) for seed in range(20)]) == []
    assert said(arm) == []
    plain = {"mass": 50.0, "inertia": 1e-4 * np.eye(3)}
    assert said(lambda: arm(body=plain, allow_unphysical=True)) == []
    assert said(lambda: arm(joint={"kind": "prismatic", "limits": fj.Limits(-50, 50)})) == []


def test_one_warning_for_each_kind_of_number():
    messages = said(lambda: with_limits(fj.load("kuka_lwr"), lower=-170, upper=170).with_gravity((0, 0, 981)))
    messages = messages[1:]  # the first is that of the robot before its gravity is changed
    assert ["gravity" in messages[0], "limits.lower of joint 'joint1'" in messages[1], len(messages)] == [True, True, 2]


@pytest.mark.parametrize("size", [5e-324, 1e-200, 1e200, 1e300])
def test_numbers_at_the_ends_of_doubles_raise_nothing(size):
    body = {"mass": size, "com": (size, 0, 0), "inertia": np.diag([size] * 3)}
    joint = {"position": (size, 0, 0), "drive": fj.RigidDrive(fj.Motor(size))}
    said(lambda: arm(body=body, joint=joint, gravity=(0, 0, size), allow_unphysical=size < 1e-300))
