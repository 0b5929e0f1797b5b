"""Logs of elastic robots in MuJoCo: a controller in the loop, encoders, current noise, delays, slower loggers."""

from __future__ import annotations

from typing import NamedTuple

import mujoco
import numpy as np

import flexjoint as fj

STEP = 2 * np.pi / 2**19  # rad, of the encoders


class Run(NamedTuple):
    """What happened, at the period of the controller, and the log of it.

    Args:
        t: Times, s, (m,).
        q, theta: True positions of links and motors, (m, n).
        tau: Torque of the motors from each time to the next, (m, n).
        log: What the instruments recorded.
    """

    t: np.ndarray
    q: np.ndarray
    theta: np.ndarray
    tau: np.ndarray
    log: fj.logs.Log


def bench_xml(K=300.0, D=0.5, B=0.12, viscous=0.8, coulomb=1.2, timestep=1e-4):
    """The bench of `identification.py` written by hand: a hinge of the motor, and the spring as a second hinge."""
    return f"""<mujoco><option timestep="{timestep}" integrator="implicitfast" gravity="0 0 -9.81"/>
    <worldbody><body name="rotor"><inertial mass="1e-9" pos="0 0 0" diaginertia="1e-12 1e-12 1e-12"/>
      <joint name="motor" axis="0 -1 0" armature="{B}" damping="{viscous}" frictionloss="{coulomb}"/>
      <body name="arm"><inertial mass="2" pos="0.25 0 0.02" diaginertia="0.02 0.02 0.02"/>
        <joint name="spring" axis="0 -1 0" stiffness="{K}" damping="{D}"/></body></body></worldbody>
    <actuator><motor joint="motor"/></actuator></mujoco>"""


class Plant:
    """A model of MuJoCo whose state gives q and θ.

    Args:
        model: The model.
        q, theta: Matrices of the link and motor positions, (n, number of coordinates).
    """

    def __init__(self, model, q, theta):
        self.model, self.data, self.q, self.theta = model, mujoco.MjData(model), q, theta

    @classmethod
    def of_bench(cls, **numbers):
        """The hand-written bench: q is the sum of both hinges."""
        model = mujoco.MjModel.from_xml_string(bench_xml(**numbers))
        return cls(model, np.array([[1.0, 1.0]]), np.array([[1.0, 0.0]]))

    @classmethod
    def of_robot(cls, robot, path, timestep=2e-4, coulomb="frictionloss"):
        """A robot by `write_mjcf`; its Coulomb friction is MuJoCo's, dry."""
        written = fj.formats.write_mjcf(robot, path, timestep=timestep, limits=False, coulomb=coulomb)
        model = mujoco.MjModel.from_xml_path(str(path))
        unit = np.eye(model.nq)
        states = [written.from_mujoco(x, np.zeros(model.nv)) for x in unit]
        return cls(model, np.array([x.q for x in states]).T, np.array([x.theta for x in states]).T)

    def place(self, q, theta):
        """Start there, at rest."""
        both = np.concatenate([self.q, self.theta])
        self.data.qpos[:] = np.linalg.lstsq(both, np.concatenate([q, theta]), rcond=None)[0]
        mujoco.mj_forward(self.model, self.data)


def mujoco_run(
    plant,
    robot,
    motion,
    gains,
    *,
    rate=1000.0,
    every=1,
    lag=1,
    seed=0,
    step=STEP,
    torque_noise=0.05,
    late=0,
    reference=False,
    start=None,
    sensors=0.0,
):
    """Follow a motion by PD of the motors with gravity compensation, and log it.

    Args:
        plant: The plant.
        robot: The robot that the controller knows and the log is of.
        motion: Trajectory of the links.
        gains: Proportional and derivative, (2, n).
        rate: Of the controller, Hz.
        every: The logger takes every so many samples.
        lag: Samples by which the controller sees positions late.
        seed: Of the noise.
        step: Of the encoders, rad.
        torque_noise: Of the logged torque, Nm.
        late: Samples of the controller by which logged positions are late against the torque.
        reference: Whether the reference is logged.
        start: First position; by default that of the motion.
        sensors: Noise of joint torque sensors, Nm; 0 without them.
    """
    rng = np.random.default_rng(seed)
    steps = round(1 / (rate * plant.model.opt.timestep))
    count = int(motion.duration * rate) + 1
    t = np.arange(count) / rate
    wanted, wanted_v = (x for x in motion.derivatives(t, 1))
    gravity = np.asarray(fj.gravity_torque(robot, wanted))
    K = np.array([x.drive.stiffness for x in robot.joints])
    plant.place(wanted[0], wanted[0] + gravity[0] / K)
    q, theta, tau = (np.empty((count, robot.n)) for _ in range(3))
    seen = np.empty((count, robot.n))
    noise = rng.normal(size=(2, count, robot.n))
    for k in range(count):
        q[k], theta[k] = plant.q @ plant.data.qpos, plant.theta @ plant.data.qpos
        seen[k] = step * np.round(theta[k] / step + 0.3 * noise[0, k])
        now, before = seen[max(k - lag, 0)], seen[max(k - lag - 1, 0)]
        aim = wanted[k] + gravity[k] / K
        tau[k] = gains[0] * (aim - now) + gains[1] * (wanted_v[k] - (now - before) * rate) + gravity[k]
        plant.data.ctrl[:] = tau[k]
        mujoco.mj_step(plant.model, plant.data, steps)
    encoded = step * np.round(q / step + 0.3 * rng.normal(size=q.shape))
    shift = slice(0, count - late), slice(late, count)
    columns = {"q": encoded[shift[0]], "theta": seen[shift[0]]}
    columns["tau"] = (tau + torque_noise * noise[1])[shift[1]]
    if reference:
        columns["reference"] = wanted[shift[1]]
    if sensors:
        columns["tau_e"] = (K * (theta - q) + sensors * rng.normal(size=q.shape))[shift[0]]
    kept = slice(None, None, every)
    log = fj.logs.Log(robot, t[shift[1]][kept], **{name: x[kept] for name, x in columns.items()})
    return Run(t, q, theta, tau, log)
