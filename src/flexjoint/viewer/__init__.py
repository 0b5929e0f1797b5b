"""Pictures of robots, and animations of simulations: GIF, MP4, or a self-contained HTML page."""

from .animation import animate as animate, check_animation_path as check_animation_path
from .robot_figure import plot_robot as plot_robot
