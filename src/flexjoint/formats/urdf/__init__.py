"""URDF files: elements, motors, and a report of what is not used."""

from .reading import UrdfRobot as UrdfRobot, parse_urdf as parse_urdf, read_urdf as read_urdf
from .writing import write_urdf as write_urdf
