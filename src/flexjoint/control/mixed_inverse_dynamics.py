"""Inverse dynamics control of robots with rigid and elastic joints in any mix  [Hua sec. IV].

The law is one kernel, `mixed_torque`: its module holds the formulas, the Lyapunov function, and how θ_d', θ_d'', q''
and θ'' are obtained, which the paper leaves open.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from ..algorithm.form import Call, require
from ..dynamics.forward import accelerations
from ..errors import InputError
from ..robot import Robot
from ..spatial import ca, zeros
from ..types import FloatArray, Stack
from .base import Gain, JointState, LawResult, Registration, checked_robot
from .laws.couplings import STEPS, State, coupling_depth, mismatch
from .laws.mixed import AUTOMATIC, by_search, linear_springs, loop_of, mixed_torque, possible_couplings, reference_order
from .sampling import directions
from .surroundings import KnowsSurroundings

LEAST_GAIN = 1e-9  # the controller divides K_P by K_D
SLOW = 0.05  # 1/s; growth below this is left to the run
NEARLY_SINGULAR = 0.1  # an eigenvalue of the equation for θ_d; all are −1 without couplings

MIXED_GAINS = (
    Gain("K_P", "Nm/rad | N/m", "feedback of the link position"),
    Gain("K_D", "Nm s/rad | N s/m", "feedback of the link velocity"),
    Gain("MOTOR_K_P", "Nm/rad | N/m", "feedback of the position of motors behind springs"),
    Gain("MOTOR_K_D", "Nm s/rad | N s/m", "feedback of the velocity of motors behind springs"),
)


@dataclass(frozen=True, eq=False, repr=False)
class MixedInverseDynamics(KnowsSurroundings):
    """Inverse dynamics control of rigid and elastic joints in any mix, to track a trajectory: τ of [Hua (39), (49)].

    Args:
        robot: The model; every spring is linear and undamped.
        gains: [K_P, K_D, MOTOR_K_P, MOTOR_K_D], each a number or one per joint (n,), positive: the feedback of link
            position, Nm/rad or N/m, and velocity, Nm s/rad or N s/m, then of motor position and velocity.  Rigid
            joints ignore the motor gains.
        wrenches: Known wrenches (f, n) by link name, at the origin of the link's frame, in base coordinates, N and Nm:
            six constant numbers, or None for six more columns of the reference; none by default.
        base: Whether the reference has six more columns, the pose of a moving base, which `simulate(..., base=)` adds;
            False by default.
        couplings: How the controller takes the torques S θ'' + C_1 θ' of other motors at elastic joints.  "exact"
            follows them: V₂' is that of [Hua (52)] for any gains, and the reference has up to eight derivatives.
            "neglected" leaves them out of θ_d: a disturbance, with which some loops are unstable.  "automatic", the
            default, is exact where that needs no derivative of q beyond the eighth.

    Raises:
        InputError: A spring is damped or not linear, a joint has two motors, the gains have a wrong shape or sign, or
            the couplings cannot be exact.

    Example:
        >>> import flexjoint as fj
        >>> controller = fj.control.MixedInverseDynamics(fj.load("hua_3r"), [390.0, 56.0, 1400.0, 58.0])
        >>> controller
        MixedInverseDynamics('hua_3r', K_P=390, K_D=56, MOTOR_K_P=1400, MOTOR_K_D=58)
        >>> controller.exact
        True
    """

    robot: Robot
    gains: FloatArray
    couplings: str = field(default=AUTOMATIC, kw_only=True)
    contains_friction: ClassVar[bool] = True
    registration: ClassVar[Registration] = Registration(
        "mixed_inverse_dynamics", "tracking by inverse dynamics", gains=MIXED_GAINS
    )

    def __post_init__(self) -> None:
        call = Call(checked_robot(self), 4, {"base": True} if self.base is True else {}, {"couplings": self.couplings})
        require("MixedInverseDynamics", call, *linear_springs, possible_couplings)
        self.check_gains(LEAST_GAIN)
        self.check_surroundings()

    @property
    def order(self) -> int:
        return reference_order(self.robot, self.couplings, self.base)

    @property
    def exact(self) -> bool:
        """Whether V₂' is that of [Hua (52)]: no couplings of elastic joints with other motors are neglected."""
        return by_search(self.robot, self.couplings, self.base) or coupling_depth(self.robot) == 0

    def law(self, gains: Stack, state: Stack, reference: Stack, measurement: JointState) -> LawResult:
        q, v, theta, theta_v = measurement
        known = self.surroundings(reference)
        tracking = {"reference": known.motion, "gains": gains}
        couplings = {"tracking": tracking, "couplings": self.couplings}
        return state, mixed_torque.function(self.robot, q, v, theta, theta_v, **couplings, **known.loads).tau

    def check_reference(self, reference: Sequence[Any], gains: Any = None, start: Any = None) -> None:
        """Checks the controller along a reference, where motors act on the links of elastic joints.

        With exact couplings the equation for θ_d must be regular, and its determinant must have one sign on the
        reference and at the start.  With neglected couplings the loop must be stable at rest at every pose of the
        reference, by the eigenvalues of the linearized robot and controller.

        Args:
            reference: [q_d, q_d', ...], at least `order` + 1 arrays (..., width), at some times of a trajectory.
            gains: Array (4, n), which replaces those of the controller.
            start: The JointState at which the controller begins; by default on the reference.

        Raises:
            InputError: The equation is singular, or the loop unstable; the message names the pose.

        Example:
            >>> import flexjoint as fj, numpy as np
            >>> controller = fj.control.MixedInverseDynamics(fj.load("dlr_lbr2"), [400.0, 40.0, 400.0, 40.0])
            >>> controller.check_reference([np.full(7, 0.5), *np.zeros((4, 7))])  # at q = 0 an InputError
        """
        if coupling_depth(self.robot, self.base) == 0:
            return
        stack = np.stack([np.atleast_2d(x) for x in self.stack(reference)], axis=-2)
        rows = self.gains if gains is None else np.asarray(gains, dtype=float)
        if by_search(self.robot, self.couplings, self.base):
            self._check_regular(stack, rows, start)
        else:
            for pose in np.unique(stack[:, 0], axis=0):
                self._check_stable(pose, rows)

    def _check_regular(self, references: FloatArray, gains: FloatArray, start: JointState | None) -> None:
        """Refuses Φ(e_τ, e_τ') = (θ, θ') where its slopes are singular, or change their sign.

        Without couplings all eigenvalues of K ∂Φ are −1; they do not depend on the units of e_τ and time.
        """
        value, slopes = self._equation
        # On the reference e_τ = 0; θ is in Φ − (θ, θ'), not in its slopes.
        points = [(x, JointState(*x[[0, 1, 0, 1], : self.robot.n]), 0) for x in references]
        points += [] if start is None else [(references[0], start, STEPS)]
        signs = []
        for reference, state, steps in points:
            numbers, e = [*state, *reference, *gains], np.zeros(2 * sum(self.robot.compliant))
            J = slopes(e, *numbers)
            for _ in range(steps):
                if np.isfinite(J).all():
                    e = e - np.linalg.lstsq(J, np.array(value(e, *numbers))[:, 0], rcond=None)[0]
                    J = slopes(e, *numbers)
            J = J if np.isfinite(J).all() else np.zeros_like(J)
            signs.append(np.sign(np.linalg.det(J)))
            if not (signs[-1] == signs[0] and np.abs(np.linalg.eigvals(J)).min() > NEARLY_SINGULAR):
                where = "between the reference and the start" if steps else "on the reference"
                raise InputError(
                    f"MixedInverseDynamics: with exact couplings θ_d does not exist everywhere {where}, near q = "
                    f"{listed_pose(state.q)}, as motors act too strongly on the links for these gains; give others, "
                    "start closer to the reference, or use FeedforwardPD; with check=False it is simulated"
                )

    @cached_property
    def _equation(self) -> tuple[Any, Any]:
        """K (Φ − (θ, θ')) as a function of the errors, the state, the reference and the gains; its slopes by errors."""
        n, errors = self.robot.n, ca.SX.sym("e", 2 * sum(self.robot.compliant))
        state, gains = State(*(ca.SX.sym("x", n) for _ in range(4))), [ca.SX.sym("gain", n) for _ in self.gains]
        reference = [ca.SX.sym("reference", self.width) for _ in range(self.order + 1)]
        known = self.surroundings(reference)
        loop = loop_of(self.robot, state, {"reference": known.motion, "gains": gains}, known.wrenches, known.base)
        value, inputs = mismatch(loop, errors), [errors, *state, *reference, *gains]
        return ca.Function("value", inputs, [ca.densify(value)]), directions(inputs, value)

    def _check_stable(self, pose: FloatArray, gains: FloatArray) -> None:
        """Refuses a loop with neglected couplings that is unstable at rest on a pose."""
        rest, slopes = self._accelerations
        n, elastic = self.robot.n, np.flatnonzero(self.robot.compliant)
        still, q = np.zeros(n), pose[:n]
        theta = np.array(rest(q, pose, *gains))[:, 0]
        kept = [*range(n), *(n + elastic), *range(2 * n, 3 * n), *(3 * n + elastic)]
        J = slopes(np.concatenate([q, theta, still, still]), pose, *gains)[:, kept]
        values, vectors = np.linalg.eig(np.vstack([np.eye(len(J), 2 * len(J), len(J)), J]))
        worst = int(np.argmax(values.real))
        if values[worst].real > SLOW:
            joint = self.robot.joints[int(np.argmax(np.abs(vectors[:n, worst])))]
            raise InputError(
                f"MixedInverseDynamics: with neglected couplings the loop is unstable at rest at q = {listed_pose(q)}: "
                f"joint '{joint.name}' grows at {values[worst].real:.3g}/s; use FeedforwardPD(robot, [K_P, K_D]), or "
                "other gains; check=False simulates all the same"
            )

    @cached_property
    def _accelerations(self) -> tuple[Any, Any]:
        """θ at rest, as a function of q, pose and gains; slopes of q'' and the elastic joints' θ'' by q, θ, q', θ'."""
        n, x, pose = self.robot.n, ca.SX.sym("x", 4 * self.robot.n), ca.SX.sym("pose", self.width)
        q, theta, v, theta_v = ca.vertsplit(x, n)
        gains = [ca.SX.sym("gain", n) for _ in self.gains]
        known = self.surroundings([pose, *[zeros(self.width)] * self.order])
        options = {"tracking": {"reference": known.motion, "gains": gains}, "couplings": self.couplings}
        found = mixed_torque.function(self.robot, q, v, theta, theta_v, **options, **known.loads)
        a, theta_a = accelerations(self.robot, q, v, theta, theta_v, found.tau, known.wrenches)
        rest = ca.substitute(found.theta_d, ca.vertcat(theta, v, theta_v), ca.vertcat(q, zeros(2 * n)))
        moved = ca.vertcat(a, theta_a[np.flatnonzero(self.robot.compliant).tolist()])
        return ca.Function("rest", [q, pose, *gains], [ca.densify(rest)]), directions([x, pose, *gains], moved)


def listed_pose(q: FloatArray) -> str:
    return f"[{', '.join(f'{x:.3g}' for x in q)}]"
