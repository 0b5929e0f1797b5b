"""Pictures of robots, animations of simulations (GIF, MP4, HTML), and a viewer in the browser."""

from ..boundary import public
from .animation import animate as animate, check_animation_path as check_animation_path
from .motion import Motion as Motion
from .motion_files import read_motion as read_motion
from .robot_figure import plot_robot as plot_robot
from .view import view as view
from .viewer import Viewer as Viewer

public(__name__)
