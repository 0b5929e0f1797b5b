"""The solutions of [VSANEA (14)] as a curve: at constant torque, the stiffness of a joint grows along its curve.

With two equations for the deflections, τ_e(φ_1, φ_2) and σ(φ_1, φ_2), one of the deflections is walked along, the other
follows from the torque.  What is looked for is the root of one increasing function, ln σ.  A curve ends where the
determinant of A vanishes, which is where dσ = 0, or where a deflection leaves its range.

Here is what searches ask of a curve, and the curve of drives whose second motor works within the transmission;
that of antagonistic springs is in `antagonistic_springs.py`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ...compiler.ir.scan import scan
from ...drives import VariableStiffnessDrive
from ...drives.variable import OperatingPoint, Range
from ...numerics.roots import at_root, root_of_increasing
from ...spatial import ca, is_zero
from ...types import Scalar

INNER = 40  # steps for the deflection that follows
STATIONS = 8  # places on the way along a curve that are looked at
BALANCED = 1e-9  # of the stiffness, a rad (m): a torque missed by more has no deflection
SINGULAR = 1e-6  # relative: a smaller determinant counts as singular


@dataclass(frozen=True)
class SolutionCurve(ABC):
    """Of one drive; u is the deflection walked along, in the direction in which the joint stiffens."""

    drive: Any

    @property
    @abstractmethod
    def span(self) -> Range:
        """Of u."""

    @abstractmethod
    def at(self, u: Scalar, tau_e: Scalar) -> OperatingPoint:
        """The transmission under the torque."""

    @abstractmethod
    def start(self, tau_e: Scalar) -> Scalar:
        """A u on the curve or before it."""

    @abstractmethod
    def begun(self, point: OperatingPoint) -> Scalar:
        """Whether the determinant has the sign it has on the curve, or is 0."""

    @abstractmethod
    def slope(self, point: OperatingPoint) -> Scalar:
        """dσ/du at constant torque."""

    @abstractmethod
    def side(self, point: OperatingPoint, tau_e: Scalar) -> Scalar:
        """Where the law is undefined: −1 before the curve, 1 beyond it."""

    @abstractmethod
    def allowed(self, point: OperatingPoint) -> Scalar:
        """Whether deflections are within their ranges."""

    @abstractmethod
    def way(self, point: OperatingPoint, tau_e: Scalar) -> Scalar:
        """How far along u the determinant must keep its sign: then this is no solution of another curve."""

    @abstractmethod
    def least_determinant(self, point: OperatingPoint, sigma: Scalar) -> Scalar:
        """Below it, the determinant is too small to divide by."""

    def passed(self, point: OperatingPoint) -> Scalar:
        """Whether the curve has ended within the span."""
        return ca.SX(0)

    def where_defined(self, point: OperatingPoint, tau_e: Scalar, value: Scalar) -> Scalar:
        """`value`, or ±1 where a law is undefined: too far up, or not far enough."""
        defined = ca.logic_and(ca.fabs(point.tau_1) < math.inf, ca.fabs(point.tau_2) < math.inf)
        return ca.if_else(defined, value, self.side(point, tau_e))


@dataclass(frozen=True)
class SerialCurve(SolutionCurve):
    """u is the second motor's position; the first deflects the transmission until it bears the torque."""

    drive: VariableStiffnessDrive

    @property
    def span(self) -> Range:
        lower, upper = self.drive.ranges[1]
        return Range(lower, upper) if self.drive.stiffens > 0 else Range(-upper, -lower)

    def at(self, u: Scalar, tau_e: Scalar) -> OperatingPoint:
        phi_2 = self.drive.stiffens * u
        lower, upper = (ca.SX(x) for x in self.drive.ranges[0])

        def excess(phi_1: Scalar) -> tuple[Scalar, Scalar]:
            found = self.drive.at(phi_1, phi_2)
            return found.tau_e - tau_e, found.A[0][0]

        found = self.drive.at(root_of_increasing(excess, lower, upper, steps=INNER), phi_2)
        borne = at_root(ca.fabs(found.tau_e - tau_e) <= BALANCED * ca.fabs(found.A[0][0]))
        return found._replace(tau_1=ca.if_else(borne, found.tau_1, math.nan))

    def start(self, tau_e: Scalar) -> Scalar:
        return sum(self.span) / 2

    def begun(self, point: OperatingPoint) -> Scalar:
        return ca.logic_and(self.drive.stiffens * point.det >= 0, point.sigma > 0)

    def slope(self, point: OperatingPoint) -> Scalar:
        return self.drive.stiffens * point.det / point.A[0][0]

    def side(self, point: OperatingPoint, tau_e: Scalar) -> Scalar:
        return ca.SX(-1)  # a softer joint bears less

    def allowed(self, point: OperatingPoint) -> Scalar:
        one, two = (ca.logic_and(x >= lower, x <= upper) for x, (lower, upper) in zip(point[:2], self.drive.ranges))
        return ca.logic_and(one, two)

    def way(self, point: OperatingPoint, tau_e: Scalar) -> Scalar:
        return ca.SX(0)

    def least_determinant(self, point: OperatingPoint, sigma: Scalar) -> Scalar:
        a, b = point.A
        return SINGULAR * (ca.fabs(a[0] * b[1]) + ca.fabs(a[1] * b[0]))


def connected(
    curves: Sequence[SolutionCurve], points: Sequence[OperatingPoint], tau_e: Sequence[Scalar]
) -> list[Scalar]:
    """Whether each is on its curve; the ways are looked at in `STATIONS` places."""
    ways = [curve.way(point, tau_e[k]) for k, (curve, point) in enumerate(zip(curves, points))]
    far = [k for k, way in enumerate(ways) if not is_zero(way)]

    def look(at: Sequence[Scalar], part: Scalar) -> tuple[Sequence[Any], Any]:
        found = []
        for k, (crossed, u, way, torque) in zip(far, at):
            between = curves[k].at(u + part * way, torque)
            wrong = curves[k].drive.stiffens * between.det < 0  # where a law is undefined, nothing lies between
            found.append((ca.if_else(wrong, 1, crossed), u, way, torque))
        return found, ()

    stations = [ca.SX((k + 1) / (STATIONS + 1)) for k in range(STATIONS)]
    # what a step takes from outside is carried along: expressions would be computed again in each
    start = [(ca.SX(0), ca.SX(points[k].phi_1), ways[k], ca.SX(tau_e[k])) for k in far]
    last = scan(look, start, stations, opaque=True)[0] if far else []
    good = [curve.begun(point) for curve, point in zip(curves, points)]
    for k, (crossed, *_) in zip(far, last):
        good[k] = ca.logic_and(good[k], crossed < 0.5)
    return good
