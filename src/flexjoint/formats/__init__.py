"""Files of robots and of numbers.  `loading.py` selects the reader of a robot file by its suffix."""

from ..boundary import public
from .dh import from_dh as from_dh
from .drive_files import DriveFile as DriveFile
from .loading import (
    READERS as READERS,
    file_geometry as file_geometry,
    file_report as file_report,
    load as load,
    read_robot as read_robot,
)
from .mjcf import (
    Difference as Difference,
    MjcfModel as MjcfModel,
    MjcfRobot as MjcfRobot,
    mjcf_model as mjcf_model,
    parse_mjcf as parse_mjcf,
    read_mjcf as read_mjcf,
    write_mjcf as write_mjcf,
)
from .pinocchio import from_pinocchio as from_pinocchio, to_pinocchio as to_pinocchio
from .report import Finding as Finding
from .robot_files import parse_robot as parse_robot
from .tree.records import Geometry as Geometry
from .urdf import (
    UrdfRobot as UrdfRobot,
    parse_urdf as parse_urdf,
    read_urdf as read_urdf,
    write_urdf as write_urdf,
)
from .writing import write_robot as write_robot

public(__name__)
