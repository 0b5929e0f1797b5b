"""Cartesian paths, and the joint motions that follow them."""

from .arc import Arc as Arc
from .blended_path import BlendedPath as BlendedPath
from .joint_path import PathError as PathError
from .line import Line as Line
from .motion import CartesianMotion as CartesianMotion
from .path import CartesianPath as CartesianPath
from .pose_spline import PoseSpline as PoseSpline
from .reading import read_line as read_line
