"""Elastic robots in MuJoCo, whose dry friction is a constraint and none of our laws."""

from __future__ import annotations

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

    def advance(self, tau, period):
        """Hold a torque for a period."""
        self.data.ctrl[:] = tau
        mujoco.mj_step(self.model, self.data, round(period / self.model.opt.timestep))
