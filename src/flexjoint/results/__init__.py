"""What a motion asks of the motors, what a simulation gives and what logs tell: tables, files, plots, animations."""

from .animation import animate, check_animation_path
from .detection import Blindness, Detection, Detections, Event, detect
from .detection_plot import plot_detections
from .files import check_results_path, check_table_path, read_results, write_csv, write_results, write_table
from .logs import Log, read_log
from .plots import check_plot_path, panels, plot_motors
from .rotor_models import RotorComparison, compare_rotor_models
from .rotor_plots import plot_rotor_models
from .sensitivity import Band, sensitivity
from .simulation_plots import plot_simulation, simulation_panels
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
    "animate",
    "check_animation_path",
    "check_plot_path",
    "check_results_path",
    "check_table_path",
    "compare_rotor_models",
    "detect",
    "motor_table",
    "panels",
    "plot_detections",
    "plot_motors",
    "plot_rotor_models",
    "plot_simulation",
    "read_log",
    "read_results",
    "sample_times",
    "sensitivity",
    "simulation_panels",
    "stiffness_table",
    "write_csv",
    "write_results",
    "write_table",
]
