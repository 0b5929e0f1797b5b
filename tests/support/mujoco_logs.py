"""Elastic robots in MuJoCo, whose dry friction is a constraint and none of our laws."""

from __future__ import annotations

from typing import NamedTuple

import mujoco
import numpy as np

import flexjoint as fj


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

    def positions(self):
        """Link and motor positions."""
        return self.q @ self.data.qpos, self.theta @ self.data.qpos

    def inertias(self):
        """Diagonal of the mass matrix in the coordinates of MuJoCo."""
        mujoco.mj_forward(self.model, self.data)
        found = np.zeros((self.model.nv, self.model.nv))
        for row, unit in zip(found, np.eye(self.model.nv)):
            mujoco.mj_mulM(self.model, self.data, row, unit)
        return np.diag(found)

    def advance(self, tau, period):
        """Hold a torque for a period."""
        self.data.ctrl[:] = tau
        mujoco.mj_step(self.model, self.data, round(period / self.model.opt.timestep))


# Chains of series elastic actuators -----------------------------------------------------------------------------------

STEP = 2 * np.pi / 2**19  # rad, of the encoders
FLIPPED = ((1, 0, 0), (0, 0, -1), (0, 1, 0))  # turns the axis of a joint from vertical to horizontal
UPRIGHT = ((1, 0, 0), (0, 1, 0), (0, 0, 1))


class Elastic(NamedTuple):
    """A joint with a spring between its motor and its link, and the link.

    Args:
        K, D: Stiffness and damping of the spring, SI units.
        B, viscous, coulomb: Inertia and friction of the motor, after the reduction.
        mass, com, inertia: Of the link, the inertia about its centre of mass and equal in all directions.
        rotation, position: Of the link's frame in its parent; its z axis is the axis of the joint.
        slides: Whether the joint is prismatic.
    """

    K: float
    D: float
    B: float
    viscous: float
    coulomb: float
    mass: float
    com: tuple = (0.25, 0.02, 0.0)
    inertia: float = 0.02
    rotation: tuple = UPRIGHT
    position: tuple = (0.0, 0.0, 0.0)
    slides: bool = False


ROBOTS = {
    "finger": [Elastic(20.0, 0.02, 0.002, 0.03, 0.05, 0.3, (0.12, 0, 0), 4e-4)],
    "knee": [Elastic(212.0, 0.3, 0.12, 0.8, 0.6, 2.0, rotation=FLIPPED)],
    "hip": [Elastic(20000.0, 15.0, 1.5, 12.0, 6.0, 20.0, (0.4, 0, 0.05), 0.4, FLIPPED)],
    "slide": [Elastic(15000.0, 40.0, 6.0, 60.0, 5.0, 8.0, (0, 0, 0.1), slides=True)],
    "scara": [
        Elastic(900.0, 1.0, 0.5, 2.0, 1.0, 3.0, (0.2, 0, 0), 0.03),
        Elastic(300.0, 0.4, 0.2, 1.0, 0.5, 1.5, (0.15, 0.01, 0), 0.01, position=(0.4, 0, 0)),
    ],
    "arm": [
        Elastic(9000.0, 6.0, 1.2, 8.0, 4.0, 6.0, (0, 0.02, 0.1), 0.05),
        Elastic(6000.0, 4.0, 1.0, 6.0, 3.0, 5.0, (0.2, 0, 0.02), 0.04, FLIPPED, (0, 0, 0.3)),
        Elastic(2600.0, 1.5, 0.4, 3.0, 1.5, 2.5, (0.15, 0.01, 0), 0.015, position=(0.4, 0, 0)),
    ],
}  # fmt: skip


def chain_xml(joints, gravity=9.81, timestep=2e-4):
    """A chain of elastic joints: per joint a hinge (or slide) of the motor, and one with the spring."""
    text, actuators = "", ""
    for k, x in enumerate(joints):
        kind = f'type="{"slide" if x.slides else "hinge"}" axis="0 0 1"'
        axes = " ".join(str(row[c]) for c in (0, 1) for row in x.rotation)
        com, at = (" ".join(map(str, v)) for v in (x.com, x.position))
        text += f"""<body pos="{at}" xyaxes="{axes}">
            <inertial mass="1e-9" pos="0 0 0" diaginertia="1e-12 1e-12 1e-12"/>
            <joint name="motor{k}" {kind} armature="{x.B}" damping="{x.viscous}" frictionloss="{x.coulomb}"
             solreffriction="0.001 1"/>
            <body><inertial mass="{x.mass}" pos="{com}" diaginertia="{x.inertia} {x.inertia} {x.inertia}"/>
            <joint name="spring{k}" {kind} stiffness="{x.K}" damping="{x.D}"/>"""
        actuators += f'<motor joint="motor{k}"/>'
    return f"""<mujoco><option timestep="{timestep}" integrator="RK4" gravity="0 0 {-gravity}"/>
    <worldbody>{text}{"</body></body>" * len(joints)}</worldbody><actuator>{actuators}</actuator></mujoco>"""


