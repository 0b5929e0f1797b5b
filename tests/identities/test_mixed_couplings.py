"""The controller of mixed robots with couplings of motors and links, on Lagrange's equations with explicit rotors.

V₂ and V₂' of [Hua (51), (52)] take M, C and the accelerations of that plant; only θ_d' is the controller's own.
"""

import dataclasses

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import cumulative_simpson

import flexjoint as fj
from support.explicit_plant import Plant
from support.lagrange import smooth_friction
from support.rotors import crossed_motors as arm, with_random_rotors

GAINS = [[40.0, 10.0, 80.0, 8.0], [100.0, 20.0, 200.0, 20.0], [20.0, 20.0, 20.0, 20.0], [200.0, 20.0, 50.0, 5.0]]


def depth_one():
    """Two elastic joints, and a rigid one at the tip."""
    robot = arm(3, 30.0, 0.0)
    drives = [joint.drive for joint in robot.joints]
    return robot.with_drives([drives[0], drives[1], fj.RigidDrive(drives[2].motor)])


class Loop:
    """The controller on the plant, over time."""

    def __init__(self, robot, gains, couplings="automatic", wrenches=None, model=None):
        self.robot, self.plant = robot, Plant(robot, wrenches)
        self.model = model or robot
        self.gains = [np.full(robot.n, x) for x in gains]
        self.motion = fj.trajectory.Sinusoid([0.3] * robot.n, 1 / np.pi, phase=np.arange(robot.n), duration=5.0)
        self.order = fj.control.MixedInverseDynamics(self.model, gains, couplings=couplings).order
        known = {link: [w, *np.zeros((self.order - 2, 6))] for link, w in (wrenches or {}).items()} or None
        self.options = {"couplings": couplings, "wrenches": known}
        y, n = ca.SX.sym("y", len(self.plant.kept)), robot.n
        M = self.plant.terms(y, 0 * y, ca.SX.zeros(n))[0][:n, :n]
        self.slopes = ca.Function("slopes", [y], [M, ca.jacobian(ca.vec(M), y[:n])])

    def torque(self, t, x):
        tracking = {"reference": list(self.motion(t, order=self.order)), "gains": self.gains}
        return fj.control.laws.mixed_torque(self.model, *x, tracking=tracking, **self.options)

    def rates(self, t, x):
        a, theta_a = self.plant(*x, np.asarray(self.torque(t, x).tau))
        return np.array([x[1], a, x[3], theta_a])

    def run(self, x, h, duration):
        """States at multiples of h by the method of Runge and Kutta, (steps + 1, 4, n)."""
        found = [x]
        for k in range(round(duration / h)):
            t = k * h
            k1 = self.rates(t, x)
            k2 = self.rates(t + h / 2, x + h / 2 * k1)
            k3 = self.rates(t + h / 2, x + h / 2 * k2)
            k4 = self.rates(t + h, x + h * k3)
            x = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
            found.append(x)
        return np.array(found)

    def lyapunov(self, t, x):
        """V₂ and V₂', and θ_d of (39), (43) beside that of the controller."""
        robot, n = self.robot, self.robot.n
        (q, v, theta, theta_v), (q_d, v_d, a_d) = x, self.motion(t, order=2)
        K_P, K_D, motor_K_P, motor_K_D = self.gains
        elastic = np.array(robot.compliant, dtype=float)
        drives = [joint.drive for joint in robot.joints]
        K = np.array([drive.stiffness if isinstance(drive, fj.ElasticDrive) else 0.0 for drive in drives])
        B = elastic * np.array([drive.motor.inertia for drive in drives])
        law = self.torque(t, x)
        a, _ = self.plant(*x, np.asarray(law.tau))
        M, dM = (np.array(y) for y in self.slopes(np.concatenate([q, theta])[self.plant.kept]))
        dM = dM.reshape(n, n, n, order="F")
        C = np.einsum("ijk,k->ij", dM + dM.transpose(0, 2, 1) - dM.transpose(2, 1, 0), v) / 2
        Lambda, motor_Lambda = K_P / K_D, motor_K_P / motor_K_D
        e, e_v = q_d - q, v_d - v
        s, s_v = e_v + Lambda * e, a_d + Lambda * e_v - a
        rubbed = [float(smooth_friction(x, b) - smooth_friction(x, c)) for x, b, c in zip(robot.joints, v + s, v)]
        torque = M @ s_v + C @ s + K_D * s + rubbed  # e_τ of (40)
        e_m, e_m_v = elastic * (law.theta_d - theta), elastic * (law.theta_d_v - theta_v)
        s_m = elastic * (e_m_v + motor_Lambda * e_m + s)
        V = s @ M @ s / 2 + e @ (K_P * e) + s_m @ (B * s_m) / 2 + e_m @ (K * e_m) / 2
        loss = e_v @ (K_D * e_v) + e @ (K_P**2 / K_D * e) + s_m @ (motor_K_D * s_m) + e_m @ (K * motor_Lambda * e_m)
        return V, -loss - s @ rubbed, np.max(np.abs(K * e_m - torque))

    def residual(self, x, h, duration):
        """Largest difference of V₂ and the integral of V₂' over V₂(0), and the largest error of K θ_d."""
        rows = [self.lyapunov(k * h, y) for k, y in enumerate(self.run(x, h, duration))]
        V, rate, error = np.array(rows).T
        return np.max(np.abs(V - V[0] - cumulative_simpson(rate, dx=h, initial=0.0))) / V[0], error.max()

    def start(self, offset=0.05):
        """Beside the reference."""
        motion = fj.motor_motion(self.robot, *self.motion(0.0, order=8))
        q, v, *_ = self.motion(0.0)
        elastic = np.array(self.robot.compliant)
        return np.array([q, v, np.where(elastic, motion.theta, q), np.where(elastic, motion.theta_v, v)]) + offset * (
            np.array([[1.0], [0.0], [1.0], [0.0]])
        )


