"""Residuals against motions that SciPy integrates over Pinocchio's dynamics, with the filters beside them."""

import dataclasses
from functools import cache

import numpy as np
import pinocchio as pin
import pytest
from scipy.integrate import solve_ivp
from scipy.signal import lsim

import flexjoint as fj
from support.friction import law, with_friction
from support.parallel import sprung
from support.pinocchio_model import pinocchio_model, pinocchio_order

LINK, MOTOR = 30.0, 45.0  # cutoffs, rad/s
END = 0.16


def with_drives(robot, drives):
    """Drives in turn, and friction at the joints."""
    links = [
        dataclasses.replace(
            link, joint=dataclasses.replace(link.joint, drive=drives[k % len(drives)], viscous_friction=0.3 + 0.1 * k)
        )
        for k, link in enumerate(robot.links)
    ]
    return robot.replace(links=tuple(links))


SPRING = fj.ElasticDrive(400.0, fj.Motor(0.4, 0.5, 0.8, 0.1), damping=0.7)
HARD = fj.ElasticDrive(fj.springs.CubicSpring(300.0, 900.0), fj.Motor(0.6, 0.12))
TIED = fj.RigidDrive(fj.Motor(0.3, 0.4))
PAIR = fj.drives.AntagonisticDrive(
    fj.springs.CubicSpring(200.0, 700.0),
    fj.springs.CubicSpring(200.0, 700.0),
    fj.Motor(0.4, 0.5),
    fj.Motor(0.5, 0.1),
    0.2,
)
CHAIN = fj.random_robot(3, 4, prismatic=0.4)
ROBOTS = {
    "rigid chain": CHAIN,
    "rigid tree": fj.random_robot(5, 3, tree=True),
    "one joint": fj.random_robot(1, 2, prismatic=0.0),
    "elastic": with_drives(CHAIN, [SPRING, HARD]),
    "parallel springs": sprung(with_drives(CHAIN, [TIED, HARD])),
    "mixed": with_drives(fj.random_robot(4, 6, tree=True), [TIED, SPRING]),
    "variable stiffness": with_drives(CHAIN, [TIED, PAIR, SPRING]),
    "load-dependent friction": with_friction(with_drives(CHAIN, [TIED, PAIR, SPRING])),
}


def pulse(size, t, centre):
    """A disturbance that comes, changes and goes, smooth."""
    return np.exp(-(((t - centre) / 0.03) ** 2)) * (5.0 + np.arange(size)) * np.cos(7 * t)


def rubbing(item, v, load=0.0):
    if item.friction is not None:
        return law(item.friction, v, load, np)
    coulomb = item.coulomb_friction and item.coulomb_friction * np.tanh(v / item.coulomb_velocity)
    return item.viscous_friction * v + coulomb


def tension_of(spring, phi):
    return spring.stiffness * phi + (spring.cubic * phi**3 if isinstance(spring, fj.springs.CubicSpring) else 0.0)


def springs_of(robot):
    """[(joint, motor, spring, damping)] in the order of the motors; None where the motor turns with the link."""
    seen, found = set(), []
    for i in robot.motor_joints:
        drive, second = robot.joints[i].drive, i in seen
        seen.add(i)
        if isinstance(drive, fj.ElasticDrive):
            found.append((i, drive.motor, drive.spring, drive.damping))
        elif isinstance(drive, fj.drives.AntagonisticDrive):
            found.append((i, drive.motors[second], drive.springs[second], drive.damping))
        else:
            found.append(None)
    return found


