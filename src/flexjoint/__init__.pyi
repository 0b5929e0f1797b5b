"""What flexjoint/__init__.py makes available, for type checkers and editors."""

from .algorithm.algorithm import Algorithm as Algorithm
from .algorithm.compile import compile as compile
from .algorithm.configuration import show_config as show_config
from .algorithm.export import export_c as export_c
from .analysis import (
    LinearModel as LinearModel,
    RotorComparison as RotorComparison,
    compare_rotor_models as compare_rotor_models,
    joint_eigenfrequencies as joint_eigenfrequencies,
    linearize as linearize,
    sensitivity as sensitivity,
)
from .catalog import builtin_robots as builtin_robots
from .compiler.runtime.kernel import Kernel as Kernel
from .control import (
    AdaptiveControl as AdaptiveControl,
    AdaptiveMixedControl as AdaptiveMixedControl,
    AdaptiveState as AdaptiveState,
    ComputedTorque as ComputedTorque,
    Controller as Controller,
    ControllerState as ControllerState,
    FeedbackLinearization as FeedbackLinearization,
    FeedforwardPD as FeedforwardPD,
    FullStateFeedback as FullStateFeedback,
    Guarded as Guarded,
    JointModes as JointModes,
    JointState as JointState,
    MixedInverseDynamics as MixedInverseDynamics,
    MotorPD as MotorPD,
    OpenLoop as OpenLoop,
    PassivityControl as PassivityControl,
    Reaction as Reaction,
    Reflex as Reflex,
    RigidState as RigidState,
    Stop as Stop,
    StructurePreserving as StructurePreserving,
    TrackingIntegrals as TrackingIntegrals,
    VariableStiffnessTracking as VariableStiffnessTracking,
    ZeroGravity as ZeroGravity,
    gains_from_poles as gains_from_poles,
    joint_modes as joint_modes,
    routh_period_limit as routh_period_limit,
    runge_kutta_limit as runge_kutta_limit,
    sampling_period_limit as sampling_period_limit,
    stiffness_band as stiffness_band,
)
from .control.laws.linearizing import linearizing_control as linearizing_control
from .control.laws.mixed import (
    AdaptiveMixedTorque as AdaptiveMixedTorque,
    MixedTorque as MixedTorque,
    adaptive_mixed_torque as adaptive_mixed_torque,
    adaptive_mixed_torque_from_positions as adaptive_mixed_torque_from_positions,
    mixed_torque as mixed_torque,
)
from .control.laws.motion_and_stiffness import (
    MotionAndStiffnessTorque as MotionAndStiffnessTorque,
    motion_and_stiffness_control as motion_and_stiffness_control,
)
from .control.laws.passivity import (
    AdaptiveTorque as AdaptiveTorque,
    adaptive_torque as adaptive_torque,
    passivity_torque as passivity_torque,
)
from .detection import Detections as Detections, Log as Log, detect as detect, read_log as read_log
from .drives import (
    AntagonisticDrive as AntagonisticDrive,
    ElasticDrive as ElasticDrive,
    LeverDrive as LeverDrive,
    Motor as Motor,
    RigidDrive as RigidDrive,
    VariableStiffnessDrive as VariableStiffnessDrive,
)
from .dynamics.along import inverse_dynamics_along as inverse_dynamics_along
from .dynamics.coriolis import (
    coriolis_matrix as coriolis_matrix,
    coriolis_product as coriolis_product,
    coriolis_transpose_product as coriolis_transpose_product,
    modified_newton_euler as modified_newton_euler,
)
from .dynamics.drivetrain.equilibrium import deflection_steps as deflection_steps
from .dynamics.drivetrain.friction import coulomb_command as coulomb_command
from .dynamics.drivetrain.orders import (
    JointOrders as JointOrders,
    Orders as Orders,
    derivative_orders as derivative_orders,
    explain_orders as explain_orders,
)
from .dynamics.drivetrain.rotors import (
    GeneralizedForces as GeneralizedForces,
    carrier_torque as carrier_torque,
    generalized_forces as generalized_forces,
    rotor_coupling as rotor_coupling,
    rotor_torque as rotor_torque,
)
from .dynamics.drivetrain.springs import (
    LinkState as LinkState,
    SpringTorque as SpringTorque,
    link_state as link_state,
    relative_degree as relative_degree,
    spring_torques as spring_torques,
)
from .dynamics.drivetrain.stiffness_range import (
    StiffnessBand as StiffnessBand,
    TorqueBand as TorqueBand,
    feasible_stiffness as feasible_stiffness,
    feasible_stiffness_along as feasible_stiffness_along,
    feasible_torque as feasible_torque,
    require_feasible_stiffness as require_feasible_stiffness,
    stiffness_range as stiffness_range,
)
from .dynamics.energy import (
    LinksAndMotors as LinksAndMotors,
    SpatialMomentum as SpatialMomentum,
    generalized_momentum as generalized_momentum,
    gravity_energy as gravity_energy,
    kinetic_energy as kinetic_energy,
    spatial_momentum as spatial_momentum,
)
from .dynamics.forward import Accelerations as Accelerations, forward_dynamics as forward_dynamics
from .dynamics.inertia import mass_matrix as mass_matrix, mass_matrix_rate as mass_matrix_rate
from .dynamics.inverse import (
    MotorMotion as MotorMotion,
    SteppedMotion as SteppedMotion,
    inverse_dynamics as inverse_dynamics,
    inverse_dynamics_step as inverse_dynamics_step,
    motor_motion as motor_motion,
)
from .dynamics.linearization import (
    LinearizingTorque as LinearizingTorque,
    LinkMotion as LinkMotion,
    chain_length as chain_length,
    feedback_linearization as feedback_linearization,
    link_motion as link_motion,
)
from .dynamics.links import (
    bias_torque as bias_torque,
    coriolis_torque as coriolis_torque,
    gravity_torque as gravity_torque,
    joint_wrenches as joint_wrenches,
    torque_derivatives as torque_derivatives,
)
from .dynamics.loads import BaseMotion as BaseMotion
from .dynamics.recursion.kinematics import (
    Pose as Pose,
    forward_kinematics as forward_kinematics,
    jacobian as jacobian,
    jacobian_derivatives as jacobian_derivatives,
)
from .dynamics.recursion.regressor import (
    BaseParameters as BaseParameters,
    base_parameters as base_parameters,
    base_regressor as base_regressor,
    regressor as regressor,
    standard_parameters as standard_parameters,
)
from .errors import (
    FlexjointError as FlexjointError,
    FlexjointWarning as FlexjointWarning,
    InputError as InputError,
    NonFiniteError as NonFiniteError,
    RobotError as RobotError,
)
from .formats import from_dh as from_dh, load as load, read_robot as read_robot, write_robot as write_robot
from .observers import (
    DerivativeState as DerivativeState,
    Detector as Detector,
    EnergyResidual as EnergyResidual,
    ExternalWrench as ExternalWrench,
    Fault as Fault,
    FaultIdentifier as FaultIdentifier,
    FilteredDerivative as FilteredDerivative,
    FrictionObserver as FrictionObserver,
    JointTorqueResidual as JointTorqueResidual,
    KalmanDifferentiator as KalmanDifferentiator,
    LinkResidual as LinkResidual,
    Measurement as Measurement,
    MomentumResidual as MomentumResidual,
    MotionEstimate as MotionEstimate,
    MotorEncoderResidual as MotorEncoderResidual,
    Observer as Observer,
    Residual as Residual,
    Spread as Spread,
    SpringTorqueObserver as SpringTorqueObserver,
    Status as Status,
    TimedObserver as TimedObserver,
    TransferFunction as TransferFunction,
    VelocityEstimator as VelocityEstimator,
    external_wrench as external_wrench,
    false_alarm_thresholds as false_alarm_thresholds,
    output_covariance as output_covariance,
    spread_of_log as spread_of_log,
    spread_of_noise as spread_of_noise,
    struck_links as struck_links,
)
from .plots import plot_monte_carlo as plot_monte_carlo, plot_simulation as plot_simulation
from .results import read_results as read_results, write_results as write_results
from .robot import Joint as Joint, Limits as Limits, Link as Link, Robot as Robot, parents_first as parents_first
from .robot.parameters import Parameter as Parameter, robot_parameters as robot_parameters
from .robot.random_robots import random_robot as random_robot
from .simulation import (
    Actuators as Actuators,
    EndStops as EndStops,
    FaultyActuators as FaultyActuators,
    Plant as Plant,
    Sensors as Sensors,
    Simulation as Simulation,
    at_rest as at_rest,
    reference_solution as reference_solution,
    simulate as simulate,
)
from .springs import (
    CubicSpring as CubicSpring,
    ExponentialSpring as ExponentialSpring,
    HardeningSpring as HardeningSpring,
    LinearSpring as LinearSpring,
    PiecewiseSpring as PiecewiseSpring,
    QuadraticSpring as QuadraticSpring,
    Spring as Spring,
    TabulatedSpring as TabulatedSpring,
)
from .studies import MonteCarlo as MonteCarlo, monte_carlo as monte_carlo
from .trajectory import (
    FilteredStep as FilteredStep,
    Joined as Joined,
    MotionAndStiffness as MotionAndStiffness,
    RestToRest as RestToRest,
    Retimed as Retimed,
    Samples as Samples,
    Scaled as Scaled,
    Sinusoid as Sinusoid,
    Spline as Spline,
    Trajectory as Trajectory,
    load_stiffness as load_stiffness,
    load_trajectory as load_trajectory,
    require_smoothness as require_smoothness,
)
from .viewer import animate as animate

__all__: list[str]
