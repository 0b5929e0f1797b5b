"""Paths and patterns: what they find, what they refuse, and that symbols stay inside."""

import dataclasses
import pickle
import subprocess
import sys

import casadi as ca
import numpy as np
import pytest

import flexjoint as fj
from flexjoint.robot.parameters import rebuilt, select, select_all, with_symbols
from support.parameters import scrambled

LWR = fj.load("kuka_lwr")
MIXED = fj.random_robot(5, 3, prismatic=0.5, elastic=0.5, fixed=0.5, friction=True, name="mixed")


def robot_of(*links, **fields):
    return fj.Robot("robot", links, allow_unphysical=True, **fields)


# What there is ----------------------------------------------------------------------------------------------------


def test_paths_of_a_robot():
    found = fj.robot.robot_parameters(LWR)
    assert found["link7.mass"].value == LWR.links[6].mass
    assert np.array_equal(found["joint3.position"].value, LWR.links[2].joint.position)
    assert found["joint2.drive.motor.inertia"].value == 3.05
    assert np.array_equal(found["gravity"].value, [0.0, 0.0, -9.81])
    I = LWR.links[0].inertia
    assert np.array_equal(found["link1.inertia"].value, [I[0, 0], I[0, 1], I[0, 2], I[1, 1], I[1, 2], I[2, 2]])
    assert found["link1.inertia"].elements == tuple(f"link1.inertia.{x}" for x in ("xx", "xy", "xz", "yy", "yz", "zz"))
    assert found["link1.com"].elements == ("link1.com.x", "link1.com.y", "link1.com.z")


@pytest.mark.parametrize("robot", [LWR, MIXED, *map(fj.load, fj.builtin_robots())], ids=lambda x: x.name)
def test_every_number_has_a_path_and_a_unit(robot):
    found = fj.robot.robot_parameters(robot)
    assert set(scrambled(robot)[1]) <= set(found)
    assert all(parameter.unit for parameter in found.values())
    assert all(len(x.elements) == x.value.size for x in found.values())
    assert not any("rotation" in path or "limits" in path for path in found)


def test_units_follow_the_kind_of_joint():
    drive = fj.ElasticDrive(1.0, fj.Motor(1.0))
    turning, sliding = (fj.Joint(kind, kind, drive=drive) for kind in ("revolute", "prismatic"))
    found = fj.robot.robot_parameters(robot_of(fj.Link("a", turning, mass=1.0), fj.Link("b", sliding, mass=1.0)))
    assert found["revolute.drive.stiffness"].unit == "Nm/rad"
    assert found["prismatic.drive.stiffness"].unit == "N/m"
    assert found["prismatic.drive.motor.inertia"].unit == "kg"
    assert found["b.inertia"].unit == "kg m²"


def test_a_joint_that_does_not_move_has_only_a_place():
    found = fj.robot.robot_parameters(LWR)
    assert [path for path in found if path.startswith("tool_mount.")] == ["tool_mount.position"]
    assert len(select(LWR, "joint?.viscous_friction").elements) == LWR.n


def test_a_link_and_a_joint_may_share_their_name():
    robot = robot_of(fj.Link("arm", fj.Joint("arm"), mass=2.0))
    assert fj.robot.robot_parameters(robot)["arm.mass"].value == 2.0
    assert fj.robot.robot_parameters(robot)["arm.position"].unit == "m"


@dataclasses.dataclass(frozen=True)
class Law:
    coefficients: tuple[float, ...]
    preload: float


@dataclasses.dataclass(frozen=True)
class Pair:
    laws: tuple[Law, ...]
    axis: np.ndarray
    damping: float = 0.0
    stiff: bool = False


def test_fields_that_are_not_known_yet_are_found():
    found = {}
    pair = Pair((Law((1.0, 2.0), 3.0), Law((4.0,), 5.0)), np.ones(3))

    def note(path, value, sliding):
        found[path] = value
        return 0.0

    copy = rebuilt(pair, note, "drive.")
    assert set(found) == {f"drive.laws.{k}.{x}" for k in "01" for x in ("coefficients", "preload")} | {"drive.axis"}
    rebuilt(dataclasses.replace(pair, damping=1.0), note, "damped.")
    assert "damped.damping" in found  # without damping the equations are others
    assert copy.laws[1].preload == 0.0 and pair.laws[1].preload == 5.0


