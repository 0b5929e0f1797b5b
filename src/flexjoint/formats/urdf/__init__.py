"""URDF files: XML with line numbers, its elements, the tree of joints, the robot, and a report of what is not used."""

from .elements import Geometry as Geometry
from .reading import UrdfRobot as UrdfRobot, parse_urdf as parse_urdf, read_urdf as read_urdf
from .report import Finding as Finding
from .writing import write_urdf as write_urdf