def chain_robot(joints, gravity=9.81, K=1.0, B=1.0, links=1.0):
    """The same chain as a robot file has it, with factors of stiffness, motor inertia and links; without friction."""
    parts = []
    for k, x in enumerate(joints):
        drive = fj.ElasticDrive(K * x.K, fj.Motor(B * x.B, viscous_friction=0.5 * x.viscous))
        kind = "prismatic" if x.slides else "revolute"
        joint = fj.Joint(f"joint{k + 1}", kind, x.position, np.array(x.rotation, dtype=float), drive=drive)
        inertia = links * x.inertia * np.eye(3)
        parent = f"link{k}" if k else "base"
        parts.append(fj.Link(f"link{k + 1}", joint, parent, mass=links * x.mass, com=x.com, inertia=inertia))
    return fj.Robot("chain", tuple(parts), gravity=(0.0, 0.0, -gravity))


def elastic_truth(joint, scale=1.0):
    """True values of a joint of a chain by the ends of their names, with those of the torque sensor."""
    return {"stiffness": joint.K, "motor.inertia": joint.B, "sensor_scale": scale}


def reference(motion, count, size, rng):
    """Motor positions at 1 kHz, (count,): "steps", a "chirp" from 0.1 to 12 Hz, a "fourier" sum or a "sine"."""
    t = np.arange(count) / 1000
    if motion == "steps":
        levels = np.repeat(rng.uniform(-1, 1, count // 600 + 1), 600)[:count]
        return 0.7 * size * np.convolve(levels, np.ones(200) / 200)[:count]
    if motion == "chirp":
        growth = 120 ** (t / t[-1])
        return size * np.sin(2 * np.pi * 0.1 * t[-1] / np.log(120) * growth) / (1 + 0.1 * growth)
    if motion == "sine":
        return size * np.sin(3.0 * t)
    f = 0.1 * np.arange(1, 31)
    return size * np.sin(np.outer(t, 2 * np.pi * f) + rng.uniform(0, 2 * np.pi, 30)) @ (1 / (0.5 + f)) / np.sqrt(30)


def elastic_log(name, motion="fourier", *, duration=20.0, gravity=9.81, seed=0, scale=1.0, noise=0.003, timestep=2e-4):
    """A log at 1 kHz of one of ROBOTS under PD of its motors: q, theta, tau and tau_e, as its user reads it.

    Args:
        name: Of ROBOTS.
        motion: See `reference`.
        duration: s.
        gravity: Of the world and the robot, m/s².
        seed: Of motion and noise.
        scale: Of the torque sensors: τ_e = scale K (θ − q) + noise.
        noise: Of torque sensors and motor torques, relative to their standard deviation.
        timestep: Of MuJoCo, s.
    """
    joints, rng = ROBOTS[name], np.random.default_rng(seed)
    n, count = len(joints), int(1000 * duration)
    model = mujoco.MjModel.from_xml_string(chain_xml(joints, gravity, timestep))
    motors = np.repeat(np.eye(n), 2, axis=1) * np.tile([1.0, 0.0], n)
    plant = Plant(model, np.repeat(np.eye(n), 2, axis=1), motors)
    total = plant.inertias()[::2]
    step = STEP * np.where([x.slides for x in joints], 0.05, 1.0)  # of a slide 0.6 µm
    sizes = np.where([x.slides for x in joints], 0.15, 0.8)
    aims = np.stack([reference(motion, count, s, rng) for s in sizes], axis=1)
    q, theta, tau = (np.empty((count, n)) for _ in range(3))
    before, w = np.zeros(n), 2 * np.pi * 8
    for k in range(count):
        q[k], theta[k] = plant.positions()
        seen = step * np.round(theta[k] / step)
        slope = (aims[k] - aims[max(k - 1, 0)] - seen + before) * 1000
        tau[k], before = total * (w * w * (aims[k] - seen) + 1.4 * w * slope), seen
        plant.advance(tau[k], 1e-3)
    torque = np.array([x.K for x in joints]) * (theta - q)
    noisy = [x + noise * np.std(x, axis=0) * rng.normal(size=x.shape) for x in (tau, scale * torque)]
    columns = {"q": q, "theta": theta}
    columns = {key: step * np.round(x / step + 0.3 * rng.normal(size=x.shape)) for key, x in columns.items()}
    robot = chain_robot(joints, gravity, K=1.4, B=0.7, links=1.2)
    return fj.logs.Log(robot, np.arange(count) / 1000, **columns, tau=noisy[0], tau_e=noisy[1])