SINGULAR = [(0.2, 100.0, GAINS[0]), (0.0, 100.0, GAINS[0])]  # tilt, ratio, gains: the determinant changes its sign


def falls_by_sixteen(loop, h=1e-3, duration=0.1):
    """(52) holds to the order of the integrator, and θ_d is that of (39)."""
    (coarse, _), (fine, error) = (loop.residual(loop.start(), step, duration) for step in (h, h / 2))
    assert 13 < coarse / fine < 21
    assert error < 1e-7


def test_neglected_couplings_leave_a_residual():
    loop = Loop(arm(2, 30.0, 0.7), GAINS[0], "neglected")
    coarse, fine = (loop.residual(loop.start(), step, 0.1)[0] for step in (2e-3, 1e-3))
    assert fine > 1e-3
    assert coarse / fine < 2


def test_with_friction_payload_and_wrench():
    """Known to the controller: friction at joints and motors, a payload, and a wrench on a link."""
    robot = arm(2, 30.0, 0.7, friction=0.4).with_payload(0.5, com=(0.05, 0.02, 0.1), inertia=np.diag([2e-3] * 3))
    wrench = np.array([5.0, -4.0, 3.0, 0.5, 1.0, -0.5])
    falls_by_sixteen(Loop(robot, GAINS[0], wrenches={robot.links[1].name: wrench}))


@pytest.mark.long
def test_rigid_joints_among_elastic_ones():
    falls_by_sixteen(Loop(depth_one(), GAINS[0]))


