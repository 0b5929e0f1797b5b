"""A simulated robot over the wire: `serve` sends its state by UDP and takes torques, in real time or in lock step."""

from __future__ import annotations

import ipaddress
import select
import socket
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ..checks import finite, positive, whole
from ..errors import InputError, shown
from ..robot import Robot, a_robot
from ..simulation.initial_state import undeflected_motors
from ..types import FloatArray
from .packets import GREETING, read_command, state_packet
from .plant_component import plant_component

SILENCE = 5.0  # s without a controller after which a run in lock step ends
PATIENCE = 10  # periods without a command after which the torque is zero
SPIN = 2e-4  # s before a deadline in which the clock is read instead of waiting


class MotorFault(NamedTuple):
    """A motor that gives a share of its torque from a time on.

    Args:
        motor: Its number, from 0.
        share: 0 for a motor that fails, 0.5 for half of the torque.
        begin: Time, s; default 0.
    """

    motor: int
    share: float
    begin: float = 0.0


@dataclass
class Served:
    """What happened in a run of `serve`.

    Args:
        periods: Periods simulated.
        late: Periods that ended after their deadline by more than a period; in real time only.
        lateness: Time, s, by which each period ended after its deadline, (periods,); in real time only.
        held: Periods without a new command: the torque before was held.
        released: Periods without torque, because no command had come for long.
        malformed, foreign, replayed: Packets that were ignored: no command, from another address, or answering no state
            that waits for an answer.
        lost: Packets that were dropped on purpose.
        history: States (periods, numbers) before each period: q, v, theta, theta_v, tau_e; empty unless asked for.
        torques: Torques (periods, motors) that acted; empty unless asked for.
        state: State at the end, by name.
    """

    periods: int = 0
    late: int = 0
    lateness: FloatArray = field(default_factory=lambda: np.zeros(0))
    held: int = 0
    released: int = 0
    malformed: int = 0
    foreign: int = 0
    replayed: int = 0
    lost: int = 0
    history: FloatArray = field(default_factory=lambda: np.zeros((0, 0)))
    torques: FloatArray = field(default_factory=lambda: np.zeros((0, 0)))
    state: dict[str, FloatArray] = field(default_factory=dict)


def serve(
    robot: Robot,
    duration: float | None = None,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    period: float = 1e-3,
    lock_step: bool = False,
    q: Any = None,
    stiffness: Any = None,
    substeps: int = 1,
    loss: float = 0.0,
    delay: int = 0,
    faults: Sequence[MotorFault] = (),
    seed: int = 0,
    record: bool = False,
    ready: Callable[[str, int], None] | None = None,
) -> Served:
    """Simulate a robot whose torques come by UDP, and send its state every period.

    The controller greets first; the robot then sends state 0 and begins.  Every period it sends its state, and at the
    end of the period the torque of the newest command acts during the next one: in real time the one that has come by
    then, in lock step the answer to this state.  In lock step the torque acts in the period of its state, as in
    `simulate`.

    Args:
        robot: Any robot that `simulate` takes.
        duration: Simulated time, s; by default until Ctrl-C.
        host: Address to listen at, on this machine alone by default.
        port: UDP port; 0, the default, is any that is free.
        period: Time between two states, s; default 1e-3.
        lock_step: Whether to wait for the answer to every state, instead of real time; default False.
        q: Link positions (n,) at the beginning, rad or m; default 0.
        stiffness: Of joints with two motors at the beginning, Nm/rad or N/m.
        substeps: Integration steps per period; default 1.
        loss: Share of packets, 0 to 1, that are dropped in each direction; default 0.
        delay: Periods by which states arrive late; default 0.
        faults: Motors that give less than their torque; default none.
        seed: Of the packets that are dropped; default 0.
        record: Whether states and torques are kept; default False.
        ready: Called with host and port when the robot listens; default nothing.

    Returns:
        What happened.

    Raises:
        InputError: An argument is wrong, or the port is taken.

    Example:
        >>> import flexjoint as fj
        >>> fj.deployment.serve(fj.load("hua_3r"), 0.0).periods
        0
    """
    a_robot("serve", robot)
    positive("serve", "period", period)
    if duration is not None and not float(finite("serve", "duration", duration)) >= 0:
        raise InputError(f"serve: duration is {shown(duration)}; it must be a time in s, 0 or longer")
    end = None if duration is None else round(float(duration) / period)
    if not 0.0 <= float(finite("serve", "loss", loss)) < 1.0:
        raise InputError(f"serve: loss is {shown(loss)}; it must be a share from 0 to below 1")
    whole("serve", "delay", delay, 0, 1000)
    for fault in faults:
        whole("serve", "motor of a fault", fault.motor, 0, robot.motor_count - 1)
    plant = Simulated(robot, period, q, stiffness, substeps, tuple(faults))
    with listening(host, port) as channel:
        if ready is not None:
            ready(*channel.getsockname()[:2])
        wire = Wire(channel, robot.motor_count, loss, np.random.default_rng(seed))
        loop = in_lock_step if lock_step else in_real_time
        return loop(plant, wire, end, int(delay), record)


