"""What a motion asks of the motors, as a table: computed in blocks, saved as CSV, NPZ or Parquet, and plotted."""

from .files import check_table_path, write_table
from .plots import check_plot_path, panels, plot_motors
from .rotor_models import RotorComparison, compare_rotor_models
from .rotor_plots import plot_rotor_models
from .sensitivity import Band, sensitivity
from .stiffness import StiffnessTable, stiffness_table
from .table import JointTable, MotorTable, motor_table, sample_times

__all__ = [
    "Band",
    "JointTable",
    "MotorTable",
    "RotorComparison",
    "StiffnessTable",
    "check_plot_path",
    "check_table_path",
    "compare_rotor_models",
    "motor_table",
    "panels",
    "plot_motors",
    "plot_rotor_models",
    "sample_times",
    "sensitivity",
    "stiffness_table",
    "write_table",
]
