"""What a motion asks of the motors and what a simulation gives: tables, files, plots, animations."""

from .files import check_results_path, check_table_path, read_results, write_results, write_table
from .plots import check_plot_path, panels, plot_motors
from .table import MotorTable, motor_table, sample_times

__all__ = [
    "MotorTable",
    "check_plot_path",
    "check_results_path",
    "check_table_path",
    "motor_table",
    "panels",
    "plot_motors",
    "read_results",
    "sample_times",
    "write_results",
    "write_table",
]
