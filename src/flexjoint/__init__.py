"""flexjoint: dynamics of robots whose joints are rigid, elastic, or any mix, exact and compiled.

    import flexjoint as fj
    robot = fj.load("kuka_lwr")
    tau = fj.inverse_dynamics(robot, q, v, a, jerk, snap)

Importing flexjoint imports nothing but NumPy; CasADi and LLVM come in when a kernel is first compiled.
"""

from __future__ import annotations

import importlib
from typing import Any

import numpy  # noqa: F401  what every call needs

_HOMES = {
    "algorithm.algorithm": "Algorithm",
    "algorithm.compile": "compile",
    "algorithm.configuration": "show_config",
    "algorithm.export": "export_c",
    "control.laws.linearizing": "linearizing_control",
    "control.laws.mixed": (
        "AdaptiveMixedTorque MixedTorque adaptive_mixed_torque adaptive_mixed_torque_from_positions mixed_torque"
    ),
    "control.laws.motion_and_stiffness": "MotionAndStiffnessTorque motion_and_stiffness_control",
    "control.laws.passivity": "AdaptiveTorque adaptive_torque passivity_torque",
    "dynamics.along": "inverse_dynamics_along",
    "dynamics.coriolis": "coriolis_matrix coriolis_product coriolis_transpose_product modified_newton_euler",
    "dynamics.drivetrain.equilibrium": "deflection_steps",
    "dynamics.drivetrain.friction": "coulomb_command",
    "dynamics.drivetrain.orders": "JointOrders Orders derivative_orders explain_orders",
    "dynamics.drivetrain.rotors": "GeneralizedForces carrier_torque generalized_forces rotor_coupling rotor_torque",
    "dynamics.drivetrain.springs": "LinkState SpringTorque link_state relative_degree spring_torques",
    "dynamics.drivetrain.stiffness_range": (
        "StiffnessBand TorqueBand feasible_stiffness feasible_stiffness_along feasible_torque "
        "require_feasible_stiffness stiffness_range"
    ),
    "dynamics.energy": (
        "LinksAndMotors SpatialMomentum generalized_momentum gravity_energy kinetic_energy spatial_momentum"
    ),
    "dynamics.forward": "Accelerations forward_dynamics",
    "dynamics.inertia": "mass_matrix mass_matrix_rate",
    "dynamics.inverse": "MotorMotion SteppedMotion inverse_dynamics inverse_dynamics_step motor_motion",
    "dynamics.linearization": "LinearizingTorque LinkMotion chain_length feedback_linearization link_motion",
    "dynamics.links": "bias_torque coriolis_torque gravity_torque joint_wrenches torque_derivatives",
    "dynamics.loads": "BaseMotion",
    "dynamics.recursion.kinematics": "Pose forward_kinematics jacobian jacobian_derivatives",
    "dynamics.recursion.regressor": "BaseParameters base_parameters base_regressor regressor standard_parameters",
    "compiler.runtime.kernel": "Kernel",
    "control": (
        "AdaptiveControl AdaptiveMixedControl AdaptiveState ComputedTorque Controller ControllerState "
        "FeedbackLinearization FeedforwardPD FullStateFeedback JointModes JointState MixedInverseDynamics MotorPD "
        "OpenLoop PassivityControl RigidState StructurePreserving TrackingIntegrals VariableStiffnessTracking "
        "Guarded Reaction Reflex Stop ZeroGravity "
        "gains_from_poles joint_modes routh_period_limit runge_kutta_limit sampling_period_limit stiffness_band"
    ),
    "drives": "AntagonisticDrive ElasticDrive LeverDrive Motor RigidDrive VariableStiffnessDrive",
    "errors": "FlexjointError FlexjointWarning InputError NonFiniteError RobotError",
    "formats": "from_dh load read_robot write_robot",
    "observers": (
        "DerivativeState Detector EnergyResidual ExternalWrench Fault FaultIdentifier FilteredDerivative "
        "FrictionObserver JointTorqueResidual KalmanDifferentiator LinkResidual Measurement "
        "MomentumResidual MotionEstimate MotorEncoderResidual Observer Residual Spread "
        "SpringTorqueObserver Status TimedObserver TransferFunction VelocityEstimator external_wrench "
        "false_alarm_thresholds output_covariance spread_of_log spread_of_noise struck_links"
    ),
    "robot.parameters": "Parameter robot_parameters",
    "robot.random_robots": "random_robot",
    "analysis": ("LinearModel RotorComparison compare_rotor_models joint_eigenfrequencies linearize sensitivity"),
    "catalog": "builtin_robots",
    "detection": "Detections Log detect read_log",
    "plots": "plot_monte_carlo plot_simulation",
    "results": "read_results write_results",
    "viewer": "animate",
    "robot": "Joint Limits Link Robot parents_first",
    "simulation": ("Actuators EndStops FaultyActuators Plant Sensors Simulation at_rest reference_solution simulate"),
    "springs": (
        "CubicSpring ExponentialSpring HardeningSpring LinearSpring PiecewiseSpring QuadraticSpring Spring "
        "TabulatedSpring"
    ),
    "studies": "MonteCarlo monte_carlo",
    "trajectory": (
        "FilteredStep Joined MotionAndStiffness RestToRest Retimed Samples Scaled Sinusoid Spline Trajectory "
        "load_stiffness load_trajectory require_smoothness"
    ),
}  # module: public names, as in __init__.pyi
_MODULE_OF = {name: module for module, names in _HOMES.items() for name in names.split()}
__all__ = sorted(_MODULE_OF)


def __getattr__(name: str) -> Any:
    """The first use of a public name imports them all, and ends this function: with it every access to a name of the
    package would be 25 ns slower, a tenth of a call of inverse dynamics."""
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'flexjoint' has no attribute {name!r}")
    for module, names in _HOMES.items():
        home = importlib.import_module(f".{module}", __name__)
        globals().update({x: getattr(home, x) for x in names.split()})
    globals().pop("__getattr__", None)
    return globals()[name]


def __dir__() -> list[str]:
    return [*__all__, *(x for x in globals() if x.startswith("__"))]