@pytest.mark.long
@pytest.mark.parametrize("ratio", [10.0, 30.0, 100.0])
@pytest.mark.parametrize("gains", GAINS)
@pytest.mark.parametrize("n, tilt", [(2, 0.7), (2, 0.2), (3, 0.0), (3, 0.7)])
def test_arms_gear_ratios_and_gains(n, tilt, ratio, gains):
    """Depth 1 and 2: (52) holds with the couplings, and without them it does not; or the controller is refused."""
    robot = arm(n, ratio, tilt)
    h = 5e-4 if gains[0] > 50.0 else 1e-3
    loop = Loop(robot, gains)
    references = loop.motion(np.linspace(0.0, 5.0, 17), order=loop.order)
    if (tilt, ratio, gains) in SINGULAR:
        with pytest.raises(fj.InputError, match="θ_d does not exist everywhere on the reference"):
            fj.control.MixedInverseDynamics(robot, gains).check_reference(references)
        return
    start = fj.JointState(*loop.start())
    fj.control.MixedInverseDynamics(robot, gains).check_reference(references, start=start)
    falls_by_sixteen(loop, h, 100 * h)
    neglecting = Loop(robot, gains, "neglected")
    assert neglecting.residual(neglecting.start(), h / 2, 100 * h)[0] > 2e-5


def test_lyapunov_algorithm():
    """V₂ and its rate as they are written out above."""
    robot = arm(2, 30.0, 0.7, friction=0.4)
    loop = Loop(robot, GAINS[0])
    x = loop.start(0.2)
    V, rate, _ = loop.lyapunov(0.3, x)
    tracking = {"reference": list(loop.motion(0.3, order=6)), "gains": loop.gains}
    found = fj.control.laws.mixed_lyapunov(robot, *x, tracking=tracking)
    np.testing.assert_allclose([found.lyapunov, found.lyapunov_rate], [V, rate], rtol=1e-9)


def test_what_cannot_be_exact():
    arm_7 = fj.load("dlr_lbr2")
    gains = [400.0, 40.0, 400.0, 40.0]
    assert not fj.control.MixedInverseDynamics(arm_7, gains).exact
    with pytest.raises(fj.InputError, match="need q to order 10; the controller follows 8; use FeedforwardPD"):
        fj.control.MixedInverseDynamics(arm_7, gains, couplings="exact")
    with pytest.raises(fj.InputError, match="couplings is 'none'; it must be one of 'automatic', 'exact', 'neglected'"):
        fj.control.MixedInverseDynamics(arm_7, gains, couplings="none")
    with pytest.raises(fj.InputError, match="the couplings are neglected; use FeedforwardPD, which knows"):
        fj.control.MixedInverseDynamics(arm(2, 30.0, 0.7), gains, couplings="neglected", base=True)


def test_a_singular_equation_is_refused():
    """Along a motion the determinant changes its sign; at the last moment V₂ and the torque jump."""
    robot = arm(2, 100.0, 0.2)
    motion = fj.trajectory.Sinusoid([0.3] * 2, 1 / np.pi, phase=np.arange(2), duration=5.0)
    references = motion(np.linspace(0.0, 5.0, 17), order=6)
    controller = fj.control.MixedInverseDynamics(robot, GAINS[0])
    with pytest.raises(fj.InputError, match=r"θ_d does not exist everywhere on the reference, near q = \["):
        controller.check_reference(references)
    controller.check_reference(references, gains=fj.control.MixedInverseDynamics(robot, GAINS[1]).gains)
    far = fj.JointState(np.array([-1.9, -1.6]), np.zeros(2), np.array([-1.9, -1.6]), np.array([500.0, -500.0]))
    q = np.array([0.1, 0.4])
    with pytest.raises(fj.InputError, match="θ_d does not exist everywhere between the reference and the start"):
        fj.control.MixedInverseDynamics(arm(2, 100.0, 0.7), GAINS[1]).check_reference([q, *np.zeros((6, 2))], start=far)


