"""What a motion asks of the motors and what a simulation gives: tables, files, plots, animations."""

from .animation import animate, check_animation_path
from .files import check_results_path, check_table_path, read_results, write_results, write_table
from .plots import check_plot_path, panels, plot_motors
from .simulation_plots import plot_simulation, simulation_panels
from .table import MotorTable, motor_table, sample_times

__all__ = [
    "MotorTable",
    "animate",
    "check_animation_path",
    "check_plot_path",
    "check_results_path",
    "check_table_path",
    "motor_table",
    "panels",
    "plot_motors",
    "plot_simulation",
    "read_results",
    "sample_times",
    "simulation_panels",
    "write_results",
    "write_table",
]