class Motion:
    """Samples of a robot under held torques and disturbances of links and motors; and the outputs of filters."""

    def __init__(self, robot, h, fault=1.0):
        n, m = robot.n, robot.motor_count
        model, order = pinocchio_model(robot, motors=True), pinocchio_order(robot)
        data, springs = model.createData(), springs_of(robot)
        behind = [k for k, spring in enumerate(springs) if spring]

        def torque(t):
            return 3.0 * np.sin(5.0 * t + np.arange(m))

        def tensions(q, v, theta, theta_v):
            found = np.zeros(m)
            for k in behind:
                i, _, spring, damping = springs[k]
                found[k] = tension_of(spring, theta[k] - q[i]) + damping * (theta_v[k] - v[i])
            return found

        def slope(t, y, tau):
            q, v, theta, theta_v, link, motor = np.split(y, edges)
            tension, on_links, on_motors = tensions(q, v, theta, theta_v), pulse(n, t, 0.08), fault * pulse(m, t, 0.12)
            driving, theta_a, filled = np.zeros(n), np.zeros(m), np.zeros(m)
            for k, i in enumerate(robot.motor_joints):
                driving[i] += tension[k] if k in behind else tau[k]
            for i, joint in enumerate(robot.joints):
                driving[i] -= rubbing(joint, v[i], driving[i])
                if joint.parallel_spring:
                    driving[i] += tension_of(joint.parallel_spring.spring, joint.parallel_spring.rest - q[i])
                if isinstance(joint.drive, fj.RigidDrive):
                    driving[i] -= rubbing(joint.drive.motor, v[i])
            for k in behind:
                body = springs[k][1]
                theta_a[k] = (tau[k] + on_motors[k] - tension[k] - rubbing(body, theta_v[k], tension[k])) / body.inertia
                filled[k] = MOTOR * (on_motors[k] - motor[k])
            a = np.empty(n)
            a[order] = pin.aba(model, data, q[order], v[order], (driving + on_links)[order])
            return np.concatenate([v, a, theta_v, theta_a, LINK * (on_links - link), filled])

        edges = np.cumsum([n, n, m, m, n])
        self.t = h * np.arange(round(END / h) + 1)
        y = np.zeros(3 * n + 3 * m)
        y[: 2 * n] = np.concatenate([0.3 + 0.1 * np.arange(n), 0.5 - 0.2 * np.arange(n)])  # it moves from the start
        y[2 * n : 2 * n + m] = y[list(robot.motor_joints)] + 0.05
        ys = [y]
        for begin in self.t[:-1]:
            held = (torque(begin),)
            step = solve_ivp(slope, (begin, begin + h), ys[-1], "DOP853", args=held, rtol=1e-11, atol=1e-11)
            ys.append(step.y[:, -1])
        *motion, self.link, self.motor = np.split(np.array(ys), edges, axis=1)
        for k in set(range(n)) - set(behind):
            motion[2][:, k], motion[3][:, k] = motion[0][:, k], motion[1][:, k]
        tension = np.array([tensions(*x) for x in zip(*motion)])
        tau_e = np.zeros_like(motion[0])
        np.add.at(tau_e, (slice(None), list(robot.motor_joints)), tension)
        self.measurement, self.tau = fj.observers.Measurement(*motion, tau_e), np.array([torque(x) for x in self.t])


@cache
def motion_of(name, h):
    return Motion(ROBOTS[name], h)


@pytest.mark.parametrize("name", ROBOTS)
def test_residuals_filter_their_disturbances(name):
    """r' = −K r + K u  [DeLuca sec. II-A], of second order in the time between samples."""
    robot = ROBOTS[name]
    if any(robot.compliant):
        residual, channels = fj.observers.JointTorqueResidual(robot, LINK, MOTOR), ("link", "motor")
    else:
        residual, channels = fj.observers.MomentumResidual(robot, LINK), ("residual",)
    errors = []
    for h in (0.002, 0.001):
        motion = motion_of(name, h)
        found = residual.run(motion.t, motion.measurement, motion.tau)
        assert np.all(
            found["status"] == [[fj.observers.Status.FIRST]] + [[fj.observers.Status.GOOD]] * (len(motion.t) - 1)
        )
        wanted = dict(zip(channels, (motion.link, motion.motor)))
        errors.append([np.linalg.norm((found[x] - wanted[x])[:: round(0.002 / h)]) for x in channels])
    assert np.all(np.log2(np.divide(*errors)) > 1.95)
    assert all(np.max(np.abs(found[x] - wanted[x])) < 2e-3 * np.max(np.abs(wanted[x])) for x in channels)


STIFF = fj.ElasticDrive(400.0, fj.Motor(0.4, 0.5))
PENDULUM = fj.Link("link", fj.Joint("joint", drive=STIFF), mass=2.0, com=np.zeros(3), inertia=0.5 * np.eye(3))
LOADED = fj.drives.Friction(0.3, 0.4, 0.5, load=0.2, load_scale=1.0, backward=fj.drives.Friction(0.5, load=0.3))
RUBBING = dataclasses.replace(PENDULUM, joint=dataclasses.replace(PENDULUM.joint, friction=LOADED))
MOTORS_ALONE = {
    "constant inertia": fj.Robot("flywheel", (PENDULUM,)),
    "loaded bearing": fj.Robot("flywheel", (RUBBING,)),
    "parallel spring": sprung(fj.Robot("flywheel", (PENDULUM,))),
    "mixed": with_drives(CHAIN, [HARD, STIFF, TIED]),
    "variable stiffness": with_drives(CHAIN, [TIED, dataclasses.replace(PAIR, damping=0.0), HARD]),
}
SPRING_CUTOFF = 300.0


