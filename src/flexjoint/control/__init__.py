"""Controllers, one file a law: frozen parameters, (state, reference, measurement) -> (state, motor torque)."""

from .feedback_linearization import ControllerState, FeedbackLinearization, JointState
from .gains import gains_from_poles
from .sampling import (
    JointModes,
    joint_modes,
    routh_period_limit,
    runge_kutta_limit,
    sampling_period_limit,
)

__all__ = [
    "ControllerState",
    "FeedbackLinearization",
    "JointModes",
    "JointState",
    "gains_from_poles",
    "joint_modes",
    "routh_period_limit",
    "runge_kutta_limit",
    "sampling_period_limit",
]
