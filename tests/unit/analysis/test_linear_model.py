"""The linear model against differences of the forward dynamics, its modes against those of the springs."""

import sys

import numpy as np
import pytest

import flexjoint as fj

MOTOR = fj.Motor(0.5, 0.3)
MIXED = fj.random_robot(3, 21, prismatic=0.3, friction=True).with_drives(
    [fj.ElasticDrive(300.0, MOTOR), fj.RigidDrive(MOTOR), fj.ElasticDrive(200.0, MOTOR, damping=2.0)]
)


def test_matrices():
    rng = np.random.default_rng(3)
    q, v, theta, theta_v, tau = rng.uniform(-1.0, 1.0, (5, 3))
    model = fj.analysis.linearize(MIXED, fj.JointState(q, v, theta, theta_v), tau)
    kept, n = [0, 1, 2, 3, 5], 3

    def flow(x, tau):
        full = np.zeros(12)
        full[[*kept, *(6 + k for k in kept)]] = x
        a, theta_a = fj.forward_dynamics(MIXED, full[:3], full[6:9], full[3:6], full[9:], tau)
        return np.concatenate([full[[6 + k for k in kept]], np.concatenate([a, theta_a])[kept]])

    x = np.concatenate([q, theta, v, theta_v])[[*kept, *(6 + k for k in kept)]]
    step = 1e-6
    for matrix, slope in (
        (model.A, [(flow(x + step * e, tau) - flow(x - step * e, tau)) / (2 * step) for e in np.eye(10)]),
        (model.B, [flow(x, tau + e) - flow(x, tau) for e in np.eye(n)]),
    ):
        assert np.max(np.abs(matrix - np.transpose(slope))) < 1e-8 * np.max(np.abs(matrix))
    names = [joint.name for joint in MIXED.joints]
    assert model.states[3:5] == (f"theta.{names[0]}", f"theta.{names[2]}")


def test_deflections_of_joints_with_two_motors():
    """Against settings of the drives: the second motor of a lever does not count from the link."""
    springs = fj.load("vsa_3r").joints[0].drive
    lever = fj.drives.LeverDrive(1e5, 0.1, 0.03, 0.15, MOTOR, fj.Motor(2.0))
    robot = fj.random_robot(2, 3, prismatic=0.0).with_drives([lever, springs])
    model = fj.analysis.linearize(robot, fj.simulation.at_rest(robot, [0.3, 0.2], 1000.0))
    at = {name: k for k, name in enumerate(model.states)}
    first, second = (joint.name for joint in robot.joints)
    expected = {
        first: {f"theta.{first}": 1, f"q.{first}": -1},
        second: {f"theta.{second}": 1, f"q.{second}": -1},
        f"{first}.second": {f"theta.{first}.second": 1},
        f"{second}.second": {f"theta.{second}.second": 1, f"q.{second}": -1},
    }
    for motor, terms in expected.items():
        row = np.zeros(len(at))
        row[[at[name] for name in terms]] = list(terms.values())
        assert np.array_equal(model.system(outputs=f"deflection.{motor}")[2][0], row), motor


def test_frequencies_without_a_response():
    floating = fj.random_robot(1, 2, prismatic=0.0).with_gravity([0.0, 0.0, 0.0])
    model = fj.analysis.linearize(floating, [0.0])
    with pytest.raises(fj.InputError, match="that of an undamped pole"):
        model.response([0.0])
    with pytest.raises(fj.InputError, match=r"omega is \[1.0, nan\]"):
        model.response([1.0, np.nan])


@pytest.mark.long
def test_modes_of_the_lwr():
    robot = fj.load("kuka_lwr").with_gravity([0.0, 0.0, 0.0])
    q = np.linspace(-0.5, 0.7, 7)
    model = fj.analysis.linearize(robot, q)
    modes = fj.control.joint_modes(robot, q).frequencies
    assert np.allclose(model.frequencies[-14::2], modes[7:], rtol=1e-9)
    assert np.max(np.abs(model.damping[-14:])) < 1e-9


I, B, K = 0.2, 0.3, 80.0


