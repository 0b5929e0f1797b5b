"""What flexjoint/__init__.py makes available, for type checkers and editors."""

from .algorithms.antagonism import StiffnessBand as StiffnessBand
from .algorithms.antagonism import feasible_stiffness as feasible_stiffness
from .algorithms.articulated_body import forward_dynamics as forward_dynamics
from .algorithms.coriolis import (
    coriolis_matrix as coriolis_matrix,
)
from .algorithms.coriolis import (
    coriolis_product as coriolis_product,
)
from .algorithms.coriolis import (
    coriolis_transpose_product as coriolis_transpose_product,
)
from .algorithms.coriolis import (
    mass_matrix_rate as mass_matrix_rate,
)
from .algorithms.coriolis import (
    modified_newton_euler as modified_newton_euler,
)
from .algorithms.damped import (
    DampedMotion as DampedMotion,
)
from .algorithms.damped import (
    damped_inverse_dynamics as damped_inverse_dynamics,
)
from .algorithms.damped import (
    damped_motion as damped_motion,
)
from .algorithms.elastic import (
    MotorMotion as MotorMotion,
)
from .algorithms.elastic import (
    inverse_dynamics as inverse_dynamics,
)
from .algorithms.elastic import (
    motor_motion as motor_motion,
)
from .algorithms.elastic_forward import (
    Accelerations as Accelerations,
)
from .algorithms.elastic_forward import (
    elastic_forward_dynamics as elastic_forward_dynamics,
)
from .algorithms.energy import (
    Momentum as Momentum,
)
from .algorithms.energy import (
    generalized_momentum as generalized_momentum,
)
from .algorithms.energy import (
    kinetic_energy as kinetic_energy,
)
from .algorithms.energy import (
    momentum as momentum,
)
from .algorithms.energy import (
    potential_energy as potential_energy,
)
from .algorithms.feedback_linearization import (
    LinearizingTorque as LinearizingTorque,
)
from .algorithms.feedback_linearization import (
    LinkMotion as LinkMotion,
)
from .algorithms.feedback_linearization import (
    chain_length as chain_length,
)
from .algorithms.feedback_linearization import (
    feedback_linearization as feedback_linearization,
)
from .algorithms.feedback_linearization import (
    feedback_linearization_from_positions as feedback_linearization_from_positions,
)
from .algorithms.feedback_linearization import (
    feedback_linearization_from_torques as feedback_linearization_from_torques,
)
from .algorithms.feedback_linearization import (
    linearizing_control as linearizing_control,
)
from .algorithms.feedback_linearization import (
    link_motion as link_motion,
)
from .algorithms.friction import coulomb_command as coulomb_command
from .algorithms.kinematics import (
    Pose as Pose,
)
from .algorithms.kinematics import (
    forward_kinematics as forward_kinematics,
)
from .algorithms.kinematics import (
    jacobian as jacobian,
)
from .algorithms.kinematics import (
    jacobian_derivatives as jacobian_derivatives,
)
from .algorithms.mass_matrix import mass_matrix as mass_matrix
from .algorithms.newton_euler import (
    BaseMotion as BaseMotion,
)
from .algorithms.newton_euler import (
    bias_torque as bias_torque,
)
from .algorithms.newton_euler import (
    coriolis_torque as coriolis_torque,
)
from .algorithms.newton_euler import (
    gravity_torque as gravity_torque,
)
from .algorithms.newton_euler import (
    joint_wrenches as joint_wrenches,
)
from .algorithms.newton_euler import (
    torque_derivatives as torque_derivatives,
)
from .algorithms.orders import (
    JointOrders as JointOrders,
)
from .algorithms.orders import (
    Orders as Orders,
)
from .algorithms.orders import (
    derivative_orders as derivative_orders,
)
from .algorithms.orders import (
    explain_orders as explain_orders,
)
from .algorithms.passivity import (
    AdaptiveTorque as AdaptiveTorque,
)
from .algorithms.passivity import (
    adaptive_torque as adaptive_torque,
)
from .algorithms.passivity import (
    passivity_torque as passivity_torque,
)
from .algorithms.regressor import (
    BaseParameters as BaseParameters,
)
from .algorithms.regressor import (
    base_parameters as base_parameters,
)
from .algorithms.regressor import (
    base_regressor as base_regressor,
)
from .algorithms.regressor import (
    regressor as regressor,
)
from .algorithms.regressor import (
    standard_parameters as standard_parameters,
)
from .algorithms.rotors import (
    GeneralizedForces as GeneralizedForces,
)
from .algorithms.rotors import (
    carrier_torque as carrier_torque,
)
from .algorithms.rotors import (
    coupled_mass_matrix as coupled_mass_matrix,
)
from .algorithms.rotors import (
    generalized_forces as generalized_forces,
)
from .algorithms.rotors import (
    rotor_coupling as rotor_coupling,
)
from .algorithms.rotors import (
    rotor_torque as rotor_torque,
)
from .algorithms.transmission import (
    LinkState as LinkState,
)
from .algorithms.transmission import (
    SpringTorque as SpringTorque,
)
from .algorithms.transmission import (
    link_state as link_state,
)
from .algorithms.transmission import (
    relative_degree as relative_degree,
)
from .algorithms.transmission import (
    spring_torques as spring_torques,
)
from .algorithms.variable_stiffness import (
    MotorTorques as MotorTorques,
)
from .algorithms.variable_stiffness import (
    VariableStiffnessAccelerations as VariableStiffnessAccelerations,
)
from .algorithms.variable_stiffness import (
    VariableStiffnessMotion as VariableStiffnessMotion,
)
from .algorithms.variable_stiffness import (
    variable_stiffness_forward_dynamics as variable_stiffness_forward_dynamics,
)
from .algorithms.variable_stiffness import (
    variable_stiffness_inverse_dynamics as variable_stiffness_inverse_dynamics,
)
from .algorithms.variable_stiffness import (
    variable_stiffness_linearization as variable_stiffness_linearization,
)
from .algorithms.variable_stiffness import (
    variable_stiffness_motion as variable_stiffness_motion,
)
from .api import Algorithm as Algorithm
from .api import compile as compile
from .api import export_c as export_c
from .api import show_config as show_config
from .compiler.kernel import Kernel as Kernel
from .control import (
    AdaptiveControl as AdaptiveControl,
)
from .control import (
    AdaptiveState as AdaptiveState,
)
from .control import (
    ComputedTorque as ComputedTorque,
)
from .control import (
    Controller as Controller,
)
from .control import (
    ControllerState as ControllerState,
)
from .control import (
    FeedbackLinearization as FeedbackLinearization,
)
from .control import (
    FeedforwardPD as FeedforwardPD,
)
from .control import (
    FullStateFeedback as FullStateFeedback,
)
from .control import (
    JointModes as JointModes,
)
from .control import (
    JointState as JointState,
)
from .control import (
    MotorPD as MotorPD,
)
from .control import (
    OpenLoop as OpenLoop,
)
from .control import (
    PassivityControl as PassivityControl,
)
from .control import (
    RigidState as RigidState,
)
from .control import (
    StructurePreserving as StructurePreserving,
)
from .control import (
    gains_from_poles as gains_from_poles,
)
from .control import (
    joint_modes as joint_modes,
)
from .control import (
    routh_period_limit as routh_period_limit,
)
from .control import (
    runge_kutta_limit as runge_kutta_limit,
)
from .control import (
    sampling_period_limit as sampling_period_limit,
)
from .drives import (
    AntagonisticDrive as AntagonisticDrive,
)
from .drives import (
    ElasticDrive as ElasticDrive,
)
from .drives import (
    Motor as Motor,
)
from .drives import (
    RigidDrive as RigidDrive,
)
from .errors import (
    FlexjointError as FlexjointError,
)
from .errors import (
    InputError as InputError,
)
from .errors import (
    NonFiniteError as NonFiniteError,
)
from .errors import (
    RobotError as RobotError,
)
from .loading import builtin_robots as builtin_robots
from .loading import load as load
from .loading.dh import from_dh as from_dh
from .loading.toml import read_robot as read_robot
from .loading.toml import write_robot as write_robot
from .observers import (
    DerivativeState as DerivativeState,
)
from .observers import (
    FilteredDerivative as FilteredDerivative,
)
from .observers import (
    KalmanDifferentiator as KalmanDifferentiator,
)
from .observers import (
    Measurement as Measurement,
)
from .observers import (
    MotionEstimate as MotionEstimate,
)
from .observers import (
    Observer as Observer,
)
from .observers import (
    output_covariance as output_covariance,
)
from .paths import Parameter as Parameter
from .paths import parameters as parameters
from .random_robots import random_robot as random_robot
from .results import animate as animate
from .results import plot_simulation as plot_simulation
from .results import read_results as read_results
from .results import write_results as write_results
from .robot import Joint as Joint
from .robot import Limits as Limits
from .robot import Link as Link
from .robot import Robot as Robot
from .robot import parents_first as parents_first
from .simulation import (
    LinearModel as LinearModel,
)
from .simulation import (
    Plant as Plant,
)
from .simulation import (
    Simulation as Simulation,
)
from .simulation import (
    at_rest as at_rest,
)
from .simulation import (
    joint_eigenfrequencies as joint_eigenfrequencies,
)
from .simulation import (
    linearize as linearize,
)
from .simulation import (
    reference_solution as reference_solution,
)
from .simulation import (
    simulate as simulate,
)
from .springs import (
    CubicSpring as CubicSpring,
)
from .springs import (
    ExponentialSpring as ExponentialSpring,
)
from .springs import (
    HardeningSpring as HardeningSpring,
)
from .springs import (
    LinearSpring as LinearSpring,
)
from .springs import (
    PiecewiseSpring as PiecewiseSpring,
)
from .springs import (
    QuadraticSpring as QuadraticSpring,
)
from .springs import (
    Spring as Spring,
)
from .studies import MonteCarlo as MonteCarlo
from .studies import monte_carlo as monte_carlo
from .studies import plot_monte_carlo as plot_monte_carlo
from .trajectory import (
    FilteredStep as FilteredStep,
)
from .trajectory import (
    Joined as Joined,
)
from .trajectory import (
    RestToRest as RestToRest,
)
from .trajectory import (
    Retimed as Retimed,
)
from .trajectory import (
    Samples as Samples,
)
from .trajectory import (
    Scaled as Scaled,
)
from .trajectory import (
    Sinusoid as Sinusoid,
)
from .trajectory import (
    Spline as Spline,
)
from .trajectory import (
    Trajectory as Trajectory,
)
from .trajectory import (
    load_trajectory as load_trajectory,
)
from .trajectory import (
    require_smoothness as require_smoothness,
)

__all__: list[str]
