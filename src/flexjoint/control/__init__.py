"""Controllers, one file a law: frozen parameters, (state, reference, measurement) -> (state, motor torque)."""

from .adaptive import AdaptiveControl, AdaptiveState
from .adaptive_mixed import AdaptiveMixedControl
from .base import Controller, JointState
from .computed_torque import ComputedTorque
from .feedback_linearization import ControllerState, FeedbackLinearization
from .feedforward_pd import FeedforwardPD
from .full_state_feedback import FullStateFeedback
from .gains import gains_from_poles
from .mixed_inverse_dynamics import MixedInverseDynamics
from .motor_pd import MotorPD
from .open_loop import OpenLoop
from .passivity import PassivityControl, RigidState
from .reactions import Guarded, Reaction, Reflex, Stop, ZeroGravity
from .sampling import JointModes, joint_modes, routh_period_limit, runge_kutta_limit, sampling_period_limit
from .structure_preserving import StructurePreserving
from .variable_stiffness import TrackingIntegrals, VariableStiffnessTracking, stiffness_band

__all__ = [
    "AdaptiveControl",
    "AdaptiveMixedControl",
    "AdaptiveState",
    "ComputedTorque",
    "Controller",
    "ControllerState",
    "FeedbackLinearization",
    "FeedforwardPD",
    "FullStateFeedback",
    "Guarded",
    "JointModes",
    "JointState",
    "MixedInverseDynamics",
    "MotorPD",
    "OpenLoop",
    "PassivityControl",
    "Reaction",
    "Reflex",
    "RigidState",
    "Stop",
    "StructurePreserving",
    "TrackingIntegrals",
    "VariableStiffnessTracking",
    "ZeroGravity",
    "gains_from_poles",
    "joint_modes",
    "routh_period_limit",
    "runge_kutta_limit",
    "sampling_period_limit",
    "stiffness_band",
]
