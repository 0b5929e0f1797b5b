"""The robot, frozen data, and what it must fulfil."""

from .checks import is_number
from .drive_checks import FIDELITIES
from .model import Fidelity, Robot, a_robot, parents_first
from .parts import BASE, Joint, JointKind, Limits, Link

__all__ = [
    "BASE",
    "FIDELITIES",
    "Fidelity",
    "Joint",
    "JointKind",
    "Limits",
    "Link",
    "Robot",
    "a_robot",
    "is_number",
    "parents_first",
]
