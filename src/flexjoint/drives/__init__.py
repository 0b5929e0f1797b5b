"""The motor side of a joint: how the actuator's torque reaches the link.

A drive is plain data and a field of its joint; a joint without a drive is driven directly and massless
on the motor side.  All quantities are on the link side, after the reduction.

`single.py`: joints with one motor; `variable.py`: what a joint with two motors and variable stiffness is, and one file
for each kind of them.
"""

from .antagonistic import AntagonisticDrive
from .lever import LeverDrive
from .motor import Motor, coupled
from .single import ElasticDrive, RigidDrive
from .variable import VariableStiffnessDrive

__all__ = [
    "AntagonisticDrive",
    "Drive",
    "ElasticDrive",
    "LeverDrive",
    "Motor",
    "RigidDrive",
    "VariableStiffnessDrive",
    "coupled",
]

Drive = RigidDrive | ElasticDrive | VariableStiffnessDrive
