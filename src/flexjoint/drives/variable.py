"""What all drives with a second motor that sets the stiffness have in common  [VSANEA (5), (8)-(11)].

The transmission stores an elastic energy U(φ_1, φ_2).  φ_1 = θ_1 − q is the position of the first motor relative to
the link.  Where both motors pull at the link, as antagonistic ones do, φ_2 = θ_2 − q and c = 1.  Where the second motor
changes the transmission itself (a pivot, a preload), φ_2 = θ_2 and c = 0.  Then

    τ_k = ∂U/∂φ_k   (motor k: B_k θ_k'' + friction + τ_k = τ),   τ_e = τ_1 + c τ_2,   σ = ∂τ_e/∂φ_1 + c ∂τ_e/∂φ_2,

and the equations of the paper hold with A = ∂(τ_e, σ)/∂(φ_1, φ_2).  The algorithms use nothing else of a design:
docs/variable-stiffness.md shows how to add one.
"""

from __future__ import annotations

import dataclasses
import math
import numbers
from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..compiler.ir.trace import declare_outputs
from ..numerics import unsupported
from ..reprs import repr_without_defaults
from ..spatial import ca
from ..types import Expression
from .limits import NO_SPRING_LIMITS, SpringLimits
from .motor import Motor

SINGULAR = 1e-9  # a determinant smaller than this, relative to its terms, counts as zero
GRID = 9  # trial deflections per axis


class Range(NamedTuple):
    """Bounds of a deflection of the transmission, in rad or m."""

    lower: float
    upper: float


class OperatingPoint(NamedTuple):
    """A transmission at given deflections; `det` is NaN where algorithms refuse them."""

    phi_1: Any
    phi_2: Any
    tau_1: Any
    tau_2: Any
    tau_e: Any
    sigma: Any
    A: tuple[Any, Any]  # rows ∂τ_e/∂φ, ∂σ/∂φ  [VSANEA (19)]
    bends: tuple[Any, Any]  # second derivatives of τ_e and σ
    det: Any

    def solve(self, torque: Any, stiffness: Any) -> tuple[Any, Any]:
        """A⁻¹ (torque, stiffness)  [VSANEA (67), (68)]."""
        a, b = self.A
        by_det = 1 / self.det
        return by_det * (b[1] * torque - a[1] * stiffness), by_det * (a[0] * stiffness - b[0] * torque)

    def bent(self, phi_1_v: Any, phi_2_v: Any) -> list[Any]:
        """φ'ᵀ ∂²(τ_e, σ)/∂φ² φ': what motion alone adds to τ_e'' and σ''."""
        squares = phi_1_v**2, phi_1_v * phi_2_v, phi_2_v**2
        return [H[0, 0] * squares[0] + 2 * H[0, 1] * squares[1] + H[1, 1] * squares[2] for H in self.bends]


