"""Cartesian paths, and the joint motions that follow them."""

from .arc import Arc as Arc
from .blended_path import BlendedPath as BlendedPath
from .line import Line as Line
from .path import CartesianPath as CartesianPath
from .pose_spline import PoseSpline as PoseSpline
