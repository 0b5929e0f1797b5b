"""MJCF files, the format of MuJoCo: robots through its compiler, with a report; and robots as elastic plants for it."""

from .reading import MjcfRobot as MjcfRobot, parse_mjcf as parse_mjcf, read_mjcf as read_mjcf
from .writing import (
    Difference as Difference,
    MjcfModel as MjcfModel,
    mjcf_model as mjcf_model,
    write_mjcf as write_mjcf,
)
