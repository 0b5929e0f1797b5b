"""Analysis of robots and trajectories: motor torques, sensitivities, rotor models, linear systems, modes."""

from ..boundary import public
from .eigenfrequencies import joint_eigenfrequencies as joint_eigenfrequencies
from .equations import (
    Equations as Equations,
    Parameter as Parameter,
    Quantity as Quantity,
    equations_of_motion as equations_of_motion,
    recursion_code as recursion_code,
)
from .linear_model import LinearModel as LinearModel
from .linearization import linearize as linearize
from .lint import Finding as Finding, check_robot as check_robot
from .margins import LoopGain as LoopGain, Margins as Margins, loop_gain as loop_gain
from .robot_overview import (
    Eigenfrequencies as Eigenfrequencies,
    Placement as Placement,
    RobotOverview as RobotOverview,
    robot_overview as robot_overview,
)
from .rotor_models import RotorComparison as RotorComparison, compare_rotor_models as compare_rotor_models
from .sensitivity import Band as Band, sensitivity as sensitivity
from .torque_table import (
    JointTable as JointTable,
    MotorTable as MotorTable,
    motor_table as motor_table,
    sample_times as sample_times,
)
from .variable_stiffness_table import StiffnessTable as StiffnessTable, stiffness_table as stiffness_table
from .vibration import (
    MeasuredMode as MeasuredMode,
    ResidualVibration as ResidualVibration,
    residual_vibration as residual_vibration,
    vibration_modes as vibration_modes,
)

public(__name__)
