"""The robot, frozen data, and what it must fulfil."""

from .drive_checks import FIDELITIES
from .joints import JointKind
from .model import Fidelity, Robot, a_robot, parents_first
from .parts import BASE, Joint, Limits, Link

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
    "parents_first",
]
