"""Poses of frames and the joint positions that reach them."""

from .pose import Pose as Pose, load_pose as load_pose, read_pose as read_pose
