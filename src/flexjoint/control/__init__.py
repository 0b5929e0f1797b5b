"""Controllers, one file a law: frozen parameters, (state, reference, measurement) -> (state, motor torque)."""

from .adaptive import AdaptiveControl, AdaptiveState
from .feedback_linearization import ControllerState, FeedbackLinearization, JointState
from .gains import gains_from_poles
from .passivity import PassivityControl, RigidState
from .sampling import (
    JointModes,
    joint_modes,
    routh_period_limit,
    runge_kutta_limit,
    sampling_period_limit,
)

__all__ = [
    "AdaptiveControl",
    "AdaptiveState",
    "ControllerState",
    "FeedbackLinearization",
    "JointModes",
    "JointState",
    "PassivityControl",
    "RigidState",
    "gains_from_poles",
    "joint_modes",
    "routh_period_limit",
    "runge_kutta_limit",
    "sampling_period_limit",
]
