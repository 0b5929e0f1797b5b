"""Joint kinds, one file each: how a joint moves, its units, and which numbers are plausible for it.

A new kind is one new file here: a frozen dataclass that derives from `JointKind`.  Its fields are further numbers of
such a joint: keys of robot files and free parameters of kernels.  Every module of this package is imported, so robot
files, DH tables and all algorithms know the kind without another line, and its class is an attribute of this package:
`from flexjoint.robot.joints import Prismatic`.
"""

from importlib import import_module
from pkgutil import iter_modules

from .base import KINDS, JointKind, joint_kind

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")
globals().update({kind.__name__: kind for kind in KINDS.values()})

__all__ = ["KINDS", "JointKind", "joint_kind"]
