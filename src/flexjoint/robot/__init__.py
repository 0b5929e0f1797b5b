"""The robot, frozen data, and what it must fulfil."""

from .model import Fidelity, Joint, JointKind, Limits, Link, Robot, parents_first
from .validation import BASE, FIDELITIES, is_number

__all__ = [
    "BASE",
    "FIDELITIES",
    "Fidelity",
    "Joint",
    "JointKind",
    "Limits",
    "Link",
    "Robot",
    "is_number",
    "parents_first",
]
