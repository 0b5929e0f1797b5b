"""Joint kinds: how they are found, their units, and what a new one needs."""

import pickle
from dataclasses import dataclass, field

import pytest

import flexjoint as fj
from flexjoint.robot.joints import KINDS, JointKind, joint_kind
from flexjoint.robot.joints.fixed import Fixed
from flexjoint.robot.joints.prismatic import Prismatic
from flexjoint.robot.joints.revolute import Revolute


def test_a_name_stands_for_its_kind():
    for kind in (Revolute(), Prismatic(), Fixed()):
        assert fj.Joint("x", kind.name).kind == fj.Joint("x", kind).kind == kind
        assert str(kind) == kind.name and KINDS[kind.name] is type(kind)
    assert fj.Joint("x").kind == Revolute()
    assert len({Revolute(), Revolute(), Prismatic()}) == 2


@pytest.mark.parametrize("kind", ["hinge", "Revolute", "R", 3, None, ["revolute"]])
def test_an_unknown_kind_is_refused(kind):
    with pytest.raises(fj.RobotError, match=r"joint 'knee' is of kind .*: choose one of fixed, .*prismatic, revolute"):
        fj.Joint("knee", kind)


def test_motion():
    moves = {kind.name: (kind.turns, kind.slides, kind.moves) for kind in (Revolute(), Prismatic(), Fixed())}
    assert moves == {
        "revolute": (True, False, True),
        "prismatic": (False, True, True),
        "fixed": (False, False, False),
    }


def test_units():
    assert Revolute().unit("Nm/rad | N/m") == "Nm/rad"
    assert Prismatic().unit("Nm/rad | N/m") == "N/m"


def test_pickle():
    assert pickle.loads(pickle.dumps(Prismatic())) == Prismatic()


@pytest.fixture
def screw_kind():
    """A kind of a user's own: a screw, declared as those in the package are."""

    @dataclass(frozen=True)
    class Screwed(JointKind):
        lead: float = field(metadata={"unit": "m/rad | m/rad"})
        name = "screwed"
        letter = "S"

        @property
        def motion(self):
            return 1.0, self.lead

    yield Screwed
    del KINDS["screwed"]


def test_the_numbers_of_a_kind_are_keys_and_parameters(screw_kind, tmp_path):
    joint = fj.Joint("nut", screw_kind(0.01))
    body = {"mass": 1.0, "com": (0.1, 0.0, 0.0), "inertia": [[0.02, 0, 0], [0, 0.02, 0], [0, 0, 0.02]]}
    robot = fj.Robot("press", (fj.Link("ram", joint, **body),))
    fj.write_robot(robot, tmp_path / "press.toml")
    assert 'kind = "screwed"\nlead = 0.01\n' in (tmp_path / "press.toml").read_text()
    assert fj.load(tmp_path / "press.toml") == robot
    assert fj.robot.robot_parameters(robot)["nut.kind.lead"].unit == "m/rad"
    assert robot.digest != robot.replace(links=(fj.Link("ram", fj.Joint("nut", screw_kind(0.02)), **body),)).digest
    assert repr(robot).startswith("Robot('press', S,")


def test_a_kind_without_its_numbers_is_refused(screw_kind):
    with pytest.raises(fj.RobotError, match=r"joint 'nut' is of kind 'screwed' without its lead: give .*\(lead=...\)"):
        joint_kind("screwed", "nut")