def test_values_cannot_be_changed():
    with pytest.raises(ValueError, match="read-only"):
        fj.robot.robot_parameters(LWR)["link7.com"].value[0] = 1.0
    assert not any(select(LWR, x).value.flags.writeable for x in ("link7.mass", "link7.com.x", "*.mass"))
    fj.robot.robot_parameters(LWR).clear()
    assert fj.robot.robot_parameters(LWR)


# Selection --------------------------------------------------------------------------------------------------------


def test_a_path_keeps_its_shape_and_a_pattern_is_a_vector():
    assert select(LWR, "link7.mass").value.shape == ()
    assert select(LWR, "link7.com").value.shape == (3,)
    assert select(LWR, "link7.com.z").value == LWR.links[6].com[2]
    assert select(LWR, "link7.inertia").value.shape == (6,)
    assert select(LWR, "*.drive.stiffness").value.shape == (7,)
    assert select(LWR, "link7.mas?").value.shape == (1,)


def test_a_pattern_prefers_whole_parameters():
    assert select(LWR, "link7.*").elements[:4] == ("link7.mass", "link7.com.x", "link7.com.y", "link7.com.z")
    assert len(select(LWR, "link7.*").elements) == 10
    assert select(LWR, "link7.*").unit == "kg, m, kg m²"
    assert select(LWR, "link[12].com.z").elements == ("link1.com.z", "link2.com.z")
    assert select(LWR, "link7.com.*").elements == ("link7.com.x", "link7.com.y", "link7.com.z")


def test_a_name_with_the_letters_of_a_pattern_is_itself():
    robot = robot_of(fj.Link("a[1]", fj.Joint("j1"), mass=1.0), fj.Link("a1", fj.Joint("j2"), "a[1]", mass=2.0))
    assert select(robot, "a[1].mass").value == 1.0


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("lnk7.mass", "did you mean link7.mass"),
        ("link7.com.w", "did you mean link7.com"),
        ("link3.joint.position", "did you mean joint3.position"),
        ("*.nothing", "there are joint1.position, .* and [0-9]+ more"),
        ("joint3.rotation", "rotation cannot be free: .*only together"),
        ("joint3.limits.upper", "limits cannot be free: .*no computation"),
        ("", "no parameter ''"),
    ],
)
def test_what_is_not_there(pattern, message):
    with pytest.raises(fj.InputError, match=message):
        select(LWR, pattern)


def test_nothing_is_free_twice():
    with pytest.raises(fj.InputError, match=r"'link7.mass' is selected twice, by 'link7.mass' and '\*.mass'"):
        select_all(LWR, ("link7.mass", "*.mass"))


def test_parameters_wants_a_robot():
    with pytest.raises(fj.InputError, match="not str"):
        fj.robot.robot_parameters("kuka_lwr")


# Symbols ----------------------------------------------------------------------------------------------------------


def test_symbols_replace_single_elements():
    x = ca.SX.sym("x")
    robot = with_symbols(LWR, {"link1.inertia.xy": x, "link2.com.y": x, "link3.mass": x})
    I = robot.links[0].inertia
    assert ca.is_equal(I[0, 1], x) and ca.is_equal(I[1, 0], x)
    assert float(I[2, 2]) == LWR.links[0].inertia[2, 2]
    assert ca.is_equal(robot.links[1].com[1], x) and float(robot.links[1].com[0]) == LWR.links[1].com[0]
    assert ca.is_equal(robot.links[2].mass, x)
    assert robot.links[3].mass == LWR.links[3].mass and robot.n == 7
    assert isinstance(LWR.links[2].mass, float)
    assert with_symbols(LWR, {}) is LWR


def test_whole_paths_and_patterns_take_columns():
    com, K = ca.SX.sym("c", 3), ca.SX.sym("K", 7)
    robot = LWR.with_symbols({"link2.com": com, "*.drive.stiffness": K, "link3.inertia.xy": com[0] * com[1]})
    assert ca.is_equal(robot.links[1].com, com)
    assert all(ca.is_equal(joint.drive.stiffness, K[k]) for k, joint in enumerate(robot.joints))
    assert robot.symbols[:3] == ("link2.com.x", "link2.com.y", "link2.com.z") and len(robot.symbols) == 11
    assert LWR.symbols == () and LWR.with_symbols({}) is LWR
    made = fj.robot.symbols(LWR, ["link7.com", "*.mass"])
    assert list(made) == ["link7.com", "*.mass"] and made["*.mass"].shape == (len(LWR.links), 1)
    assert str(made["link7.com"][1]) == "link7.com.y"


