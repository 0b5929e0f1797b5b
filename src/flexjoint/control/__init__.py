"""Controllers, one file per law: (state, reference, measurement) -> (state, motor torque).

To add a law: one file with a subclass of `Controller` that declares its `registration`, and one line here.
"""

from ..boundary import public
from . import laws as laws
from .adaptive import AdaptiveControl as AdaptiveControl, AdaptiveState as AdaptiveState
from .adaptive_mixed import AdaptiveMixedControl as AdaptiveMixedControl
from .base import (
    REGISTRY as REGISTRY,
    Controller as Controller,
    Gain as Gain,
    JointState as JointState,
    Registration as Registration,
)
from .computed_torque import ComputedTorque as ComputedTorque
from .damping_ratio import DampingRatio as DampingRatio
from .feedback_linearization import (
    ControllerState as ControllerState,
    ExtensionState as ExtensionState,
    FeedbackLinearization as FeedbackLinearization,
)
from .feedforward_pd import FeedforwardPD as FeedforwardPD
from .friction_compensation import FrictionCompensation as FrictionCompensation
from .full_state_feedback import FullStateFeedback as FullStateFeedback
from .gains import gains_from_poles as gains_from_poles
from .mid_period import (
    MID_PERIOD as MID_PERIOD,
    MidPeriod as MidPeriod,
    registered_controller as registered_controller,
)
from .mixed_inverse_dynamics import MixedInverseDynamics as MixedInverseDynamics
from .motor_pd import MotorPD as MotorPD
from .observed_friction import ObservedFrictionCompensation as ObservedFrictionCompensation
from .open_loop import OpenLoop as OpenLoop
from .passivity import PassivityControl as PassivityControl, RigidState as RigidState
from .reactions import (
    Guarded as Guarded,
    Reaction as Reaction,
    Reflex as Reflex,
    Stop as Stop,
    ZeroGravity as ZeroGravity,
)
from .sampling import (
    JointModes as JointModes,
    joint_modes as joint_modes,
    routh_period_limit as routh_period_limit,
    runge_kutta_limit as runge_kutta_limit,
    sampling_period_limit as sampling_period_limit,
)
from .structure_preserving import StructurePreserving as StructurePreserving
from .variable_stiffness import (
    TrackingIntegrals as TrackingIntegrals,
    TrackingState as TrackingState,
    VariableStiffnessTracking as VariableStiffnessTracking,
    stiffness_band as stiffness_band,
)

public(__name__)