class VariableStiffnessDrive(ABC):
    """A drive with two motors that sets position and stiffness of its joint: the base class of all designs.

    A design is a frozen dataclass with `motor_1`, `motor_2`, `ranges` and either `energy` or `torques`.
    `@DRIVES.register(...)` gives it a name in robot files.

    Attributes:
        motor_1: the motor that moves the link.
        motor_2: the motor that sets the stiffness, or the antagonist of motor 1.
        damping: D ≥ 0, which adds D φ_k' between the link and each motor whose deflection is measured from it, in Nm
            s/rad or N s/m; 0 by default.
        greatest_stiffness: largest stiffness that may be commanded, in Nm/rad or N/m; infinite by default.
        greatest_damping: largest damping of a commanded damper in parallel with the springs; 0 by default, no such
            damper.
        spring_limits: bounds of torque τ_k and deflection φ_k of each spring; none by default.
        follows: whether φ_2 = θ_2 − q (True, default) or φ_2 = θ_2.
        slides: whether θ_2 is in m and τ_2 in N although the joint turns; False by default.
        stiffens: sign of det A where the joint is used: +1 if it stiffens with φ_2, −1 against it.
    """

    motor_1: Motor
    motor_2: Motor
    damping: float = 0.0
    greatest_stiffness: float = math.inf
    greatest_damping: float = 0.0
    spring_limits: SpringLimits = NO_SPRING_LIMITS

    follows: ClassVar[bool] = True
    slides: ClassVar[bool] = False
    stiffens: ClassVar[int] = 1

    def __init_subclass__(cls) -> None:
        declare_outputs(cls, energy=1, torques=2, deflections=2)

    @property
    def motors(self) -> tuple[Motor, ...]:
        """Both motors of the joint."""
        return self.motor_1, self.motor_2

    @property
    def turning(self) -> tuple[Motor, ...]:
        """The motors that turn with the link if the springs are rigid."""
        return self.motors if self.follows else (self.motor_1,)

    @property
    def c(self) -> int:
        """Factor of τ_2 in the torque on the link: 1 or 0."""
        return int(self.follows)

    @property
    @abstractmethod
    def ranges(self) -> tuple[Range, Range]:
        """Bounds of φ_1 and φ_2; deflections beyond them are refused."""

    def energy(self, phi_1: Expression, phi_2: Expression) -> Expression:
        """Elastic energy U as an SX expression, in J."""
        raise NotImplementedError(f"{type(self).__name__} has neither energy nor torques")

    def torques(self, phi_1: Expression, phi_2: Expression) -> tuple[Expression, Expression]:
        """τ_1, τ_2 = ∂U/∂φ_1, ∂U/∂φ_2 as SX expressions; NaN where the transmission is undefined."""
        x = [ca.SX.sym(f"phi_{k}") for k in (1, 2)]
        U = self.energy(*x)
        one, two = ca.substitute([ca.jacobian(U, y) for y in x], x, [ca.SX(phi_1), ca.SX(phi_2)])
        return one, two

    def deflections(self, tau_e: Expression, sigma: Expression) -> tuple[Expression, Expression]:
        """φ_1, φ_2 of a torque and a stiffness; only designs with a closed form have it."""
        raise NotImplementedError

    @property
    def has_energy(self) -> bool:
        """Whether the design gives its elastic energy."""
        return type(self).energy is not VariableStiffnessDrive.energy

    @property
    def closed(self) -> bool:
        """Whether the deflections have a closed form."""
        return type(self).deflections is not VariableStiffnessDrive.deflections

    def at(self, phi_1: Expression, phi_2: Expression) -> OperatingPoint:
        """The transmission at given deflections, inside the ranges or not; derivatives by automatic differentiation."""
        x = ca.SX.sym("phi", 2)
        tau_1, tau_2 = self.torques(x[0], x[1])
        tau_e = tau_1 + self.c * tau_2
        slopes = ca.jacobian(tau_e, x)
        sigma = slopes[0] + self.c * slopes[1]  # σ = −∂τ_e/∂q  [VSANEA (10), (11)]
        A = [slopes, ca.jacobian(sigma, x)]  # [VSANEA (19)]
        bends = [ca.jacobian(row, x) for row in A]
        found = [tau_1, tau_2, tau_e, sigma, *A, *bends]
        tau_1, tau_2, tau_e, sigma, a, b, *bends = ca.substitute(found, [x], [ca.vertcat(phi_1, phi_2)])
        return OperatingPoint(
            phi_1, phi_2, tau_1, tau_2, tau_e, sigma, (a, b), (bends[0], bends[1]), a[0] * b[1] - a[1] * b[0]
        )

    @property
    def gain(self) -> float:
        """Largest ±det A relative to its terms, over the ranges: how well motor 2 can stiffen the joint.

        0 if A is singular everywhere, negative if the joint softens everywhere.
        """
        x = [ca.SX.sym("x") for _ in range(2)]
        found = self.at(*x)
        (a, b), (c, d) = (ca.horzsplit(ca.densify(row)) for row in found.A)
        f = ca.Function("f", x, [self.stiffens * found.det, ca.fabs(a * d) + ca.fabs(b * c)])
        inside = [np.linspace(*span, GRID + 2)[1:-1] for span in self.ranges]
        det, terms = (np.array(y).ravel() for y in f(*(y.reshape(1, -1) for y in np.meshgrid(*inside))))
        good = np.isfinite(det) & (terms > 0)
        best = max((det[good] / terms[good]).tolist(), default=0.0)
        return best if abs(best) > SINGULAR else 0.0

    def unsupported(self) -> str:
        """Which function of the design or its derivatives no kernel has, and which it can use; "" if there is none."""
        x = [ca.SX.sym(key) for key in ("phi_1", "phi_2")]
        found = self.at(*x)
        closed = self.deflections(*x) if self.closed else ()
        return unsupported([found.tau_1, found.tau_2, *found.A, *found.bends, *closed])

    def plain(self) -> dict[str, Any]:
        """Plain data that identify the drive, for the digest of a robot."""
        name = type(self).__name__
        fields = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}  # type: ignore[arg-type]
        data = {key: float(x) + 0.0 if isinstance(x, numbers.Real) else x for key, x in fields.items()}
        if not type(self).__module__.startswith("flexjoint."):  # its code counts, not only its numbers
            x = [ca.SX.sym(key) for key in ("x", "y")]
            outputs = [*self.torques(*x), *(self.deflections(*x) if self.closed else ())]
            data["law"] = ca.Function("law", x, outputs).serialize()
        return {name: data}

    __repr__ = repr_without_defaults