@pytest.mark.parametrize("seed", [14, 0])
def test_any_robot(seed):
    """Trees and chains, turning and sliding, friction, rigid joints: the derivative of V₂ along the motion is (52)."""
    rng = np.random.default_rng(seed)
    links = int(rng.integers(2, 5))
    robot = fj.random_robot(links, seed, tree=seed % 3 == 0, fixed=0.3 * (seed % 5 == 0), friction=seed % 4 == 0)
    robot = with_random_rotors(robot, seed, elastic=0.7, coupling=0.05)
    n, order = robot.n, fj.dynamics.derivative_orders(robot).motion
    assert order in (5, 6)
    motion = fj.trajectory.Sinusoid([0.2] * n, 1 / np.pi, phase=np.arange(n), duration=1.0)
    elastic, (q, v, *_) = np.array(robot.compliant), motion(0.1) + 0.02 * rng.normal(size=n)
    theta, theta_v = np.where(elastic, q + 0.02 * rng.normal(size=n), q), np.where(elastic, v + 0.05, v)
    x, gains = np.array([q, v, theta, theta_v]), [np.full(n, y) for y in (30.0, 10.0, 60.0, 6.0)]

    found, expected = rate_of_lyapunov(robot, motion, gains, x, 1e-5)
    np.testing.assert_allclose(found, expected, rtol=1e-7)


def rate_of_lyapunov(robot, motion, gains, x, h):
    """The derivative of V₂ along the motion of the robot at 0.1 s, by a difference, and V₂'."""
    order = fj.dynamics.derivative_orders(robot).motion

    def evaluated(algorithm, t, x):
        return algorithm(robot, *x, tracking={"reference": list(motion(t, order=order)), "gains": gains})

    a, theta_a, *_ = fj.forward_dynamics(robot, *x, evaluated(fj.control.laws.mixed_torque, 0.1, x).tau)
    rates = np.array([x[1], a, x[3], theta_a])
    V = [evaluated(fj.control.laws.mixed_lyapunov, 0.1 + k * h, x + k * h * rates) for k in (-1, 0, 1)]
    return (V[2].lyapunov - V[0].lyapunov) / (2 * h), V[1].lyapunov_rate


def test_friction_that_depends_on_the_load():
    robot = arm(2, 30.0, 0.7)
    at_motor = fj.drives.Friction(0.3, 0.4, 0.2, load=0.1, load_scale=1.0)
    at_joint = fj.drives.Friction(0.2, 0.3, 0.5, load=0.1, load_scale=2.0, backward=fj.drives.Friction(0.4, 0.1))
    drives = [x.drive for x in robot.joints]
    motor = dataclasses.replace(drives[0].motor, viscous_friction=0.0, friction=at_motor)
    robot = robot.with_drives([dataclasses.replace(x, motor=motor) for x in drives])
    joints = [dataclasses.replace(x.joint, viscous_friction=0.0, friction=at_joint) for x in robot.links[:2]]
    links = [dataclasses.replace(x, joint=joint) for x, joint in zip(robot.links, joints)]
    robot = robot.replace(links=[*links, *robot.links[2:]])
    motion = fj.trajectory.Sinusoid([0.2] * 2, 1 / np.pi, phase=np.arange(2), duration=1.0)
    q, v, *_ = motion(0.1) + 0.02
    x, gains = np.array([q, v, q + 0.02, v + 0.05]), [np.full(2, y) for y in (30.0, 10.0, 60.0, 6.0)]
    found, expected = rate_of_lyapunov(robot, motion, gains, x, 1e-6)
    np.testing.assert_allclose(found, expected, rtol=2e-5)


LBR_GAINS = [
    [40.0, 10.0, 80.0, 8.0],
    [400.0, 40.0, 400.0, 40.0],
    [390.0, 56.0, 1400.0, 58.0],
    [100.0, 20.0, 1000.0, 20.0],
    [20.0, 20.0, 20.0, 20.0],
    [200.0, 20.0, 50.0, 5.0],
    [1000.0, 100.0, 1000.0, 100.0],
    [4000.0, 200.0, 4000.0, 200.0],
]


def refused(controller, reference, gains=None):
    try:
        controller.check_reference(reference, gains)
    except fj.InputError as error:
        assert "with neglected couplings the loop is unstable at rest" in str(error)
        return True
    return False


