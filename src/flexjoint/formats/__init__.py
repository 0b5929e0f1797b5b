"""Files of robots and of numbers.  `loading.py` selects the reader of a robot file by its suffix."""

from .dh import from_dh as from_dh
from .loading import READERS as READERS, load as load, read_robot as read_robot
from .robot_files import parse_robot as parse_robot
from .writing import write_robot as write_robot
