"""Bodies that exist with the base parameters that were found: masses, centres of mass and inertias of all links.

A body exists if its pseudo-inertia P = [[Σ, h], [hᵀ, m]] is positive definite: positive mass, and an inertia that a
distribution of positive mass has.  With P_0 = L_0 L_0ᵀ of the robot file,

    P = L_0 X Xᵀ L_0ᵀ,     X lower triangular, exp(x_k) on its diagonal, x_k below

is positive definite for every x (log-Cholesky parametrisation [Rucker and Wensing, 2022]); x = 0 is the prior body, and
x is relative to it.  The numbers x make

    (M π(x) − b)ᵀ C⁻¹ (M π(x) − b) + Σ x²/σ²

small: b are the base parameters with covariance C, M π those of the links, σ the relative deviation of the prior by its
trust.  The torques tell b only; how it is divided among the links comes from the prior.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..dynamics import base_parameters
from ..dynamics.recursion.regressor import standard_parameters
from ..errors import InputError
from ..robot import Link, Robot
from ..robot.sources import Source, source_of
from ..types import FloatArray

DEVIATIONS = {  # of a prior, relative, by its trust
    "identified": 0.05,
    "data_sheet": 0.1,
    "estimated": 0.3,
    "chosen": 0.5,
    "placeholder": 1.0,
}
PAYLOAD_DEVIATION = 10.0  # of a payload, about which nothing is known
UNSTATED = 0.5  # relative deviation of a prior without a source
THINNEST = 0.01  # least over largest second moment of a prior body; thinner ones, such as point masses, are widened
SMALLEST = 1e-2  # m, least radius of a prior body
PLACES = [(k, j) for k in range(4) for j in range(k + 1)]  # entries of X


@dataclass(frozen=True, eq=False)
class PhysicalLinks:
    """Links that exist and have the estimated base parameters.

    Args:
        robot: The robot with these links; its drives are those that were given.
        parameters: Mass, first moments and inertia about its frame of each link, (links, 10): m, h_x, h_y, h_z, I_xx,
            I_xy, I_yy, I_xz, I_yz, I_zz.
        deviations: Their standard deviations, with the prior, (links, 10).
        distance: Mean square of the base parameters' differences from the estimates, in deviations: about 0 if bodies
            with the estimates exist, above about 4 if they do not.
    """

    robot: Robot
    parameters: FloatArray
    deviations: FloatArray
    distance: float


def physical_links(
    robot: Robot, base: FloatArray, covariance: FloatArray, origin: str = "base parameters"
) -> PhysicalLinks:
    """Links that exist, nearest to the robot's, with these base parameters.

    Args:
        robot: The robot; its links are the prior, with a relative deviation by the trust of their masses.
        base: Values of `fj.base_parameters(robot)`, (p,).
        covariance: Of these values, (p, p).
        origin: Where they come from, for the sources of the robot; by default "base parameters".

    Returns:
        PhysicalLinks; links without mass, which are frames, stay as they are.

    Raises:
        InputError: No link has a mass.
    """
    M = base_parameters(robot).matrix
    prior = np.stack([own_parameters(x) for x in robot.links])
    rest = standard_parameters(robot) - prior.ravel()  # rotors that are bodies of their own
    moved = [k for k, link in enumerate(robot.links) if link.mass > 0 and np.any(M[:, 10 * k : 10 * k + 10])]
    if not moved:
        raise InputError(f"{robot.name}: no moving link has a mass to begin with; give rough ones in the robot file")
    own = Bodies([pseudo_inertia(thickened(prior[k])) for k in moved])
    columns = np.concatenate([M[:, 10 * k : 10 * k + 10] for k in moved], axis=1)
    fixed = M @ (rest + np.where(np.isin(np.arange(len(prior)), moved)[:, None], 0.0, prior).ravel())
    sigma = np.repeat([prior_deviation(robot, f"{robot.links[k].name}.mass") for k in moved], 10)
    found, spread, error = solved(own, columns, base - fixed, covariance, sigma)
    parameters, deviations = prior.copy(), np.zeros_like(prior)
    parameters[moved], deviations[moved] = found, spread
    links = [with_parameters(link, parameters[k]) if k in moved else link for k, link in enumerate(robot.links)]
    sources = [link_source(link, s, origin) for k, (link, s) in enumerate(zip(links, deviations)) if k in moved]
    whole = robot.replace(links=links, sources=(*robot.sources, *sources))
    return PhysicalLinks(whole, parameters, deviations, error)


def with_physical_payload(robot: Robot, values: FloatArray, covariance: FloatArray, origin: str) -> PhysicalLinks:
    """The robot with a payload that exists, nearest to ten estimated parameters.

    Args:
        robot: The robot without it.
        values: m, h_x, h_y, h_z, I_xx, I_xy, I_yy, I_xz, I_yz, I_zz about the frame of the tool link, (10,).
        covariance: Of them, (10, 10).
        origin: Where they come from.
    """
    mass = max(float(values[0]), float(np.sqrt(covariance[0, 0])), 1e-3)
    start = thickened(np.array([mass, *[0.0] * 9]))
    body, spread, error = solved(
        Bodies([pseudo_inertia(start)]), np.eye(10), values, covariance, np.full(10, PAYLOAD_DEVIATION)
    )
    payload = with_parameters(robot.with_payload(mass).links[-1], body[0])
    source = link_source(payload, spread[0], origin)
    whole = robot.replace(links=(*robot.links, payload), sources=(*robot.sources, source))
    own = np.stack([*(own_parameters(x) for x in robot.links), body[0]])
    deviations = np.concatenate([np.zeros((len(robot.links), 10)), spread])
    return PhysicalLinks(whole, own, deviations, error)


class Bodies:
    """Ten parameters per body as functions of the numbers x of its log-Cholesky parametrisation.

    Args:
        priors: Pseudo-inertias, positive definite, (4, 4) each.
    """

    def __init__(self, priors: Sequence[FloatArray]) -> None:
        self.roots = [np.linalg.cholesky(x) for x in priors]

    def parameters(self, x: FloatArray) -> FloatArray:
        """Of all bodies, (bodies, 10)."""
        found = []
        for root, numbers in zip(self.roots, x.reshape(-1, 10)):
            half = root @ triangle(numbers)
            found.append(from_pseudo_inertia(half @ half.T))
        return np.array(found)

    def slopes(self, x: FloatArray) -> FloatArray:
        """Derivatives of the parameters by x, (10 bodies, 10 bodies)."""
        found = np.zeros((x.size, x.size))
        for b, (root, numbers) in enumerate(zip(self.roots, x.reshape(-1, 10))):
            X = triangle(numbers)
            for k, (row, column) in enumerate(PLACES):
                change = np.zeros((4, 4))
                change[row, column] = X[row, row] if row == column else 1.0
                half = root @ change @ X.T @ root.T
                found[10 * b : 10 * b + 10, 10 * b + k] = from_pseudo_inertia(half + half.T)
        return found


def triangle(x: FloatArray) -> FloatArray:
    """The matrix X of ten numbers."""
    found = np.zeros((4, 4))
    for value, (row, column) in zip(x, PLACES):
        found[row, column] = np.exp(value) if row == column else value
    return found


def solved(
    bodies: Bodies, columns: FloatArray, wanted: FloatArray, covariance: FloatArray, sigma: FloatArray
) -> tuple[FloatArray, FloatArray, float]:
    """Parameters (bodies, 10), their deviations, and the mean square of what is left of `wanted`, in deviations."""
    from scipy.optimize import least_squares

    scale = np.sqrt(np.maximum(np.diag(covariance), 1e-300))
    correlation = covariance / scale / scale[:, None] + 1e-10 * np.eye(len(scale))
    weight = np.linalg.inv(np.linalg.cholesky(correlation)) / scale

    def errors(x: FloatArray) -> FloatArray:
        return np.concatenate([weight @ (columns @ bodies.parameters(x).ravel() - wanted), x / sigma])

    def slopes(x: FloatArray) -> FloatArray:
        return np.concatenate([weight @ columns @ bodies.slopes(x), np.diag(1 / sigma)])

    best = least_squares(errors, np.zeros(sigma.size), slopes, x_scale="jac", max_nfev=500)
    D = bodies.slopes(best.x)
    normal = best.jac.T @ best.jac
    size = 1 / np.sqrt(np.diag(normal))
    inverse = np.linalg.inv(normal * size * size[:, None]) * size * size[:, None]
    spread = np.sqrt(np.maximum(np.diag(D @ inverse @ D.T), 0.0))
    left = best.fun[: len(wanted)]
    return bodies.parameters(best.x), spread.reshape(-1, 10), float(np.mean(left**2))


# Bodies -------------------------------------------------------------------------------------------------------------


def own_parameters(link: Link) -> FloatArray:
    """Ten parameters of a link about its frame."""
    m, c = link.mass, link.com
    I = link.inertia + m * (np.sum(c * c) * np.eye(3) - np.outer(c, c))
    return np.array([m, *(m * c), I[0, 0], I[0, 1], I[1, 1], I[0, 2], I[1, 2], I[2, 2]])


def with_parameters(link: Link, p: FloatArray) -> Link:
    """The link with ten parameters about its frame."""
    m, c = float(p[0]), p[1:4] / p[0]
    I = np.array([[p[4], p[5], p[7]], [p[5], p[6], p[8]], [p[7], p[8], p[9]]])
    central = I - m * (np.sum(c * c) * np.eye(3) - np.outer(c, c))
    return dataclasses.replace(link, mass=m, com=c, inertia=(central + central.T) / 2)


def pseudo_inertia(p: FloatArray) -> FloatArray:
    """P of ten parameters, (4, 4)."""
    I = np.array([[p[4], p[5], p[7]], [p[5], p[6], p[8]], [p[7], p[8], p[9]]])
    second = np.trace(I) / 2 * np.eye(3) - I
    return np.block([[second, p[1:4, None]], [p[None, 1:4], p[:1, None]]])


def from_pseudo_inertia(P: FloatArray) -> FloatArray:
    """Ten parameters of P."""
    second = P[:3, :3]
    I = np.trace(second) * np.eye(3) - second
    return np.array([P[3, 3], *P[:3, 3], I[0, 0], I[0, 1], I[1, 1], I[0, 2], I[1, 2], I[2, 2]])


def thickened(p: FloatArray) -> FloatArray:
    """Ten parameters of a body that exists and is nowhere thin, with the same mass and centre of mass."""
    P = pseudo_inertia(p)
    m, h = P[3, 3], P[:3, 3]
    values, axes = np.linalg.eigh(P[:3, :3] - np.outer(h, h) / m)
    values = np.maximum(values, max(THINNEST * values.max(), SMALLEST**2 * m))
    P[:3, :3] = (axes * values) @ axes.T + np.outer(h, h) / m
    return from_pseudo_inertia(P)


# Sources ------------------------------------------------------------------------------------------------------------


def prior_deviation(robot: Robot, path: str) -> float:
    """Relative deviation of a number of a robot file, by its trust."""
    source = source_of(robot, path)
    return UNSTATED if source is None else DEVIATIONS[source.trust]


def link_source(link: Link, deviations: FloatArray, origin: str) -> Source:
    """Source of the numbers of a link, with their deviations."""
    m, h, I = deviations[0], deviations[1:4], deviations[[4, 6, 9]]
    note = (
        f"deviations: mass {m:.2g} kg, first moments {', '.join(f'{x:.2g}' for x in h)} kg m, diagonal of the inertia "
        f"about the frame {', '.join(f'{x:.2g}' for x in I)} kg m²; torques tell base parameters only, the rest is "
        "that of the robot before"
    )
    return Source((f"{link.name}.mass", f"{link.name}.com", f"{link.name}.inertia"), "identified", origin, note)
