"""Plants with complete rotors and with joints of variable stiffness, against SciPy on the public dynamics."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import flexjoint as fj
from flexjoint.compiler.ir.scan import tracing
from flexjoint.simulation.implicit_step import stiff_solver
from flexjoint.simulation.plant import Plant
from flexjoint.spatial import ca, sx
from support.marks import some_long
from support.mimics import with_followers
from support.rotors import with_random_rotors

MOTORS = [fj.Motor(0.5, 0.3), fj.Motor(0.8, 0.2, 0.4, 0.5)]
PAIR = fj.drives.AntagonisticDrive(
    fj.springs.CubicSpring(300.0, 900.0), fj.springs.CubicSpring(200.0, 1500.0), *MOTORS, damping=0.5
)
LINKS = fj.random_robot(3, 21, prismatic=0.3, friction=True)
TREE = fj.random_robot(4, 22, tree=True, fixed=0.4, prismatic=0.25)
PLANTS = {
    "variable stiffness": LINKS.with_drives([PAIR, fj.RigidDrive(MOTORS[0]), fj.ElasticDrive(250.0, MOTORS[1])]),
    "rotors anywhere in a tree": with_random_rotors(TREE, 3, elastic=0.7, carriers="any"),
    "followers": with_followers(TREE, 4, motors=True).with_drives([fj.ElasticDrive(250.0, MOTORS[1]), None]),
}
VARIABLE, COMPLETE, _ = PLANTS.values()
ORDERS = {"runge_kutta": 4, "midpoint": 2}


def thrown(robot, seed=0):
    """A state far from equilibrium, motors of rigid joints at their links."""
    rng, joints = np.random.default_rng(seed), list(robot.motor_joints)
    q, v = rng.uniform(-1.0, 1.0, (2, robot.n))
    bent, rate = np.where(np.array(robot.compliant)[joints], rng.uniform(-0.1, 0.1, (2, len(joints))), 0.0)
    return fj.JointState(q, v, q[joints] + bent, v[joints] + 5 * rate)


def exact(robot, start, tau, duration):
    """The final (q, θ) by SciPy."""
    cuts = np.cumsum([len(x) for x in start])[:-1]

    def flow(_, x):
        q, v, theta, theta_v = np.split(x, cuts)
        a, theta_a = fj.forward_dynamics(robot, q, v, theta, theta_v, tau)
        return np.concatenate([v, a, theta_v, theta_a])

    found = solve_ivp(flow, (0.0, duration), np.concatenate(start), "DOP853", rtol=1e-13, atol=1e-13)
    q, _, theta, _ = np.split(found.y[:, -1], cuts)
    return np.concatenate([q, theta])


@pytest.mark.parametrize("robot", some_long(PLANTS, "rotors anywhere in a tree"))
@pytest.mark.parametrize("integrator", some_long([*ORDERS], "midpoint"))
def test_order_of_convergence(robot, integrator):
    start, tau = thrown(robot), np.linspace(-0.5, 0.5, robot.motor_count)
    wanted, errors = exact(robot, start, tau, 0.1), []
    for substeps in (20, 40):
        options = {"period": 0.02, "start": start, "integrator": integrator, "substeps": substeps, "check": False}
        run = fj.simulate(robot, fj.control.OpenLoop(robot), tau, 0.1, **options)
        errors.append(np.linalg.norm(np.concatenate([run.q[-1], run.theta[-1]]) - wanted))
    assert abs(np.log2(errors[0] / errors[1]) - ORDERS[integrator]) < 0.15
    assert errors[0] < 1e-3


@pytest.mark.parametrize("robot", PLANTS.values(), ids=PLANTS.keys())
def test_adaptive_steps(robot):
    start, tau = thrown(robot), np.linspace(-0.5, 0.5, robot.motor_count)
    run = fj.simulation.reference_solution(robot, fj.control.OpenLoop(robot), tau, 0.05, period=0.01, start=start)
    assert np.max(np.abs(np.append(run.q[-1], run.theta[-1]) - exact(robot, start, tau, 0.05))) < 1e-10


@pytest.mark.parametrize("robot", PLANTS.values(), ids=PLANTS.keys())
def test_equations_of_an_implicit_step(robot):
    """The elimination of motors against the whole matrix at rest, where velocities enter f by damping alone and links
    through M and as the other end of the springs."""
    plant, h = Plant(robot.with_gravity([0.0, 0.0, 0.0])), 0.02
    state = thrown(robot)
    x, w = (ca.SX.sym(name, robot.n + len(plant.behind)) for name in "xw")
    r = np.linspace(-1.0, 1.0, x.numel())
    with tracing(loops=False):
        f = plant.acceleration(0.0, plant.state(x, w), ca.SX.zeros(robot.motor_count))
        solver = stiff_solver(plant, plant.state(x, w), h)(sx(r))
    place = np.concatenate([state.q, state.theta[plant.behind], np.zeros(x.numel())])
    values = [solver, ca.jacobian(f, x), ca.jacobian(f, w)]
    found, A, D = map(np.array, ca.Function("f", [ca.vertcat(x, w)], values)(place))
    A[:, : robot.n] = 0.0
    for p, k in enumerate(plant.behind, robot.n):
        A[:, robot.motor_joints[k]] -= A[:, p]
    wanted = np.linalg.solve(np.eye(len(r)) - h / 2 * D - h * h / 4 * A, r)
    assert np.max(np.abs(A)) * h * h > 0.1
    assert np.allclose(found[:, 0], wanted, rtol=0, atol=1e-11)


def test_rest_is_an_equilibrium():
    q = np.array([0.3, -0.2, 0.5])
    state = fj.simulation.at_rest(VARIABLE, q, 900.0)
    phi = state.theta - q[list(VARIABLE.motor_joints)]
    torques = np.append(fj.gravity_torque(VARIABLE, q), 0.0)
    torques[[0, 3]] = [PAIR.springs[k].torque(phi[3 * k]) for k in (0, 1)]
    assert np.max(np.abs(np.concatenate(fj.forward_dynamics(VARIABLE, *state, torques)))) < 1e-10
    assert 300 + 3 * 900 * phi[0] ** 2 + 200 + 3 * 1500 * phi[3] ** 2 == pytest.approx(900.0, rel=1e-12)
    run = fj.simulate(VARIABLE, fj.control.OpenLoop(VARIABLE), torques, 0.1, start=state, check=False)
    assert np.max(np.abs(run.q - q)) < 1e-10


class Drawn(fj.control.Controller):
    """PD control of links and stiffness in the simplest way: a law whose reference is wider than the robot."""

    robot, gains, order = VARIABLE, np.empty((0, 3)), 0
    width = 4

    def law(self, gains, state, reference, measurement):
        goal = reference[0]
        q, v = measurement.q, measurement.v
        pull = 100 * (goal[:3] - q) - 20 * v
        apart = 0.1 * (goal[3] - 500) * ca.vertcat(1, -1) - 5 * measurement.theta_v[[0, 3]]
        return state, ca.vertcat(pull[0] / 2 + apart[0], pull[1:], pull[0] / 2 + apart[1])


DRAWN = Drawn()


def test_a_reference_of_motion_and_stiffness():
    """The run begins at rest with the stiffness asked for; batches and resumed runs have the same bits."""
    goal = np.array([0.1, 0.05, -0.1, 800.0])
    run = fj.simulate(VARIABLE, DRAWN, goal, 0.1)
    assert np.array_equal(run.theta[0], fj.simulation.at_rest(VARIABLE, goal[:3], 800.0).theta)
    assert (run.q.shape, run.theta.shape, run.tau.shape, run.reference.shape) == ((101, 3), *[(101, 4)] * 3)
    starts = fj.JointState(*(np.stack([x[0], x[50], x[20]]) for x in run.states))
    batch = fj.simulate(VARIABLE, DRAWN, goal, 0.1, start=starts, check=False)
    first = fj.simulate(VARIABLE, DRAWN, goal, 0.05, check=False)
    rest = fj.simulate(VARIABLE, DRAWN, goal, 0.05, start=first, check=False)
    for name in ("q", "v", "theta", "theta_v", "tau"):
        assert np.array_equal(getattr(batch, name)[0], getattr(run, name))
        assert np.array_equal(getattr(rest, name), getattr(run, name)[50:])


def test_names_of_motors(tmp_path):
    start = fj.simulation.at_rest(VARIABLE, np.zeros(3), 900.0)
    run = fj.simulate(VARIABLE, fj.control.OpenLoop(VARIABLE), np.zeros(4), 0.01, start=start)
    fj.results.write_results(run, tmp_path / "run.csv")
    header = (tmp_path / "run.csv").read_text().splitlines()[0].split(",")
    assert len(header) == 1 + 2 * 3 + 3 * 4 + 4
    assert header[10] == "theta.link1_joint.second [rad]"


def test_sensors_and_actuators_of_more_motors_than_joints():
    sensors = fj.simulation.Sensors(
        link_resolution=1e-4, motor_noise=[1e-4, 0.0, 1e-4], velocity_noise=[1e-3, 0.0, 0.0]
    )
    start = fj.simulation.at_rest(VARIABLE, np.zeros(3), 900.0)
    batch = start._replace(q=np.zeros((2, 3)))
    actuators = fj.simulation.Actuators([5.0, 6.0, 7.0, 8.0], delay=1)
    options = {"start": batch, "sensors": sensors, "actuators": actuators, "check": False}
    run = fj.simulate(VARIABLE, DRAWN, [0.1, 0.05, -0.1, 800.0], 0.05, **options)
    assert run.more["measured.theta"].shape == (2, 51, 4)
    noise = np.std(run.more["measured.theta"] - run.theta, axis=1)
    assert np.all((noise > 5e-5) == [True, False, True, True])
    assert np.array_equal(np.max(np.abs(run.tau), axis=(0, 1)) <= [5.0, 6.0, 7.0, 8.0], [True] * 4)


def test_a_motor_that_flies_off_is_named_by_its_joint():
    start = fj.simulation.at_rest(VARIABLE, np.zeros(3), 900.0)
    with pytest.warns(UserWarning, match="joint 'link1_joint' left all bounds"):
        run = fj.simulate(VARIABLE, fj.control.OpenLoop(VARIABLE), [0.0, 0.0, 0.0, 1e9], 1.0, start=start, check=False)
    assert run.diverged


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((VARIABLE, fj.control.OpenLoop(VARIABLE), np.zeros(4)), "'link1_joint' has two motors.*give a start"),
        ((VARIABLE, fj.control.OpenLoop(VARIABLE), np.zeros(3)), r"reference has shape \(3,\).*a goal \(4,\)"),
        (
            (VARIABLE, fj.control.MotorPD(VARIABLE.rigid(), [1.0, 1.0]), np.zeros(3)),
            "3 joints and 3 motors, the robot 3 and 4",
        ),
        ((VARIABLE, DRAWN, [0.0, 0.0, 0.0, 100.0]), "cannot have the stiffness 100"),
    ],
)
def test_what_is_refused(arguments, message):
    with pytest.raises(fj.InputError, match=message):
        fj.simulate(*arguments, 0.01)


@pytest.mark.parametrize("stiffness", ["soft", [1.0, 2.0], -5.0, np.nan])
def test_stiffness_at_rest(stiffness):
    with pytest.raises(fj.InputError, match="at_rest: stiffness is"):
        fj.simulation.at_rest(VARIABLE, np.zeros(3), stiffness)


def test_too_long_a_step_with_rotors():
    with pytest.raises(fj.InputError, match=r"unstable at rest.* a period of at most"):
        fj.simulate(COMPLETE, fj.control.OpenLoop(COMPLETE), np.zeros(4), 1.0, period=0.2)


def test_motors_that_feel_each_other():
    """A lever."""
    lever = fj.drives.LeverDrive(3e4, 0.1, 0.02, 0.3, *MOTORS)
    robot = fj.random_robot(1, 4, prismatic=0.0).with_drives([lever])
    start = fj.JointState([0.1], [0.0], [0.12, 0.01], [0.0, 0.0])
    goal = exact(robot, start, np.array([0.5, 0.01]), 0.05)
    run = fj.simulate(robot, fj.control.OpenLoop(robot), [0.5, 0.01], 0.05, start=start)
    assert np.max(np.abs(np.append(run.q[-1], run.theta[-1]) - goal)) < 1e-8
    errors = []
    for period in (2e-3, 1e-3):
        run = fj.simulate(
            robot, fj.control.OpenLoop(robot), [0.5, 0.01], 0.05, start=start, period=period, integrator="midpoint"
        )
        errors.append(np.max(np.abs(np.append(run.q[-1], run.theta[-1]) - goal)))
    assert 3.5 < errors[0] / errors[1] < 4.5
