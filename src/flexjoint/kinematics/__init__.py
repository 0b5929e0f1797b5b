"""Poses of frames and the joint positions that reach them."""

from ..boundary import public
from .inverse import inverse_kinematics as inverse_kinematics
from .pose import Pose as Pose, parse_pose as parse_pose, read_pose as read_pose
from .pose_files import load_poses as load_poses
from .postures import Postures as Postures
from .target import Target as Target

public(__name__)