def slowest(robot, controller, q):
    """The largest real part of the eigenvalues of the loop at rest, from differences of kernels."""
    q, n, h = np.asarray(q), robot.n, 1e-6
    rest = fj.simulation.at_rest(robot, q)
    x = np.concatenate([rest.q, rest.theta, rest.v, rest.theta_v])
    moved = np.concatenate([x + h * np.eye(4 * n), x - h * np.eye(4 * n)])
    state = [moved[:, k * n : (k + 1) * n] for k in (0, 2, 1, 3)]
    reference = [np.broadcast_to(y, (8 * n, n)) for y in (q, *np.zeros((4, n)))]
    tau = controller((), reference, fj.JointState(*state))[1]
    rates = np.concatenate([state[1], state[3], *fj.forward_dynamics(robot, *state, tau)[:2]], axis=1)
    ahead, behind = np.split(rates, 2)
    return np.linalg.eigvals(((ahead - behind) / (2 * h)).T).real.max()


def test_neglected_couplings_are_checked():
    """The pose decides on the LBR: the eigenvalues say at which controllers are refused."""
    robot = fj.load("dlr_lbr2")
    for gains in LBR_GAINS[::4]:
        controller = fj.control.MixedInverseDynamics(robot, gains)
        for q in (0.0, 0.5):
            pose = np.full(7, q)
            unstable = slowest(robot, controller, pose) > 0.05
            assert refused(controller, [pose, *np.zeros((4, 7))]) == unstable == (q == 0.0)


def test_simulate_and_the_adaptive_controller_check():
    robot = fj.load("dlr_lbr2")
    message = r"unstable at rest at q = \[0, 0, 0, 0, 0, 0, 0\]: joint 'joint3' grows at .*; use FeedforwardPD"
    with pytest.raises(fj.InputError, match=message):
        fj.simulate(robot, fj.control.MixedInverseDynamics(robot, LBR_GAINS[0]), np.zeros(7), 0.1)
    adaptive = fj.control.AdaptiveMixedControl(robot, LBR_GAINS[0], 0.1, 1e-3)
    with pytest.raises(fj.InputError, match=message):
        adaptive.check_reference(np.zeros((5, 7)))


@pytest.mark.long
def test_poses_and_motions_of_the_lbr():
    """36 poses and 8 motions: a controller that is not refused is stable in simulation, in continuous time."""
    robot, rng = fj.load("dlr_lbr2"), np.random.default_rng(36)
    controller = fj.control.MixedInverseDynamics(robot, LBR_GAINS[0])
    gains = np.array([np.broadcast_to(np.array(x)[:, None], (4, 7)) for x in LBR_GAINS])
    poses = [np.zeros(7), np.full(7, 0.5), *rng.uniform(-1.5, 1.5, (34, 7))]
    motions = [fj.trajectory.RestToRest(*rng.uniform(-1.2, 1.2, (2, 7)), duration=0.5) for _ in range(8)]
    accepted = 0
    for reference in (*poses, *motions):
        at_rest = isinstance(reference, np.ndarray)
        stack = [reference, *np.zeros((4, 7))] if at_rest else reference(np.linspace(0.0, 0.5, 17), order=4)
        stable = [not refused(controller, stack, rows) for rows in gains]
        accepted += sum(stable)
        start = fj.simulation.at_rest(robot, np.atleast_2d(stack[0])[0])
        start = start if not at_rest else start._replace(q=start.q + 1e-3, theta=start.theta + 1e-3)
        options = {"hold": False, "start": start, "gains": gains[stable], "check": False}
        if any(stable):
            run = fj.simulate(robot, controller, reference, 0.1 if at_rest else 0.5, period=1e-5, **options)
            assert not np.any(run.diverged)
            assert np.abs(run.error).max() < (3e-3 if at_rest else 3e-2)
    assert 250 < accepted < 352
