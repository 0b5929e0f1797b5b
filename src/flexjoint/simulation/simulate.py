"""Simulation of a robot under control.

A controller of flexjoint's is compiled with the robot into one kernel (`compiled_run.py`); any Python function works as
a controller too (`python_run.py`).  Results are bit-identical however a run is cut into blocks, alone or in a batch, on
any number of threads.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..checks import whole
from ..control.base import Controller, JointState, innermost
from ..control.open_loop import OpenLoop
from ..dynamics.inverse import needed_order
from ..errors import InputError
from ..observers.base import Observer
from ..robot import Robot, numeric
from ..trajectory.base import Trajectory
from ..trajectory.limits import Exceeded, warn_of_limits
from ..trajectory.record import require_clean
from ..trajectory.samples import Samples
from ..trajectory.unit_warnings import warn_of_units
from ..types import FloatArray
from .actuators import Actuators
from .arguments import (
    NOMINAL,
    Run,
    batch_shape,
    check_loop,
    checked_deviations,
    checked_integrator,
    checked_period,
    digested_contact,
    named_values,
    periods,
    random_stream,
    run_parameters,
)
from .closed_loop import ClosedLoop
from .compiled_run import blocking_for, compiled_run
from .end_stops import EndStops
from .initial_state import initial_state
from .instrumentation import checked_instrumentation
from .loop_kernel import PYTHON
from .moving_base import MovingBase
from .plant import Contact
from .push import Push
from .python_laws import check_controller, reads_torques
from .python_run import Law, python_run
from .reference import Reference
from .result import Simulation, finished, on_base
from .run_limits import run_limits
from .sensors import Sensors
from .stability import check_stability
from .step_limit import check_steps

PLACES = 17  # of a reference where a controller is checked


def simulate(
    robot: Robot,
    controller: Controller | Law,
    reference: Trajectory | ArrayLike,
    duration: float | None = None,
    *,
    period: float | None = None,
    start: JointState | Simulation | None = None,
    integrator: str = "runge_kutta",
    substeps: int = 1,
    hold: bool = True,
    contact: Contact | None = None,
    base: Trajectory | None = None,
    gains: ArrayLike | None = None,
    free: Mapping[str, ArrayLike] | None = None,
    changes: Mapping[str, tuple[ArrayLike, ArrayLike]] | None = None,
    stops: EndStops | None = None,
    sensors: Sensors | None = None,
    noise: Mapping[str, ArrayLike] | None = None,
    actuators: Actuators | None = None,
    estimator: Observer | None = None,
    observers: Mapping[str, Observer] | None = None,
    seed: ArrayLike = 0,
    row: ArrayLike | None = None,
    check: bool | str = True,
    threads: int = 1,
) -> Simulation:
    """Simulates a robot under a controller that follows a reference.

    Every `period` the controller computes a torque, which is held while the integrator takes `substeps` steps.  Arrays
    in `start`, `gains`, `free`, `changes`, `noise`, `seed` and `row` may have leading dimensions, which broadcast: then
    the result is a batch with one run per row, each bit-identical to the same run alone.

    Args:
        robot: The simulated robot; the controller may have another model of it.
        controller: A `fj.control.Controller`, compiled with the robot; or a Python function (t, state, reference,
            measurement) -> (state, torque), called every period.  It gets the time t in s, the state that it returned
            before (first `controller.start(reference)` if there is such a method, else ()), the stack [q_d, q_d', ...]
            (order + 1, n) with `controller.order`, by default 2, and a JointState, or a Measurement if
            `controller.torque_sensors` is True, all of them copies.  It returns its next state and the torque, one
            number per motor, in Nm or N.
        reference: A Trajectory; or a goal (n,), in rad or m; or a constant stack [q_d, q_d', ...] (order + 1, n).
            For `OpenLoop` it is the torque, one number per motor.
        duration: In s; by default up to the end of the trajectory.
        period: Of the controller, in s; by default the controller's own, else 1e-3.
        start: The state at t = 0; or a Simulation, which is continued; by default at rest on the reference.
        integrator: "runge_kutta" (order 4), "euler" (symplectic, order 1) or "midpoint" (implicit, order 2).
        substeps: Steps of the integrator per period, by default 1.
        hold: False evaluates the law in every stage of the integrator: control in continuous time; by default True.
        contact: A function (t, state) -> {link name: wrench (6,)} in SX: force in N and moment in Nm on the link, at
            the origin of its frame, in base coordinates; or a `simulation.Push`; by default none.
        base: A Trajectory of the pose of the base, six columns x, y, z in m and roll, pitch, yaw in rad, in a frame at
            rest, for all runs; `robot.gravity` holds at the zero pose.  By default the base is at rest.  Only laws with
            `base=True` compensate its motion, see `control.FeedforwardPD`.
        gains: (..., rows, n), which replace the controller's gains.
        free: Values (..., *shape) of parameters of the robot, by path or pattern, such as {"payload.mass": 2.0}.
        changes: For such parameters a time in s and the values from then on, such as {"payload.mass": (0.5, 2.0)}.
        stops: End stops at the position limits of the joints; by default none.
        sensors: How the controller and the observers measure the state; by default exactly, with perfect torque sensors
            for a controller that reads them.
        noise: Standard deviations (...,) or (..., n) that replace those of the sensors, by name, such as
            {"torque_noise": 0.05}; new values need no new kernel.
        actuators: Saturation, lag and delay of the controller's torque; by default it reaches the motors unchanged.
        estimator: An observer; its outputs named q, v, theta, theta_v, tau_e or tau_e_v replace these fields of what
            the controller sees.
        observers: Further observers by name, whose outputs are recorded.
        seed: Whole number from 0 up to 2⁵³ − 1, of the sensors' noise; by default 0.
        row: Number of each run, on which its noise depends too; by default its place in the batch.
        check: True checks before a run that the sampled loop is stable and the step short enough for the parameters of
            every run, and warns after it about limits that were exceeded; "nominal" ignores `free` and `changes`; False
            checks nothing.
        threads: Number of threads for the rows of a batch, by default 1.

    Returns:
        A Simulation, with arrays over time and, in a batch, over rows.

    Raises:
        InputError: Arguments do not fit together, or the period or the step makes the loop unstable.
        NonFiniteError: A Python controller returned NaN.  A run that diverges raises no error: a warning is given, and
            `Simulation.diverged` marks the run.

    Example:
        >>> import flexjoint as fj
        >>> robot = fj.load("kuka_lwr")
        >>> run = fj.simulate(robot, fj.control.MotorPD(robot, [1000.0, 50.0]), [0.1] * 7, duration=0.5)
        >>> run.q.shape
        (501, 7)
    """
    if check not in (True, False, NOMINAL):
        raise InputError(f"simulate: check is {check!r}; it must be True, False or {NOMINAL!r}")
    numeric("simulate", robot)
    check_controller(controller)
    compiled = controller if isinstance(controller, Controller) else None
    free, changes = named_values("free", free), named_values("changes", changes)
    deviations = named_values("noise", noise)
    period = checked_period(controller, period)
    carried = MovingBase.of(robot, base, (*free, *changes))
    loop = ClosedLoop(
        robot,
        compiled or OpenLoop(robot),
        period,
        checked_integrator(integrator, hold, substeps, compiled is not None),
        whole("simulate", "substeps", substeps, least=1),
        hold,
        digested_contact(robot, contact),
        tuple(free),
        tuple(changes),
        stops,
        checked_instrumentation(
            *(robot, period, sensors, actuators, estimator, observers, deviations),
            ideal=hold and reads_torques(controller),
        ),
        carried is not None,
    )
    check_loop(loop)
    followed = Reference.of(reference, robot, controller, base)
    initial = initial_state(start, loop, controller, followed)
    count = periods(duration, followed.duration, period, initial.begin)
    times: FloatArray = np.multiply(period, initial.begin + np.arange(count + 1))
    parameters = run_parameters(loop, gains, free, changes, contact)
    parameters = parameters._replace(deviations=checked_deviations(robot, deviations))
    batch = batch_shape(loop, initial.state, parameters)
    if loop.instrumentation.noisy:
        parameters = parameters._replace(noise=random_stream(seed, row, batch))
        batch = batch_shape(loop, initial.state, parameters)
    initial = initial.with_parameters(loop, parameters.free)
    if check:
        refuse_noise(controller, reference)
        references = followed(np.linspace(times[0], times[-1], PLACES))
        check_along(loop.controller, references, parameters.gains, initial.state)
        blocking = blocking_for(batch) if compiled else PYTHON
        check_stability(loop, blocking, initial.state, followed, times, parameters.gains)
    if check and check != NOMINAL:
        check_steps(loop, parameters, initial.state)
    run = Run(
        loop, followed, initial, times, parameters, batch, whole("simulate", "threads", threads, least=1), carried
    )
    output = python_run(run, controller) if not isinstance(controller, Controller) else compiled_run(run)
    result = finished(loop, times, output, controller)
    if check:
        result = checked_run(result, reference)
    more = {"seed": str(seed)} if loop.instrumentation.noisy else {}
    more |= {"noise": str(deviations)} if deviations else {}
    more |= {"push": str(contact)} if isinstance(contact, Push) else {}
    return on_base(replace(result, provenance={**result.provenance, **more}), carried)


def check_along(controller: Controller, references: FloatArray, gains: FloatArray, start: Any) -> None:
    """The controller's own check along the reference, for all gains and the first starts."""
    if type(innermost(controller)).check_reference is Controller.check_reference:
        return
    stack = list(np.moveaxis(references, -2, 0))
    starts = np.stack(np.broadcast_arrays(start.q, start.v, start.theta, start.theta_v), -2)
    sets = np.unique(gains.reshape(-1, *gains.shape[-2:]), axis=0)
    for numbers in sets:
        for x in np.unique(starts.reshape(-1, *starts.shape[-2:]), axis=0)[:PLACES]:
            controller.check_reference(stack, numbers, JointState(*x))


def refuse_noise(controller: Controller | Law, reference: Any) -> None:
    """Refuse a noisy record as the reference of a law that computes torques from its derivatives."""
    if not isinstance(reference, Samples) or not isinstance(controller, Controller):
        return
    needed, model = needed_order(controller.robot), controller.robot
    if controller.order >= needed and reference.n == model.n and reference.smoothness >= needed - 1:
        require_clean(model, reference)


def checked_run(run: Simulation, reference: Any) -> Simulation:
    """The run with the limits that it exceeds; warns of these, and of a reference that looks like degrees."""
    robot = run.robot
    if run.tracks:
        followed = run.reference[:, : robot.n]
        warn_of_units(robot, reference if isinstance(reference, Trajectory) else followed[0])
        if np.abs(run.q[..., 0, :]).max() > np.abs(followed[0]).max():
            warn_of_units(robot, run.q[..., 0, :])
    found = run_limits(run, reference)
    warn_of_limits(robot, {"the reference": found.reference, "the run": found.run})
    return replace(run, exceeded=Exceeded((*found.reference, *found.run), found.values))