def twice_filtered(motion, n, begin):
    """u through both filters half a period late, the second one at 0 until sample `begin`."""
    h = motion.t[1]
    fine = np.linspace(0.0, motion.t[-1], 8 * len(motion.t) - 7)
    u = np.array([pulse(n, t, 0.08) for t in fine])
    once = np.stack([lsim(([SPRING_CUTOFF], [1.0, SPRING_CUTOFF]), x, fine)[1] for x in u.T], axis=-1)
    late = fine >= motion.t[begin] - h / 2
    once[~late] = 0.0
    twice = np.stack([lsim(([LINK], [1.0, LINK]), x, fine)[1] for x in once.T], axis=-1)
    return twice[np.searchsorted(fine, motion.t - h / 2)]


@pytest.mark.parametrize("name", MOTORS_ALONE)
def test_motors_alone_tell_collisions_by_a_filter_of_second_order(name):
    robot = MOTORS_ALONE[name]
    residual = fj.observers.MotorEncoderResidual(robot, LINK, SPRING_CUTOFF)
    assert residual.transfer_function().order == 2
    errors = []
    for h in (0.002, 0.001) if name == "constant inertia" else (0.001,):
        motion = Motion(robot, h, fault=0.0)
        blank = fj.observers.Measurement(None, None, *motion.measurement[2:4], None)
        found = residual.run(motion.t, blank, motion.tau)
        begin = int(np.flatnonzero(found["status"] == fj.observers.Status.GOOD)[0]) - 1
        told = [fj.observers.Status.FIRST] + [fj.observers.Status.SETTLING] * (begin - 1) + [fj.observers.Status.FIRST]
        assert found["status"][: begin + 1, 0].tolist() == told
        assert found["blind"][begin, 0] == pytest.approx(motion.t[begin] + 0.001, abs=1e-9)
        assert np.all(found["status"][begin + 1 :] == fj.observers.Status.GOOD)
        wanted = twice_filtered(motion, robot.n, begin)
        errors.append(np.max(np.abs(found["link"] - wanted)))
        assert errors[-1] < 0.02 * np.max(np.abs(wanted))
    if len(errors) > 1:
        assert np.log2(errors[0] / errors[1]) > 1.8


@pytest.mark.parametrize(
    "name", ["rigid chain", "parallel springs", "mixed", "variable stiffness", "load-dependent friction"]
)
def test_the_energy_residual_filters_the_power_of_collisions(name):
    """... and of nothing else: faults of motors behind springs do not show."""
    robot, errors = ROBOTS[name], []
    residual = fj.observers.EnergyResidual(robot, LINK)
    for h in (0.002, 0.001):
        motion = motion_of(name, h)
        power = np.sum(motion.measurement.v * [pulse(robot.n, t, 0.08) for t in motion.t], axis=1)
        wanted = lsim(([LINK], [1.0, LINK]), power, motion.t)[1]
        found = residual.run(motion.t, motion.measurement, motion.tau)["power"][:, 0]
        errors.append(np.linalg.norm((found - wanted)[:: round(0.002 / h)]))
    assert np.log2(errors[0] / errors[1]) > 1.9
    assert np.max(np.abs(found - wanted)) < 0.01 * np.max(np.abs(wanted))


@pytest.mark.parametrize("name", ["mixed", "variable stiffness"])
def test_the_friction_observer_follows_friction(name):
    """Of motors behind springs, whatever the collisions, less their faults; at rigid joints, less what hits them."""
    robot = ROBOTS[name]
    motion = motion_of(name, 0.001)
    found = fj.observers.FrictionObserver(robot, MOTOR).run(motion.t, motion.measurement, motion.tau)["friction"]
    for k, (i, spring) in enumerate(zip(robot.motor_joints, springs_of(robot))):
        joint, v, theta_v = robot.joints[i], motion.measurement.v[:, i], motion.measurement.theta_v[:, k]
        if spring:
            lost = rubbing(spring[1], theta_v) - [pulse(robot.motor_count, t, 0.12)[k] for t in motion.t]
        else:
            lost = rubbing(joint, v) + rubbing(joint.drive.motor, v) - [pulse(robot.n, t, 0.08)[i] for t in motion.t]
        wanted = lsim(([MOTOR], [1.0, MOTOR]), lost, motion.t)[1]
        assert np.max(np.abs(found[:, k] - wanted)) < 0.01 * np.max(np.abs(wanted))