class Simulated:
    """The plant, a state after the other."""

    def __init__(
        self, robot: Robot, period: float, q: Any, stiffness: Any, substeps: int, faults: tuple[MotorFault, ...]
    ) -> None:
        self.robot, self.period, self.faults = robot, period, faults
        self.component = plant_component(robot, period, q=q, stiffness=stiffness, substeps=substeps)
        self.state, self.tau_e = self.component.start(), np.zeros(robot.n)
        self.motors = [*robot.motors_behind_springs]
        self.component.kernel  # noqa: B018  compiled before the clock runs

    @property
    def numbers(self) -> FloatArray:
        """q, v, theta, theta_v and tau_e."""
        named = dict(zip((x.name for x in self.component.state), self.state))
        places = list(self.robot.motor_joints)
        motors = []
        for name, links in (("theta", named["q"]), ("theta_v", named["v"])):
            whole = undeflected_motors(self.robot, links)[places]
            if name in named:
                whole[self.motors] = named[name]
            motors.append(whole)
        return np.concatenate([named["q"], named["v"], *motors, self.tau_e])

    def advance(self, tau: FloatArray, k: int) -> FloatArray:
        """A period later; returns the torque that acted."""
        acting = tau.copy()
        for fault in self.faults:
            if k * self.period >= fault.begin:
                acting[fault.motor] *= fault.share
        self.state, found = self.component.step(self.state, {"tau": acting})
        self.tau_e = found["tau_e"]
        return acting


class Wire:
    """The channel to one controller; counts what it ignores."""

    def __init__(self, channel: socket.socket, motors: int, loss: float, random: np.random.Generator) -> None:
        channel.setblocking(False)
        self.channel, self.motors, self.loss, self.random = channel, motors, loss, random
        self.partner: Any = None
        self.found = Served()

    def dropped(self) -> bool:
        """Whether the next packet is dropped on purpose."""
        if self.loss and self.random.random() < self.loss:
            self.found.lost += 1
            return True
        return False

    def send(self, data: bytes) -> None:
        """To the controller; a full or unreachable network loses packets, as networks do."""
        if not self.dropped():
            try:
                self.channel.sendto(data, self.partner)
            except OSError:
                self.found.lost += 1

    def receive(self, timeout: float) -> Any:
        """The next command of the controller; None after the time, s."""
        end = time.perf_counter() + timeout
        while True:
            # select counts microseconds; the time-out of a socket counts milliseconds, and made periods 0.4 ms late
            left = max(end - time.perf_counter(), 0.0)
            if not select.select([self.channel], [], [], left)[0]:
                return None
            try:
                data, address = self.channel.recvfrom(65536)
            except OSError:  # an answer that the controller's port is closed
                continue
            command = read_command(data, self.motors)
            if self.partner is not None and address != self.partner:
                self.found.foreign += 1
            elif command is None:
                self.found.malformed += 1
            elif not self.dropped():
                if self.partner is None:
                    self.partner = address
                return command

    def wait_for_greeting(self) -> None:
        """Until a controller has said where it is; Ctrl-C ends it."""
        while True:
            command = self.receive(0.2)
            if command is not None and command.sequence == GREETING:
                return
            if command is not None:
                self.partner, self.found.replayed = None, self.found.replayed + 1


def in_lock_step(plant: Simulated, wire: Wire, end: int | None, delay: int, record: bool) -> Served:
    """Every state waits for its answer; a packet that is lost is sent again."""
    found, rows = wire.found, Rows(record)
    if end == 0:
        return finished(plant, found, rows)
    wire.wait_for_greeting()
    states: list[bytes] = []
    while end is None or found.periods < end:
        numbers, k = plant.numbers, found.periods
        states.append(state_packet(k, k * plant.period, numbers, plant.robot.n, wire.motors))
        states = states[-delay - 1 :]
        quiet = time.perf_counter()
        command = None
        while command is None:
            wire.send(states[0])
            command = wire.receive(0.2)
            if command is not None and command.sequence != max(k - delay, 0):
                found.replayed += command.sequence != GREETING
                command = None
            if command is None and time.perf_counter() - quiet > SILENCE:
                return finished(plant, found, rows)
        rows.add(numbers, plant.advance(command.tau, k))
        found.periods += 1
    return finished(plant, found, rows)


def in_real_time(plant: Simulated, wire: Wire, end: int | None, delay: int, record: bool) -> Served:
    """Periods begin at fixed times; what has come by the end of a period acts in the next one."""
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
            rows.add(numbers, plant.advance(tau if silent <= PATIENCE else np.zeros(wire.motors), k))
            found.periods += 1
    except KeyboardInterrupt:
        pass
    found.lateness = np.array(lateness)
    return finished(plant, found, rows)


class Rows:
    """States and torques of a run, if they are asked for."""

    def __init__(self, kept: bool) -> None:
        self.kept = kept
        self.states: list[FloatArray] = []
        self.torques: list[FloatArray] = []

    def add(self, numbers: FloatArray, tau: FloatArray) -> None:
        """Those of a period."""
        if self.kept:
            self.states.append(numbers)
            self.torques.append(tau)


def finished(plant: Simulated, found: Served, rows: Rows) -> Served:
    """What happened, with the last state."""
    n, m = plant.robot.n, plant.robot.motor_count
    edges = np.cumsum([n, n, m, m])
    found.state = dict(zip(("q", "v", "theta", "theta_v", "tau_e"), np.split(plant.numbers, edges)))
    found.history, found.torques = (np.array(x) for x in (rows.states, rows.torques))
    return found


def listening(host: str, port: int) -> socket.socket:
    """A UDP socket; an address beyond this machine must be given as such, and is not checked further."""
    whole("serve", "port", port, 0, 65535)
    try:
        family = socket.AF_INET6 if ipaddress.ip_address(host).version == 6 else socket.AF_INET
    except ValueError:
        raise InputError(f"serve: host is {shown(host)}; give an address such as 127.0.0.1") from None
    channel = socket.socket(family, socket.SOCK_DGRAM)
    try:
        channel.bind((host, port))
    except OSError as error:
        channel.close()
        raise InputError(f"serve: port {port} of {host} cannot be used: {error.strerror}; give another one") from None
    return channel
