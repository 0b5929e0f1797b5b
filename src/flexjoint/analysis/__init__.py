"""Analysis of robots and motions: tables of torques, sensitivities, rotor models, linear systems and modes."""

from .linear_model import LinearModel, joint_eigenfrequencies, linearize
from .rotor_models import RotorComparison, compare_rotor_models
from .sensitivity import Band, sensitivity
from .torque_table import JointTable, MotorTable, motor_table, sample_times
from .variable_stiffness_table import StiffnessTable, stiffness_table

__all__ = [
    "Band",
    "JointTable",
    "LinearModel",
    "MotorTable",
    "RotorComparison",
    "StiffnessTable",
    "compare_rotor_models",
    "joint_eigenfrequencies",
    "linearize",
    "motor_table",
    "sample_times",
    "sensitivity",
    "stiffness_table",
]