def wheel(damping=0.0):
    drive = fj.ElasticDrive(K, fj.Motor(B), damping)
    link = fj.Link("wheel", fj.Joint("axis", "revolute", drive=drive), mass=1.0, inertia=I * np.eye(3))
    return fj.Robot("wheel", (link,), gravity=(0.0, 0.0, 0.0))


S = 1j * np.array([1.0, 10.0, 100.0])


def test_response_of_motor_and_wheel():
    """q/τ = K/(s² (I B s² + K (I + B)))."""
    wanted = K / (S**2 * (I * B * S**2 + K * (I + B)))
    assert np.allclose(fj.analysis.linearize(wheel(), [0.0]).response(S.imag)[:, 0, 0], wanted, rtol=1e-12)


@pytest.mark.parametrize("damping", [0.0, 0.7])
def test_every_input_and_output_of_motor_and_wheel(damping):
    """(I s² + k) q = k θ + load, (B s² + k) θ = k q + τ, k = K + D s."""
    model = fj.analysis.linearize(wheel(damping), [0.3])
    k = K + damping * S
    det = (I * S**2 + k) * (B * S**2 + k) - k**2
    q = {"tau": k / det, "load": (B * S**2 + k) / det}
    theta = {"tau": (I * S**2 + k) / det, "load": k / det}
    for name in ("tau", "load"):
        wanted = {
            "q": q[name],
            "theta": theta[name],
            "v": S * q[name],
            "theta_v": S * theta[name],
            "a": S**2 * q[name],
            "deflection": theta[name] - q[name],
            "tau_e": k * (theta[name] - q[name]),
        }
        for output, values in wanted.items():
            found = model.response(S.imag, f"{name}.axis", f"{output}.axis")[:, 0, 0]
            assert np.allclose(found, values, rtol=1e-11), (name, output)


def test_two_motors_at_a_wheel():
    """At rest each spring has half the stiffness: ω² = σ/2 (2/I + 1/B); the motors against each other, ω² = σ/2B."""
    spring, sigma = fj.springs.CubicSpring(100.0, 1e4), 500.0
    drive = fj.drives.AntagonisticDrive(spring, spring, fj.Motor(B), fj.Motor(B))
    link = fj.Link("wheel", fj.Joint("axis", "revolute", drive=drive), mass=1.0, inertia=I * np.eye(3))
    robot = fj.Robot("wheel", (link,), gravity=(0.0, 0.0, 0.0))
    model = fj.analysis.linearize(robot, fj.simulation.at_rest(robot, [0.2], sigma))
    wanted = np.sqrt([sigma / 2 / B] * 2 + [sigma / 2 * (2 / I + 1 / B)] * 2)
    assert np.allclose(model.frequencies[-4:], wanted, rtol=1e-9)
    assert model.inputs == ("axis", "axis.second")
    k = sigma / 2
    total = (I * S**2 + 2 * k) * (B * S**2 + k) - 2 * k**2
    found = model.response(S.imag, ["tau.axis", "load.axis"], ["q.axis", "tau_e.axis"])
    assert np.allclose(found[:, 0, 0], k / total, rtol=1e-8)
    assert np.allclose(found[:, 0, 1], (B * S**2 + k) / total, rtol=1e-8)
    assert np.allclose(found[:, 1, 0], I * S**2 * k / total, rtol=1e-8)


def test_frequency_and_damping_of_motor_and_wheel():
    """ω² = K (1/I + 1/B), and 2 ζ ω = D (1/I + 1/B)."""
    model = fj.analysis.linearize(wheel(0.7), [0.0])
    omega = np.sqrt(K * (1 / I + 1 / B))
    assert np.allclose(model.frequencies[-2:], omega, rtol=1e-12)
    assert np.allclose(model.damping[-2:], 0.7 * (1 / I + 1 / B) / (2 * omega), rtol=1e-12)
    assert fj.analysis.joint_eigenfrequencies(wheel(), [0.0]) == pytest.approx([omega], rel=1e-14)


