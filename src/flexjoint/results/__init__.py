"""What a motion asks of the motors, as a table: computed in blocks, saved as CSV, NPZ or Parquet, and plotted;
and what logs tell."""

from .detection import Blindness, Detection, Detections, Event, detect, write_detections
from .detection_plot import plot_detections
from .files import check_table_path, write_table
from .logs import Log, read_log
from .plots import check_plot_path, panels, plot_motors
from .rotor_models import RotorComparison, compare_rotor_models
from .rotor_plots import plot_rotor_models
from .sensitivity import Band, sensitivity
from .stiffness import StiffnessTable, stiffness_table
from .table import JointTable, MotorTable, motor_table, sample_times

__all__ = [
    "Band",
    "Blindness",
    "Detection",
    "Detections",
    "Event",
    "JointTable",
    "Log",
    "MotorTable",
    "RotorComparison",
    "StiffnessTable",
    "check_plot_path",
    "check_table_path",
    "compare_rotor_models",
    "detect",
    "motor_table",
    "panels",
    "plot_detections",
    "plot_motors",
    "plot_rotor_models",
    "read_log",
    "sample_times",
    "sensitivity",
    "stiffness_table",
    "write_detections",
    "write_table",
]