def test_symbols_of_a_wrong_kind_are_refused():
    x = ca.SX.sym("x", 3)
    with pytest.raises(fj.InputError, match=r"'link3.mass' is SX of shape \(3, 1\); it must be \(1, 1\)"):
        LWR.with_symbols({"link3.mass": x})
    with pytest.raises(fj.InputError, match=r"'link3.mass' is 2\.0; give SX"):
        LWR.with_symbols({"link3.mass": 2.0})
    with pytest.raises(fj.InputError, match=r"fj.robot.symbols\(robot, paths\) makes one"):
        LWR.with_symbols(["link3.mass"])
    with pytest.raises(fj.InputError, match="selected twice"):
        LWR.with_symbols({"link3.com": x, "link3.com.z": x[0]})
    for paths in ([3], 3):
        with pytest.raises(fj.InputError, match="paths are texts"):
            fj.robot.symbols(LWR, paths)
    with pytest.raises(fj.InputError, match=r"no parameter 'link3\.weight'"):
        fj.robot.symbols(LWR, "link3.weight")


def test_where_numbers_are_needed_symbols_are_refused_with_a_way_out():
    robot = LWR.with_symbols(fj.robot.symbols(LWR, "link3.mass"))
    with pytest.raises(fj.InputError, match=r"at link3\.mass: give SX.*fj\.compile\(gravity_torque, robot, free"):
        fj.gravity_torque(robot, np.zeros(7))
    with pytest.raises(fj.InputError, match=r"has symbols at link3\.mass: give SX"):
        fj.compile(fj.gravity_torque, robot)
    with pytest.raises(fj.RobotError, match="change the robot with its numbers first, then call with_symbols"):
        robot.rigid()
    motion = fj.trajectory.RestToRest([0.0] * 7, [0.1] * 7, duration=1.0)
    for function in (
        fj.robot.robot_parameters,
        lambda x: x.with_symbols({"link2.mass": ca.SX.sym("m")}),
        lambda x: fj.write_robot(x, "robot.toml"),
        lambda x: fj.simulate(x, fj.control.MotorPD(LWR, [400.0, 40.0]), motion),
        lambda x: fj.inverse_dynamics_along(x, motion, [0.0, 0.5]),
        lambda x: fj.analysis.motor_table(x, motion),
        lambda x: fj.analysis.linearize(x, np.zeros(7)),
        lambda x: fj.control.joint_modes(x, np.zeros(7)),
        fj.dynamics.standard_parameters,
    ):
        with pytest.raises(fj.InputError, match="give the robot with its numbers"):
            function(robot)


def test_a_robot_is_not_made_with_symbols():
    """The message says what to type instead, by path."""
    x = ca.SX.sym("x", 3)
    instead = r"robot.with_symbols\(\{{'{}': ...\}}\)".format
    with pytest.raises(fj.RobotError, match=instead("a.mass")):
        robot_of(fj.Link("a", fj.Joint("j"), mass=x[0]))
    with pytest.raises(fj.RobotError, match=instead("a.com")):
        fj.Link("a", fj.Joint("j"), com=x)
    with pytest.raises(fj.RobotError, match=instead("j.position")):
        fj.Joint("j", position=[x[0], 0.0, 0.0])
    for drive, path in (
        (fj.ElasticDrive(x[0], fj.Motor(0.1)), "j.drive.stiffness"),
        (fj.ElasticDrive(fj.springs.CubicSpring(x[0], 1.0), fj.Motor(0.1)), "j.drive.stiffness.stiffness"),
        (fj.RigidDrive(fj.Motor(x[0])), "j.drive.motor.inertia"),
    ):
        with pytest.raises(fj.RobotError, match=instead(path)):
            robot_of(fj.Link("a", fj.Joint("j", drive=drive), mass=1.0, inertia=np.eye(3)))


# Kernels ----------------------------------------------------------------------------------------------------------

TWO = fj.random_robot(2, 11, prismatic=0.0, elastic=0.5, name="two")
SCRIPT = """
import sys
import numpy as np
import flexjoint as fj
robot = fj.random_robot(2, 11, prismatic=0.0, elastic=0.5, name="two")
kernel = fj.compile(fj.gravity_torque, robot, free=("link2.*",))
slope = fj.compile(fj.gravity_torque, robot, free=("gravity",), derivatives=[("tau", "q"), ("tau", "link2.mass")])
q = np.array([0.3, -0.7])
results = [kernel(q, *kernel.nominal), *slope(q, *slope.nominal)]
print("".join(x.tobytes().hex() for x in results), "casadi" in sys.modules)
"""


