"""The simulated robot behind `serve`, and its periods in lock step and in real time."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from ..errors import warn
from ..robot import Robot
from ..simulation.equilibrium import at_rest
from ..types import FloatArray
from .packets import GREETING, state_packet
from .plant_component import plant_component
from .served import MotorFault, Served
from .wire import Wire

SILENCE = 5.0  # s without a controller after which a run in lock step ends
AGAIN = 0.2  # s after which a state without an answer is sent again
PATIENCE = 10  # periods without a command after which the torque is zero
SPIN = 2e-4  # s before a deadline in which the clock is read instead of waiting
STATE = ("q", "v", "theta", "theta_v", "tau_e")


class Simulated:
    """The simulated plant and its current state."""

    def __init__(
        self, robot: Robot, period: float, q: Any, stiffness: Any, substeps: int, faults: tuple[MotorFault, ...]
    ) -> None:
        self.robot, self.period, self.faults = robot, period, faults
        self.efforts, self.steps = np.array(robot.motor_efforts), period * np.array(robot.motor_torque_rates)
        self.tau, self.began = np.zeros(robot.motor_count), False  # commanded in the period before
        self.component = plant_component(robot, period, q=q, stiffness=stiffness, substeps=substeps)
        self.state = self.component.start()
        begin = at_rest(robot, np.zeros(robot.n) if q is None else q, stiffness)
        self.numbers = np.concatenate([*begin[:4], np.zeros(robot.n)])  # q, v, theta, theta_v and tau_e
        self.component.kernel  # noqa: B018  compiled before the clock runs

    def limited(self, tau: FloatArray) -> FloatArray:
        """The command within the limits of torque and torque rate of the motors."""
        bounded = np.clip(tau, -self.efforts, self.efforts)
        self.tau = np.clip(bounded, self.tau - self.steps, self.tau + self.steps) if self.began else bounded
        self.began = True
        return self.tau

    def advance(self, tau: FloatArray, k: int) -> FloatArray:
        """Advance by one period under torques tau; returns the torque that acted, with faults."""
        acting = tau.copy()
        for fault in self.faults:
            if k * self.period >= fault.begin:
                acting[fault.motor] *= fault.share
        self.state, found = self.component.step(self.state, {"tau": acting})
        self.numbers = np.concatenate([found[x] for x in STATE])
        return acting


def in_lock_step(plant: Simulated, wire: Wire, end: int | None, delay: int, record: bool) -> Served:
    """Run in lock step: each period waits for the answer to its state; lost packets are sent again."""
    found, rows = wire.found, Rows(record)
    if end == 0:
        return finished(plant, found, rows)
    wire.wait_for_greeting()
    states: list[bytes] = []
    while end is None or found.periods < end:
        numbers, k = plant.numbers, found.periods
        states.append(state_packet(k, k * plant.period, numbers, plant.robot.n, wire.motors))
        states = states[-delay - 1 :]
        quiet = sent = time.perf_counter()
        wire.send(states[0])
        while (command := wire.receive(AGAIN)) is None or command.sequence != max(k - delay, 0):
            if command is not None:
                found.replayed += command.sequence != GREETING
            now = time.perf_counter()
            if now - quiet > SILENCE:
                warn(
                    f"serve: no controller has answered state {k} for {SILENCE:g} s, so the run ended after "
                    f"{found.periods} periods; in lock step every state waits for its answer"
                )
                return finished(plant, found, rows)
            if now - sent >= AGAIN:
                wire.send(states[0])
                sent = now
        tau = plant.limited(command.tau)
        found.limited += bool(np.any(tau != command.tau))
        rows.add(numbers, plant.advance(tau, k))
        found.periods += 1
    return finished(plant, found, rows)


def in_real_time(plant: Simulated, wire: Wire, end: int | None, delay: int, record: bool) -> Served:
    """Run in real time: the command received during a period acts in the next one."""
    found, rows = wire.found, Rows(record)
    if end == 0:
        return finished(plant, found, rows)
    wire.wait_for_greeting()
    tau, newest, silent = np.zeros(wire.motors), -1, 0
    states: list[bytes] = []
    lateness: list[float] = []
    begin = time.perf_counter()
    try:
        while end is None or found.periods < end:
            numbers, k = plant.numbers, found.periods
            states.append(state_packet(k, k * plant.period, numbers, plant.robot.n, wire.motors))
            states = states[-delay - 1 :]
            wire.send(states[0])
            deadline = begin + (k + 1) * plant.period
            came = False
            while (left := deadline - time.perf_counter()) > 0:
                command = wire.receive(left - SPIN if left > SPIN else 0.0)
                if command is None:
                    continue
                if command.sequence == GREETING or not newest < command.sequence <= k:
                    found.replayed += command.sequence != GREETING
                    continue
                tau, newest, came = command.tau, command.sequence, True
            late = time.perf_counter() - deadline
            lateness.append(late)
            found.late += late > plant.period
            silent = 0 if came else silent + 1
            found.held += 0 < silent <= PATIENCE
            found.released += silent > PATIENCE
            command_tau = tau if silent <= PATIENCE else np.zeros(wire.motors)
            acting = plant.limited(command_tau)
            found.limited += bool(np.any(acting != command_tau))
            rows.add(numbers, plant.advance(acting, k))
            found.periods += 1
    except KeyboardInterrupt:
        pass
    found.lateness = np.array(lateness)
    return finished(plant, found, rows)


class Rows:
    """Recorded states and torques of a run; empty without `record`."""

    def __init__(self, kept: bool) -> None:
        self.kept = kept
        self.states: list[FloatArray] = []
        self.torques: list[FloatArray] = []

    def add(self, numbers: FloatArray, tau: FloatArray) -> None:
        """Record one period."""
        if self.kept:
            self.states.append(numbers)
            self.torques.append(tau)


def finished(plant: Simulated, found: Served, rows: Rows) -> Served:
    """The result of a run, with its last state."""
    n, m = plant.robot.n, plant.robot.motor_count
    edges = np.cumsum([n, n, m, m])
    found.state = dict(zip(STATE, np.split(plant.numbers, edges)))
    found.history, found.torques = (np.array(x) for x in (rows.states, rows.torques))
    return found
