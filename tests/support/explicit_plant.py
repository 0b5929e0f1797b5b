"""Accelerations of links and motors of the complete model by automatic differentiation: no recursion of ours."""

import casadi as ca
import numpy as np

from support.lagrange import smooth_friction, transmitted
from support.rotors import explicit


class Plant:
    """(q, v, θ, θ', τ) -> (q'', θ'') by Lagrange's equations of links and rotors, under constant wrenches {link: w}."""

    def __init__(self, robot, wrenches=None):
        made, project = explicit(robot)
        behind = [robot.n + i for i in np.flatnonzero(robot.compliant)]
        self.robot, self.kept = robot, [*range(robot.n), *behind]
        P = ca.DM(project[:, self.kept])
        y, dy, ddy = (ca.SX.sym(name, len(self.kept)) for name in ("y", "dy", "ddy"))
        x = [ca.SX.sym(name, made.n) for name in ("x", "dx", "ddx")]
        forces_on_bodies = ca.Function("E", x, [transmitted(made, *x, wrenches)])
        inertial = P.T @ forces_on_bodies(P @ y, P @ dy, P @ ddy)
        tau, forces = ca.SX.sym("tau", robot.n), ca.SX.zeros(len(self.kept), 1)
        for i, joint in enumerate(robot.joints):
            if robot.compliant[i]:
                k = self.kept.index(robot.n + i)
                pull = joint.drive.spring.torque(y[k] - y[i]) + joint.drive.damping * (dy[k] - dy[i])
                forces[i] += pull
                forces[k] += tau[i] - pull - smooth_friction(joint.drive.motor, dy[k])
            else:
                forces[i] += tau[i] - smooth_friction(joint.drive.motor, dy[i])
        M, rest = ca.jacobian(inertial, ddy), ca.substitute(inertial, ddy, 0 * ddy)
        self.terms = ca.Function("terms", [y, dy, tau], [M, forces - rest])

    def __call__(self, q, v, theta, theta_v, tau):
        n = self.robot.n
        M, b = self.terms(np.concatenate([q, theta])[self.kept], np.concatenate([v, theta_v])[self.kept], tau)
        found = np.linalg.solve(np.array(M), np.array(b)[:, 0])
        theta_a = found[:n].copy()
        theta_a[list(np.flatnonzero(self.robot.compliant))] = found[n:]
        return found[:n], theta_a