def test_inputs_are_described():
    kernel = fj.compile(fj.inverse_dynamics, TWO, free=("*.drive.stiffness", "link2.com", "link1.mass"))
    stiffness, com, mass = kernel.inputs[-3:]
    assert stiffness == ("*.drive.stiffness", (1,), "Nm/rad", ("link2_joint.drive.stiffness",))
    assert com == ("link2.com", (3,), "m", ("link2.com.x", "link2.com.y", "link2.com.z"))
    assert mass == ("link1.mass", (), "kg", ())
    assert [x.shape for x in kernel.nominal] == [(1,), (3,), ()]
    assert fj.compile(fj.inverse_dynamics, TWO).nominal == ()


def test_one_path_need_not_be_a_tuple():
    one = fj.compile(fj.gravity_torque, TWO, free="link2.mass")
    assert one is fj.compile(fj.gravity_torque, TWO, free=("link2.mass",))
    assert one is not fj.compile(fj.gravity_torque, TWO)


def test_a_number_may_be_a_float_or_an_array():
    kernel = fj.compile(fj.gravity_torque, TWO, free="link2.mass")
    q, out = np.array([0.3, -0.7]), np.empty(2)
    expected = kernel(q, 2.5)
    for mass in (np.array(2.5), np.float64(2.5), np.float32(2.5), [1.0, 2.5][1]):
        assert np.array_equal(kernel(q, mass, out=out), expected)
    assert np.array_equal(kernel(q, 2), kernel(q, 2.0))
    assert np.array_equal(kernel(q, np.array([1.0, 2.5]))[1], expected)


@pytest.mark.long
def test_the_second_process_neither_traces_nor_imports_casadi(tmp_path, monkeypatch):
    monkeypatch.setenv("FLEXJOINT_CACHE", str(tmp_path / "kernels"))

    def run():
        return subprocess.run([sys.executable, "-c", SCRIPT], check=True, capture_output=True, text=True).stdout.split()

    first, second = run(), run()
    assert first[0] == second[0]
    assert (first[1], second[1]) == ("True", "False")


def test_a_kernel_with_free_parameters_can_be_pickled():
    kernel = fj.compile(fj.gravity_torque, TWO, free="link2.mass", derivatives=[("tau", "q"), ("tau", "link2.mass")])
    other = pickle.loads(pickle.dumps(kernel))
    q = np.array([0.3, -0.7])
    assert other.nominal == kernel.nominal
    assert all(np.array_equal(x, y) for x, y in zip(other(q, 2.0), kernel(q, 2.0)))


def test_values_are_the_users():
    """Nothing checks them: a negative mass is one, and a spring that is none is named."""
    kernel = fj.compile(fj.gravity_torque, TWO, free="*.mass")
    q = np.array([0.3, -0.7])
    assert np.allclose(kernel(q, [-1.0, -1.0]), -kernel(q, [1.0, 1.0]))
    stiff = fj.compile(fj.inverse_dynamics, TWO, free="*.stiffness")
    with pytest.raises(fj.NonFiniteError, match=r"stiffness\[0\] \(link2_joint.drive.stiffness\) is 0"):
        stiff(*np.ones((5, 2)), [0.0])
    finite = np.empty(3, dtype=bool)
    rows = stiff(*np.ones((5, 2)), [[1.0], [0.0], [2.0]], finite=finite)
    assert list(finite) == [True, False, True] and np.isnan(rows[1]).all()
    with pytest.raises(fj.NonFiniteError, match=r"because link1.mass is nan"):
        fj.compile(fj.gravity_torque, TWO, free="link1.mass")(q, np.nan)


@pytest.mark.parametrize(
    ("free", "message"),
    [
        (("link9.mass",), "no parameter 'link9.mass'; did you mean link"),
        ((3,), "free takes paths such as 'link1.mass', not 3"),
        (3, "free takes paths such as 'link1.mass', not 3"),
        (("*.damping",), "only where it is not 0"),
        (("*.mass", "link1.mass"), "selected twice"),
    ],
)
def test_a_mistake_is_named(free, message):
    with pytest.raises(fj.InputError, match=message):
        fj.compile(fj.inverse_dynamics, TWO, free=free)


def test_an_algorithm_is_called_without_free():
    with pytest.raises(fj.InputError, match="no keyword free"):
        fj.gravity_torque(TWO, np.zeros(2), free="link1.mass")
