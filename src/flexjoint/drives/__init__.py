"""The motor side of a joint: how motor torque reaches the link.

A drive is plain data, a field of its joint; a joint without a drive has a rigid, massless motor.  All quantities are
those on the link side, after the reduction.

One file per kind of drive; `motor.py` holds `Motor`, and `variable.py` what all drives with two motors have in common.
"""

from ..boundary import public
from .antagonistic import AntagonisticDrive as AntagonisticDrive
from .coupled_transmission import CoupledTransmission as CoupledTransmission
from .elastic import ElasticDrive as ElasticDrive
from .friction import Friction as Friction, friction_law as friction_law
from .hysteresis import (
    HYSTERESES as HYSTERESES,
    BoucWen as BoucWen,
    Dahl as Dahl,
    Hysteresis as Hysteresis,
)
from .kinds import DRIVES as DRIVES
from .lever import LeverDrive as LeverDrive
from .limits import MotorLimits as MotorLimits, SpringLimits as SpringLimits
from .maccepa import MaccepaDrive as MaccepaDrive
from .motor import Motor as Motor, coupled as coupled
from .rigid import RigidDrive as RigidDrive
from .variable import VariableStiffnessDrive as VariableStiffnessDrive

Drive = RigidDrive | ElasticDrive | VariableStiffnessDrive

public(__name__)
