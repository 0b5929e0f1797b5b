"""Two antagonistic springs: their deflections from torque and stiffness of the joint  [VSANEA (14), (61)].

    τ_e = τ_1(φ_1) + τ_2(φ_2),   σ = σ_1(φ_1) + σ_2(φ_2),   σ_k = dτ_k/dφ_k,   ζ_k = dσ_k/dφ_k,   η_k = dζ_k/dφ_k

There may be several solutions.  The one looked for has φ_1 ≥ φ_2, and the joint stiffens when its motors are drawn
apart at constant torque: det A = σ_1 ζ_2 − σ_2 ζ_1 < 0.  This branch ends where the determinant vanishes: for equal
cubic springs at φ_1 = φ_2 and, which the paper does not say, at the fold φ_1 φ_2 = K/(3 K_c).

Equal cubic springs have a closed form: with s = φ_1 + φ_2 the paper's trigonometric equation (31) (printed with a wrong
denominator) is K_c s³ − σ s + 2 τ_e = 0, and the branch is its middle root.  So have exponential springs, whose torque
is a linear function of their stiffness.  For all others φ_2 follows from φ_1 by the inverse of the second spring's law,
and ln σ grows along the branch with φ_1: one equation a joint, all solved in one loop of `SEARCH` steps.

Refused are deflections off the branch, next to its ends, and beyond a spring's `reach`: the determinant becomes NaN.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..api import algorithm
from ..drives import AntagonisticDrive
from ..robot import Robot
from ..roots import root_of_increasing
from ..spatial import ca, is_symbolic, zeros
from ..springs import CubicSpring, ExponentialSpring, Spring

SEARCH = 40  # steps, each a Newton step or a bisection: the same number for every input
BISECTIONS = 60  # to the ends of the branch
FOUND = 1e-12  # of the stiffness: a root known less well was not found
STATIONS = 8  # places on the way along a branch that are looked at
SINGULAR = 1e-6  # of σ² a rad (m): a smaller determinant counts as singular
EDGE = 1e-9  # of the reach: so far inside its ends is a branch looked at


class Law(NamedTuple):
    """Torque of a spring and its derivatives by the deflection."""

    tau: Any
    sigma: Any
    zeta: Any
    eta: Any


class Pair(NamedTuple):
    """Deflections of two springs and what follows from them; `det` is NaN where they are refused."""

    phi_1: Any
    phi_2: Any
    one: Law
    two: Law
    det: Any

    def solve(self, torque: Any, stiffness: Any) -> tuple[Any, Any]:
        """A⁻¹ (torque, stiffness)  [VSANEA (67), (68)]."""
        by_det = 1 / self.det
        return (
            by_det * (self.two.zeta * torque - self.two.sigma * stiffness),
            by_det * (self.one.sigma * stiffness - self.one.zeta * torque),
        )


class StiffnessBand(NamedTuple):
    """Least and greatest stiffness of each joint; NaN where there is none to choose."""

    lower: Any
    upper: Any


def law(spring: Spring, phi: Any) -> Law:
    return Law(spring.torque(phi), *spring.gradients(phi, 3))


def pair_at(drive: AntagonisticDrive, phi_1: Any, phi_2: Any) -> Pair:
    """The springs at given deflections, wherever these are."""
    one, two = law(drive.spring_1, phi_1), law(drive.spring_2, phi_2)
    return Pair(phi_1, phi_2, one, two, one.sigma * two.zeta - two.sigma * one.zeta)


def regular(pair: Pair) -> Pair:
    """The same, refused where the determinant is too small to divide by."""
    enough = ca.fabs(pair.det) > SINGULAR * (pair.one.sigma + pair.two.sigma) ** 2
    return pair._replace(det=ca.if_else(enough, pair.det, math.nan))


def pairs_for(drives: Sequence[AntagonisticDrive], tau_e: Sequence[Any], sigma: Sequence[Any]) -> list[Pair]:
    """The deflections that give torques and stiffnesses; refused where there are none on the branch."""
    closed = [closed_form(drive) for drive in drives]
    searched = [k for k, form in enumerate(closed) if form is None]
    roots = searched_deflections(*([x[k] for k in searched] for x in (drives, tau_e, sigma))) if searched else []
    found = dict(zip(searched, roots))
    pairs = []
    for k, (drive, form) in enumerate(zip(drives, closed)):
        pair = pair_at(drive, *(form(drive, tau_e[k], sigma[k]) if form else found[k]))
        residual = pair.one.sigma + pair.two.sigma - sigma[k]
        good = ca.logic_and(ca.fabs(residual) <= FOUND * sigma[k], pair.det < -SINGULAR * sigma[k] ** 2)
        good = ca.logic_and(good, ca.logic_and(within_reach(drive, pair), pair.phi_1 >= pair.phi_2))
        good = good if form else ca.logic_and(good, on_branch(drive, pair, tau_e[k]))
        phi = [ca.if_else(good, x, math.nan) for x in (pair.phi_1, pair.phi_2)]
        pairs.append(pair._replace(phi_1=phi[0], phi_2=phi[1], det=ca.if_else(good, pair.det, math.nan)))
    return pairs


def within_reach(drive: AntagonisticDrive, pair: Pair) -> Any:
    return ca.logic_and(pair.phi_1 <= drive.spring_1.reach, pair.phi_2 >= -drive.spring_2.reach)


def one_at_rest(drive: AntagonisticDrive, tau_e: Any) -> Any:
    """φ_1 where one spring does all the pulling: the other is at rest."""
    alone = drive.spring_1.deflection(tau_e)
    return ca.if_else(ca.logic_and(tau_e > 0, alone <= drive.spring_1.reach), alone, 0)


def on_branch(drive: AntagonisticDrive, pair: Pair, tau_e: Any) -> Any:
    """Whether it is no solution of another branch: from here to where one spring is at rest, det A keeps its sign.

    Unequal springs have such branches among deflections of the same sign.  The way is looked at in `STATIONS` places.
    """
    rest = one_at_rest(drive, tau_e)
    way = ca.if_else(rest > pair.phi_1, rest - pair.phi_1, 0)
    good = ca.logic_and(pair.phi_1 >= pair.phi_2, pair.det <= 0)
    for k in range(STATIONS):
        between = at_torque(drive, pair.phi_1 + (k + 1) / (STATIONS + 1) * way, tau_e)
        good = ca.logic_and(good, ca.logic_not(between.det > 0))  # where a law is undefined, nothing lies between
    return good


# Closed forms -----------------------------------------------------------------------------------------------


def closed_form(drive: AntagonisticDrive) -> Callable[[Any, Any, Any], tuple[Any, Any]] | None:
    one, two = drive.springs
    if isinstance(one, CubicSpring) and isinstance(two, CubicSpring):
        equal = same(one.stiffness, two.stiffness) and same(one.cubic, two.cubic)
        return equal_cubics if equal else None
    if isinstance(one, ExponentialSpring) and isinstance(two, ExponentialSpring):
        return exponentials
    return None


def same(x: Any, y: Any) -> bool:
    """Whether two numbers are equal whatever the free parameters are."""
    return ca.is_equal(x, y) if is_symbolic(x) and is_symbolic(y) else not is_symbolic(x - y) and x == y


def equal_cubics(drive: Any, tau_e: Any, sigma: Any) -> tuple[Any, Any]:
    """τ_e = (σ s − K_c s³)/2: with s = 2 f sin x, f = √(σ/3K_c) the fold, sin 3x = 3 τ_e/(σ f)  [VSANEA (28)-(31)]."""
    K, Kc = drive.spring_1.stiffness, drive.spring_1.cubic
    fold = ca.sqrt(sigma / (3 * Kc))
    s = 2 * fold * ca.sin(ca.asin(3 * tau_e / (sigma * fold)) / 3)
    R_squared = (sigma - 2 * K) / (3 * Kc)  # φ_1² + φ_2²  [VSANEA (30)]
    d = ca.sqrt(2 * R_squared - s * s)  # φ_1 − φ_2
    return (s + d) / 2, (s - d) / 2


def exponentials(drive: Any, tau_e: Any, sigma: Any) -> tuple[Any, Any]:
    """With τ_k = (σ_k − K_k)/b_k two linear equations for σ_1 and σ_2; φ_k = ln(σ_k/K_k)/b_k."""
    K_1, K_2 = (spring.stiffness for spring in drive.springs)
    c_1, c_2 = (1 / spring.rate for spring in drive.springs)
    T = tau_e + (K_1 * c_1 + K_2 * c_2)
    sigma_1, sigma_2 = (T - c_2 * sigma) / (c_1 - c_2), (c_1 * sigma - T) / (c_1 - c_2)
    return c_1 * ca.log(sigma_1 / K_1), c_2 * ca.log(sigma_2 / K_2)


# Search ---------------------------------------------------------------------------------------------------------


def searched_deflections(drives: Sequence[AntagonisticDrive], tau_e: Sequence[Any], sigma: Sequence[Any]) -> list[Any]:
    """[(φ_1, φ_2), ...]: ln(σ_1 + σ_2) − ln σ along the branch, negative before it begins."""

    def pairs(phi_1: Any) -> list[Pair]:
        return [at_torque(drive, phi_1[k], tau_e[k]) for k, drive in enumerate(drives)]

    def excess(phi_1: Any) -> Any:
        rows = []
        for k, pair in enumerate(pairs(phi_1)):
            begun = ca.logic_and(pair.phi_1 >= pair.phi_2, pair.det <= 0)
            stiffer = ca.log((pair.one.sigma + pair.two.sigma) / sigma[k])
            rows.append(where_defined(pair, tau_e[k], ca.if_else(begun, stiffer, -1)))
        return ca.vertcat(*rows)

    def slope(phi_1: Any) -> Any:
        """dσ/dφ_1 = ζ_1 + ζ_2 dφ_2/dφ_1 = −det A/σ_2 at constant torque."""
        return ca.vertcat(*[-x.det / (x.two.sigma * (x.one.sigma + x.two.sigma)) for x in pairs(phi_1)])

    reach = ca.SX([drive.spring_1.reach for drive in drives])
    start = ca.vertcat(*[one_at_rest(drive, tau_e[k]) for k, drive in enumerate(drives)])  # mostly below the root
    phi_1 = root_of_increasing(excess, -reach, reach, start, SEARCH, slope)
    return [at_torque(drive, phi_1[k], tau_e[k])[:2] for k, drive in enumerate(drives)]


def at_torque(drive: AntagonisticDrive, phi_1: Any, tau_e: Any) -> Pair:
    """The second spring takes what the first leaves of the torque."""
    return pair_at(drive, phi_1, drive.spring_2.deflection(tau_e - drive.spring_1.torque(phi_1)))


def where_defined(pair: Pair, tau_e: Any, value: Any) -> Any:
    """`value`, or ±1 where a law is undefined: too far up, or not far enough."""
    defined = ca.logic_and(ca.fabs(pair.one.tau) < math.inf, ca.fabs(pair.two.tau) < math.inf)
    left = tau_e - pair.one.tau  # for the second spring: too much of it asks for more of the first
    side = ca.if_else(ca.fabs(left) < math.inf, -ca.sign(left), ca.sign(pair.phi_1))
    return ca.if_else(defined, value, side)


# Feasible stiffness -------------------------------------------------------------------------------------------------


def feasible_stiffness(robot: Robot, tau_e: Any) -> StiffnessBand:
    """The stiffnesses that joints can have at the torques `tau_e` (..., n) on their links.

    The least is where motion and stiffness can no longer be set apart, the greatest where a spring reaches its `reach`.
    NaN at joints whose stiffness cannot be set, and where no stiffness goes with the torque.
    """
    rows = np.asarray(tau_e, dtype=float)
    band = ends_of_branches(robot, rows)
    chosen = np.asarray(robot.antagonistic) & (band.lower < band.upper)
    return StiffnessBand(*(np.where(chosen, x, math.nan) for x in band))


@algorithm(StiffnessBand)
def ends_of_branches(robot: Robot, tau_e):
    """Least and greatest stiffness; both 0 where there is no such thing."""
    joints = [i for i, chosen in enumerate(robot.antagonistic) if chosen]
    band = StiffnessBand(zeros(robot.n), zeros(robot.n))
    if not joints:
        return band
    drives: list[Any] = [robot.joints[i].drive for i in joints]
    torques = [tau_e[i] for i in joints]

    def end(passed: Callable[[Any, Pair, Any], Any]) -> Any:
        """φ_1 from which on it holds."""

        def sign(phi_1: Any) -> Any:
            pairs = [at_torque(drive, phi_1[k], torques[k]) for k, drive in enumerate(drives)]
            signs = [2 * passed(drives[k], pair, torques[k]) - 1 for k, pair in enumerate(pairs)]
            return ca.vertcat(*[where_defined(pair, torques[k], signs[k]) for k, pair in enumerate(pairs)])

        reach = ca.SX([drive.spring_1.reach for drive in drives])
        return root_of_increasing(sign, -reach, reach, steps=BISECTIONS)

    first, last = end(on_branch), end(lambda drive, pair, _: pair.phi_2 < -drive.spring_2.reach)
    for k, (i, drive) in enumerate(zip(joints, drives)):
        inside = EDGE * drive.spring_1.reach
        least, most = (at_torque(drive, x, torques[k]) for x in (first[k] + inside, last[k] - inside))
        lower, upper = (pair.one.sigma + pair.two.sigma for pair in (least, most))
        exists = ca.logic_and(lower < upper, ca.logic_and(upper < math.inf, within_reach(drive, least)))
        band.lower[i], band.upper[i] = ca.if_else(exists, lower, 0), ca.if_else(exists, upper, 0)
    return band