def test_python_control_sees_the_same_system():
    """Poles, zeros and frequency responses; the zeros of q/load are those of the motor on its spring, ±i√(K/B)."""
    control = pytest.importorskip("control")
    model = fj.analysis.linearize(wheel(), [0.0])
    system = model.to_control("load.*", ["q.axis", "tau_e.*"])
    assert (system.input_labels, system.output_labels) == (["load[axis]"], ["q[axis]", "tau_e[axis]"])
    assert system.state_labels == ["q[axis]", "theta[axis]", "v[axis]", "theta_v[axis]"]
    zeros = control.ss(*model.system("load.axis", "q.axis")).zeros()
    assert np.allclose(np.sort_complex(zeros), [-1j * np.sqrt(K / B), 1j * np.sqrt(K / B)], atol=1e-9)
    mixed = fj.analysis.linearize(MIXED, [0.2, -0.1, 0.3])
    theirs = mixed.to_control(["tau.*", "load.*"], ["q.*", "a.*", "tau_e.*"])
    assert np.allclose(np.sort(np.abs(theirs.poles())), mixed.frequencies, rtol=1e-6, atol=1e-6)
    omega = np.array([3.0, 40.0])
    ours = mixed.response(omega, ["tau.*", "load.*"], ["q.*", "a.*", "tau_e.*"])
    assert np.allclose(np.moveaxis(theirs(1j * omega), -1, 0), ours, rtol=1e-9)


def test_loads_are_forces_on_the_links():
    """Accelerations by a load are those of the inverse dynamics: a wrench on the tool is Jᵀ w."""
    q, wrench = np.array([0.2, -0.1, 0.3]), np.array([1.0, 2.0, -1.0, 0.3, 0.1, -0.2])
    model = fj.analysis.linearize(MIXED, q)
    state = [q, np.zeros(3), q, np.zeros(3), np.zeros(3)]
    pushed, free = (fj.forward_dynamics(MIXED, *state, wrenches={MIXED.tool: [w]}).a for w in (wrench, np.zeros(6)))
    D = model.system("load.*", "a.*")[3]
    assert np.allclose(D @ fj.jacobian(MIXED, q).T @ wrench, pushed - free, rtol=1e-10)


@pytest.mark.parametrize("robot", [fj.load("kuka_lwr"), MIXED, fj.load("dlr_lwr3")], ids=lambda x: x.name)
def test_frequencies_over_the_workspace(robot):
    """Those of one configuration after the other, springs that harden under gravity among them."""
    hard = fj.ElasticDrive(fj.springs.CubicSpring(300.0, 4e4), MOTOR)
    robot = robot.with_drives([hard, *(joint.drive for joint in robot.joints[1:])])
    q = np.random.default_rng(4).uniform(-1.0, 1.0, (2, 3, robot.n))
    found = fj.analysis.joint_eigenfrequencies(robot, q)
    wanted = [fj.control.joint_modes(robot, x).frequencies[robot.n :] for x in q.reshape(-1, robot.n)]
    assert found.shape == (2, 3, sum(robot.compliant))
    assert np.allclose(found.reshape(6, -1), wanted, rtol=1e-10)
    assert fj.analysis.joint_eigenfrequencies(robot.rigid(), q).shape == (2, 3, 0)


def test_what_is_refused():
    with pytest.raises(fj.InputError, match="configuration"):
        fj.analysis.linearize(MIXED, [0.0])
    with pytest.raises(fj.InputError, match="JointState"):
        fj.analysis.linearize(MIXED, (np.zeros(3), np.zeros(3)))
    with pytest.raises(fj.InputError, match=r"nothing matches 'torque'; there are tau\..*, load\."):
        fj.analysis.linearize(wheel(), [0.0]).system("torque")
    with pytest.raises(fj.InputError, match=r"q has shape \(2,\)"):
        fj.analysis.joint_eigenfrequencies(MIXED, [0.0, 0.0])


def test_without_python_control_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "control", None)
    with pytest.raises(fj.InputError, match="pip install control"):
        fj.analysis.linearize(wheel(), [0.0]).to_control()
