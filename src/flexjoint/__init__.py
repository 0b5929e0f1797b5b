"""flexjoint: dynamics of robots whose joints are rigid, elastic, or any mix, exact and compiled.

    import flexjoint as fj
    robot = fj.load("kuka_lwr")
    tau = fj.inverse_dynamics(robot, q, v, a, jerk, snap)

Importing flexjoint imports NumPy only; CasADi and LLVM come in when a kernel is first compiled.
"""

from .algorithms.articulated_body import forward_dynamics
from .algorithms.damped import DampedMotion, damped_inverse_dynamics, damped_motion
from .algorithms.elastic import MotorMotion, inverse_dynamics, motor_motion
from .algorithms.elastic_forward import Accelerations, elastic_forward_dynamics
from .algorithms.energy import (
    Momentum,
    generalized_momentum,
    kinetic_energy,
    momentum,
    potential_energy,
)
from .algorithms.feedback_linearization import (
    LinearizingTorque,
    LinkMotion,
    chain_length,
    feedback_linearization,
    feedback_linearization_from_positions,
    feedback_linearization_from_torques,
    linearizing_control,
    link_motion,
)
from .algorithms.friction import coulomb_command
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
from .algorithms.transmission import LinkState, SpringTorque, link_state, relative_degree, spring_torques
from .api import Algorithm, compile, export_c, show_config
from .compiler.kernel import Kernel
from .control import (
    ComputedTorque,
    Controller,
    ControllerState,
    FeedbackLinearization,
    FeedforwardPD,
    FullStateFeedback,
    JointModes,
    JointState,
    MotorPD,
    OpenLoop,
    StructurePreserving,
    gains_from_poles,
    joint_modes,
    routh_period_limit,
    runge_kutta_limit,
    sampling_period_limit,
)
from .drives import ElasticDrive, Motor, RigidDrive
from .errors import FlexjointError, InputError, NonFiniteError, RobotError
from .loading import builtin_robots, load
from .loading.dh import from_dh
from .loading.toml import read_robot, write_robot
from .observers import (
    DerivativeState,
    FilteredDerivative,
    KalmanDifferentiator,
    MotionEstimate,
    output_covariance,
)
from .paths import Parameter, parameters
from .random_robots import random_robot
from .robot import Joint, Limits, Link, Robot, parents_first
from .simulation import LinearModel, Plant, Simulation, linearize, reference_solution, simulate
from .springs import CubicSpring, HardeningSpring, LinearSpring, PiecewiseSpring, Spring
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
    "Accelerations",
    "Algorithm",
    "BaseMotion",
    "ComputedTorque",
    "Controller",
    "ControllerState",
    "CubicSpring",
    "DampedMotion",
    "DerivativeState",
    "ElasticDrive",
    "FeedbackLinearization",
    "FeedforwardPD",
    "FilteredDerivative",
    "FilteredStep",
    "FlexjointError",
    "FullStateFeedback",
    "HardeningSpring",
    "InputError",
    "Joined",
    "Joint",
    "JointModes",
    "JointState",
    "KalmanDifferentiator",
    "Kernel",
    "Limits",
    "LinearModel",
    "LinearSpring",
    "LinearizingTorque",
    "Link",
    "LinkMotion",
    "LinkState",
    "Momentum",
    "MotionEstimate",
    "Motor",
    "MotorMotion",
    "MotorPD",
    "NonFiniteError",
    "OpenLoop",
    "Parameter",
    "PiecewiseSpring",
    "Plant",
    "Pose",
    "RestToRest",
    "Retimed",
    "RigidDrive",
    "Robot",
    "RobotError",
    "Samples",
    "Scaled",
    "Simulation",
    "Sinusoid",
    "Spline",
    "Spring",
    "SpringTorque",
    "StructurePreserving",
    "Trajectory",
    "bias_torque",
    "builtin_robots",
    "chain_length",
    "compile",
    "coriolis_torque",
    "coulomb_command",
    "damped_inverse_dynamics",
    "damped_motion",
    "elastic_forward_dynamics",
    "export_c",
    "feedback_linearization",
    "feedback_linearization_from_positions",
    "feedback_linearization_from_torques",
    "forward_dynamics",
    "forward_kinematics",
    "from_dh",
    "gains_from_poles",
    "generalized_momentum",
    "gravity_torque",
    "inverse_dynamics",
    "jacobian",
    "jacobian_derivatives",
    "joint_modes",
    "joint_wrenches",
    "kinetic_energy",
    "linearize",
    "linearizing_control",
    "link_motion",
    "link_state",
    "load",
    "load_trajectory",
    "mass_matrix",
    "momentum",
    "motor_motion",
    "output_covariance",
    "parameters",
    "parents_first",
    "potential_energy",
    "random_robot",
    "read_robot",
    "reference_solution",
    "relative_degree",
    "require_smoothness",
    "routh_period_limit",
    "runge_kutta_limit",
    "sampling_period_limit",
    "show_config",
    "simulate",
    "spring_torques",
    "torque_derivatives",
    "write_robot",
]
