"""Motor torques along smooth motions by Pinocchio and Chebyshev interpolation: no code of flexjoint computes them.

Link torques at Chebyshev points come from `pin.rnea`; their time derivatives, which springs need, from the derivative
of the polynomial through them.
"""

import numpy as np
import pinocchio as pin

from support.pinocchio_model import pinocchio_model


def chebyshev(count):
    """Points x in [−1, 1], (count,), and the matrix from values there to derivatives there  [Trefethen ch. 6]."""
    k = np.arange(count)
    x = -np.cos(np.pi * k / (count - 1))
    c = np.where((k == 0) | (k == count - 1), 2.0, 1.0) * (-1.0) ** k
    dx = x[:, None] - x
    D = np.outer(c, 1 / c) / (dx + np.eye(count))
    return x, D - np.diag(D.sum(axis=1))


def resampling(x, fine):
    """The matrix from values at Chebyshev points x to values at other points, by the barycentric formula."""
    w = (-1.0) ** np.arange(len(x))
    w[[0, -1]] *= 0.5
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = w / (fine[:, None] - x)
        matrix = terms / terms.sum(axis=1, keepdims=True)
    rows, columns = np.nonzero(fine[:, None] == x)
    matrix[rows] = 0.0
    matrix[rows, columns] = 1.0
    return matrix


class SampledMotion:
    """A smooth motion of a chain whose drives are rigid, or have linear springs, with viscous friction.

    Args:
        robot: one motor per joint.
        motion: with derivatives of all orders between its ends.
        count: of Chebyshev points.
    """

    def __init__(self, robot, motion, count=120):
        self.robot, self.motion = robot, motion
        self.model = pinocchio_model(robot)
        self.data = self.model.createData()
        x, D = chebyshev(count)
        t = motion.duration * (x + 1) / 2
        self.x, self.D = x, D * 2 / motion.duration
        self.q, self.v, self.a = motion(t, order=2)
        drives = [joint.drive for joint in robot.joints]
        self.link_viscous = np.array([joint.viscous_friction for joint in robot.joints])
        self.rotor = np.array([drive.motor.inertia for drive in drives])
        self.viscous = np.array([drive.motor.viscous_friction for drive in drives])
        self.compliance = np.array([0.0 if not hasattr(d, "spring") else 1 / d.spring.stiffness for d in drives])

    def quantities(self, s, matrix=None):
        """The limited quantities of the motion s times as fast, at its Chebyshev points or resampled by a matrix."""
        v, a = s * self.v, s**2 * self.a
        link = np.array([pin.rnea(self.model, self.data, *x) for x in zip(self.q, v, a)]) + self.link_viscous * v
        rate = s * (self.D @ link)
        theta_v = v + self.compliance * rate
        theta_a = a + self.compliance * s * (self.D @ rate)
        tau = self.rotor * theta_a + self.viscous * theta_v + link
        found = {"velocity": v, "acceleration": a, "torque": tau, "motor speed": theta_v, "spring torque": link}
        return found if matrix is None else {name: matrix @ x for name, x in found.items()}

    def worst(self, limits, s, matrix):
        """Largest share of limits {quantity: (n,)} at speed s; the matrix must resample evenly."""
        found = self.quantities(s, matrix)
        return max(np.max(peaks(np.abs(found[name])) / bound) for name, bound in limits.items())


def peaks(x):
    """Largest value of each column of even samples, (n,), by the parabola through it and its neighbours."""
    k, columns = np.clip(x.argmax(axis=0), 1, len(x) - 2), np.arange(x.shape[1])
    before, at, behind = (x[k + i, columns] for i in (-1, 0, 1))
    bend = before - 2 * at + behind
    inside = (bend < 0) & (np.abs(before - behind) <= -2 * bend)
    top = at - (behind - before) ** 2 / np.where(inside, 8 * bend, 1.0)
    return np.maximum(x.max(axis=0), np.where(inside, top, -np.inf))
