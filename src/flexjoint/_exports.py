"""The names at the top of flexjoint, and its subpackages: the one list of them.

`import flexjoint` does not import this module; the first use of a name does.
"""

from . import (
    adapters as adapters,
    algorithm as algorithm,
    analysis as analysis,
    catalog as catalog,
    control as control,
    deployment as deployment,
    detection as detection,
    drives as drives,
    dynamics as dynamics,
    formats as formats,
    identification as identification,
    kinematics as kinematics,
    logs as logs,
    observers as observers,
    plots as plots,
    reports as reports,
    results as results,
    robot as robot,
    simulation as simulation,
    springs as springs,
    studies as studies,
    studio as studio,
    trajectory as trajectory,
    viewer as viewer,
)
from .algorithm import compile as compile, export_c as export_c, show_config as show_config
from .boundary import public as _public
from .catalog import builtin_robots as builtin_robots
from .compiler.runtime.kernel import Kernel as Kernel
from .control.base import JointState as JointState
from .drives import ElasticDrive as ElasticDrive, Motor as Motor, RigidDrive as RigidDrive
from .dynamics import (
    BaseMotion as BaseMotion,
    base_parameters as base_parameters,
    base_regressor as base_regressor,
    bias_torque as bias_torque,
    coriolis_matrix as coriolis_matrix,
    coriolis_product as coriolis_product,
    coriolis_torque as coriolis_torque,
    coriolis_transpose_product as coriolis_transpose_product,
    explain_orders as explain_orders,
    feedback_linearization as feedback_linearization,
    forward_dynamics as forward_dynamics,
    forward_kinematics as forward_kinematics,
    generalized_momentum as generalized_momentum,
    gravity_energy as gravity_energy,
    gravity_torque as gravity_torque,
    inverse_dynamics as inverse_dynamics,
    inverse_dynamics_along as inverse_dynamics_along,
    inverse_dynamics_step as inverse_dynamics_step,
    jacobian as jacobian,
    jacobian_derivatives as jacobian_derivatives,
    joint_wrenches as joint_wrenches,
    kinetic_energy as kinetic_energy,
    mass_matrix as mass_matrix,
    mass_matrix_rate as mass_matrix_rate,
    motor_motion as motor_motion,
    regressor as regressor,
    spatial_momentum as spatial_momentum,
    torque_derivatives as torque_derivatives,
)
from .errors import (
    FlexjointError as FlexjointError,
    FlexjointWarning as FlexjointWarning,
    InputError as InputError,
    Interrupted as Interrupted,
    NonFiniteError as NonFiniteError,
    RobotError as RobotError,
)
from .formats import from_dh as from_dh, load as load, write_robot as write_robot
from .kinematics import inverse_kinematics as inverse_kinematics
from .robot import Joint as Joint, Limits as Limits, Link as Link, Robot as Robot, random_robot as random_robot
from .simulation import Simulation as Simulation, simulate as simulate

_public(__name__)
_complete = True
