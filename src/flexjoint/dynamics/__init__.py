"""The mathematics: pure functions of a Robot and CasADi SX expressions, one idea per file."""

from ..boundary import public
from .along import inverse_dynamics_along as inverse_dynamics_along
from .coriolis import (
    coriolis_matrix as coriolis_matrix,
    coriolis_product as coriolis_product,
    coriolis_transpose_product as coriolis_transpose_product,
    modified_newton_euler as modified_newton_euler,
)
from .drivetrain.equilibrium import deflection_steps as deflection_steps
from .drivetrain.friction import coulomb_command as coulomb_command
from .drivetrain.orders import (
    JointOrders as JointOrders,
    Orders as Orders,
    derivative_orders as derivative_orders,
    explain_orders as explain_orders,
)
from .drivetrain.rotors import (
    GeneralizedForces as GeneralizedForces,
    carrier_torque as carrier_torque,
    generalized_forces as generalized_forces,
    rotor_coupling as rotor_coupling,
    rotor_torque as rotor_torque,
)
from .drivetrain.springs import (
    LinkState as LinkState,
    SpringTorque as SpringTorque,
    link_state as link_state,
    relative_degree as relative_degree,
    spring_torques as spring_torques,
)
from .drivetrain.stiffness_range import (
    StiffnessBand as StiffnessBand,
    TorqueBand as TorqueBand,
    feasible_stiffness as feasible_stiffness,
    feasible_stiffness_along as feasible_stiffness_along,
    feasible_torque as feasible_torque,
    require_feasible_stiffness as require_feasible_stiffness,
    stiffness_range as stiffness_range,
)
from .dynamic_extension import (
    ExtendedTorque as ExtendedTorque,
    extension_size as extension_size,
    extension_state as extension_state,
)
from .energy import (
    LinksAndMotors as LinksAndMotors,
    SpatialMomentum as SpatialMomentum,
    generalized_momentum as generalized_momentum,
    gravity_energy as gravity_energy,
    kinetic_energy as kinetic_energy,
    spatial_momentum as spatial_momentum,
    spring_energy as spring_energy,
)
from .factorizations import (
    coriolis_factorization as coriolis_factorization,
    factorization_parameters as factorization_parameters,
)
from .forward import Accelerations as Accelerations, forward_dynamics as forward_dynamics
from .held_modes import VibrationMode as VibrationMode, held_modes as held_modes
from .inertia import mass_matrix as mass_matrix, mass_matrix_rate as mass_matrix_rate
from .integrated import IntegratedMotion as IntegratedMotion, integrated_motor_motion as integrated_motor_motion
from .inverse import (
    FilteredMotion as FilteredMotion,
    MotorMotion as MotorMotion,
    SteppedMotion as SteppedMotion,
    inverse_dynamics as inverse_dynamics,
    inverse_dynamics_step as inverse_dynamics_step,
    motor_motion as motor_motion,
)
from .linearization import (
    LinearizingTorque as LinearizingTorque,
    LinkMotion as LinkMotion,
    chain_length as chain_length,
    feedback_linearization as feedback_linearization,
    link_motion as link_motion,
)
from .links import (
    bias_torque as bias_torque,
    coriolis_torque as coriolis_torque,
    gravity_torque as gravity_torque,
    joint_wrenches as joint_wrenches,
    static_torque as static_torque,
    torque_derivatives as torque_derivatives,
)
from .loads import BaseMotion as BaseMotion
from .moving_base import base_motion as base_motion
from .recursion.kinematics import (
    Pose as Pose,
    forward_kinematics as forward_kinematics,
    jacobian as jacobian,
    jacobian_derivatives as jacobian_derivatives,
)
from .recursion.pose_derivatives import pose_derivatives as pose_derivatives
from .recursion.regressor import (
    BaseParameters as BaseParameters,
    base_parameters as base_parameters,
    base_regressor as base_regressor,
    regressor as regressor,
    standard_parameters as standard_parameters,
)
from .spatial_operators import (
    OperatorRecursion as OperatorRecursion,
    SpatialOperators as SpatialOperators,
    operator_recursion as operator_recursion,
    spatial_cross as spatial_cross,
    spatial_operators as spatial_operators,
)

public(__name__)
