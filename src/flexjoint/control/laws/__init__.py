"""Torques of control laws as algorithms, one kernel each."""

from .linearizing import linearizing_control as linearizing_control
from .mixed import (
    AdaptiveMixedTorque as AdaptiveMixedTorque,
    MixedTorque as MixedTorque,
    adaptive_mixed_torque as adaptive_mixed_torque,
    adaptive_mixed_torque_from_positions as adaptive_mixed_torque_from_positions,
    mixed_torque as mixed_torque,
)
from .mixed_lyapunov import MixedLyapunov as MixedLyapunov, mixed_lyapunov as mixed_lyapunov
from .motion_and_stiffness import (
    MixedMotionAndStiffnessTorque as MixedMotionAndStiffnessTorque,
    MotionAndStiffnessTorque as MotionAndStiffnessTorque,
    motion_and_stiffness_control as motion_and_stiffness_control,
)
from .passivity import (
    AdaptiveTorque as AdaptiveTorque,
    adaptive_torque as adaptive_torque,
    passivity_torque as passivity_torque,
)
