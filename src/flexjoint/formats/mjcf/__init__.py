"""MJCF files, through MuJoCo's compiler: bodies, joints, actuators, constraints, and a report of what is not used."""

from .reading import MjcfRobot as MjcfRobot, parse_mjcf as parse_mjcf, read_mjcf as read_mjcf
