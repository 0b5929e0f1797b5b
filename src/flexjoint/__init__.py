"""flexjoint: dynamics of robots whose joints are rigid, elastic, or any mix, exact and compiled.

    import flexjoint as fj
    robot = fj.load("kuka_lwr")
    tau = fj.inverse_dynamics(robot, q, v, a, jerk, snap)

Importing flexjoint imports NumPy only; CasADi and LLVM come in when a kernel is first compiled.
"""

from .algorithms.articulated_body import forward_dynamics
from .algorithms.coriolis import (
    coriolis_matrix,
    coriolis_product,
    coriolis_transpose_product,
    mass_matrix_rate,
    modified_newton_euler,
)
from .algorithms.elastic import inverse_dynamics
from .algorithms.energy import (
    Momentum,
    generalized_momentum,
    kinetic_energy,
    momentum,
    potential_energy,
)
from .algorithms.kinematics import Pose, forward_kinematics, jacobian, jacobian_derivatives
from .algorithms.mass_matrix import mass_matrix
from .algorithms.newton_euler import (
    BaseMotion,
    bias_torque,
    coriolis_torque,
    gravity_torque,
    joint_wrenches,
    torque_derivatives,
)
from .algorithms.passivity import AdaptiveTorque, adaptive_torque, passivity_torque
from .algorithms.regressor import (
    BaseParameters,
    base_parameters,
    base_regressor,
    regressor,
    standard_parameters,
)
from .api import Algorithm, compile, show_config
from .compiler.kernel import Kernel
from .control import AdaptiveControl, AdaptiveState, LinkState, PassivityControl
from .drives import ElasticDrive, Motor, RigidDrive
from .errors import FlexjointError, InputError, NonFiniteError, RobotError
from .loading import builtin_robots, load
from .loading.dh import from_dh
from .loading.toml import read_robot, write_robot
from .random_robots import random_robot
from .robot import Joint, Limits, Link, Robot, parents_first
from .trajectory import (
    FilteredStep,
    Joined,
    RestToRest,
    Retimed,
    Samples,
    Scaled,
    Sinusoid,
    Spline,
    Trajectory,
    load_trajectory,
    require_smoothness,
)

__all__ = [
    "AdaptiveControl",
    "AdaptiveState",
    "AdaptiveTorque",
    "Algorithm",
    "BaseMotion",
    "BaseParameters",
    "ElasticDrive",
    "FilteredStep",
    "FlexjointError",
    "InputError",
    "Joined",
    "Joint",
    "Kernel",
    "Limits",
    "Link",
    "LinkState",
    "Momentum",
    "Motor",
    "NonFiniteError",
    "PassivityControl",
    "Pose",
    "RestToRest",
    "Retimed",
    "RigidDrive",
    "Robot",
    "RobotError",
    "Samples",
    "Scaled",
    "Sinusoid",
    "Spline",
    "Trajectory",
    "adaptive_torque",
    "base_parameters",
    "base_regressor",
    "bias_torque",
    "builtin_robots",
    "compile",
    "coriolis_matrix",
    "coriolis_product",
    "coriolis_torque",
    "coriolis_transpose_product",
    "forward_dynamics",
    "forward_kinematics",
    "from_dh",
    "generalized_momentum",
    "gravity_torque",
    "inverse_dynamics",
    "jacobian",
    "jacobian_derivatives",
    "joint_wrenches",
    "kinetic_energy",
    "load",
    "load_trajectory",
    "mass_matrix",
    "mass_matrix_rate",
    "modified_newton_euler",
    "momentum",
    "parents_first",
    "passivity_torque",
    "potential_energy",
    "random_robot",
    "read_robot",
    "regressor",
    "require_smoothness",
    "show_config",
    "standard_parameters",
    "torque_derivatives",
    "write_robot",
]
