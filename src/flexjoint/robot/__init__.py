"""The robot as frozen data: links, joints, drives, and what every robot must fulfil."""

from ..boundary import public
from .drive_checks import FIDELITIES as FIDELITIES
from .joints import JointKind as JointKind
from .mimics import MovingJoint as MovingJoint
from .model import Fidelity as Fidelity, Robot as Robot, a_robot as a_robot, parents_first as parents_first
from .parameters import (
    Parameter as Parameter,
    numeric as numeric,
    robot_parameters as robot_parameters,
    symbols as symbols,
)
from .parts import BASE as BASE, Joint as Joint, Limits as Limits, Link as Link, Mimic as Mimic
from .random_robots import random_robot as random_robot
from .sources import (
    Source as Source,
    Trust as Trust,
    source_of as source_of,
    without_source as without_source,
    worst_trust as worst_trust,
)

public(__name__)
