"""What happens: simulated logs of a 7R arm with rigid, elastic and mixed joints, and when what happened in them.

One run has three parts.  First something strikes every link, hard and then softly; then every motor is faulty in turn;
then nothing happens.  Sensors are added to what was simulated, outside the control loop.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

import flexjoint as fj

PERIOD, SUBSTEPS = 1e-3, 2
HARD, SOFT, LASTING, ARM = 40.0, 8.0, 0.1, (0.1, 0.1, 0.1)  # N, N, s, m
STRUCK, STRIKES = 1.0, 0.5  # s: when the first link is struck, and how often
FAULTS, FAULT_EVERY, FAULT_LASTING = 8.5, 0.6, 0.3  # s
QUIET, DURATION = 13.5, 18.0  # s
FRICTION = (2.0, 2.0, 1.0, 1.0, 0.2, 0.1, 0.05)  # Nm s/rad, of the links; known
LOSSES = ((0.5, 0.0), (1.0, 3.0), (0.0, 0.0))  # efficiency, bias: half of the torque lost, 3 Nm too much, all lost
AFTER = 0.4  # s: what an event leaves in a residual is no false alarm


class Event(NamedTuple):
    """What happened, to which link or motor, and when."""

    what: str
    where: int
    begin: float
    end: float


class Sensors(NamedTuple):
    """Resolution of positions, rad, and standard deviations of velocities, rad/s, and torques, Nm."""

    position: float
    velocity: float
    torque: float


PERFECT = Sensors(0.0, 0.0, 0.0)
FINE, COARSE = Sensors(2 * np.pi / 2**20, 1e-3, 0.02), Sensors(2 * np.pi / 2**14, 1e-2, 0.2)


class Condition(NamedTuple):
    """How the robot differs from its model, and what it senses with."""

    payload: float = 0.0  # kg, in link 7
    friction: float = 1.0  # of the known one
    sensors: Sensors = FINE
    every: int = 1  # sample of those 1 ms apart


CONDITIONS = {
    "nominal": Condition(),
    "payload 0.3 kg": Condition(payload=0.3),
    "friction 1.5 times": Condition(friction=1.5),
    "coarse sensors": Condition(sensors=COARSE),
    "5 ms between samples": Condition(every=5),
}


EXACT = {"perfect sensors": Condition(sensors=PERFECT), "perfect, 5 ms": Condition(sensors=PERFECT, every=5)}
ALL = {**CONDITIONS, **EXACT}  # those in which events are scored, and those that show what is wrong without noise


@dataclass(frozen=True)
class Log:
    """Arrays (m, 7): what was measured, the torque commanded, its mean until the next sample, true positions."""

    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    theta: np.ndarray
    theta_v: np.ndarray
    tau_e: np.ndarray
    tau: np.ndarray
    true_q: np.ndarray
    sensors: Sensors


def robots() -> dict[str, fj.Robot]:
    elastic = with_friction(fj.load("kuka_lwr"))
    drives = [joint.drive for joint in elastic.joints]
    rigid = elastic.rigid()
    mixed = elastic.with_drives([*drives[:3], *(joint.drive for joint in rigid.joints[3:])])
    return {
        "rigid": rigid.replace(name="lwr_rigid"),
        "elastic": elastic,
        "mixed": mixed.replace(name="lwr_mixed"),
    }


def with_friction(robot: fj.Robot) -> fj.Robot:
    known = iter(FRICTION)
    links = [
        replace(x, joint=replace(x.joint, viscous_friction=next(known))) if x.joint.moves else x for x in robot.links
    ]
    return robot.replace(links=tuple(links))


def events(n: int) -> list[Event]:
    found = []
    for k in range(2 * n):
        begin = STRUCK + STRIKES * k
        found.append(Event("hard collision" if k < n else "soft collision", k % n, begin, begin + LASTING))
    kinds = ("half the torque lost", "3 Nm bias", "all torque lost")
    for i in range(n):
        begin = FAULTS + FAULT_EVERY * i
        found.append(Event(kinds[i % len(LOSSES)], i, begin, begin + FAULT_LASTING))
    return found


def strikes(robot: fj.Robot) -> Any:
    """The contact of all collisions: forces sin² in time, across the links, at arm's length of their frames."""
    links = [link.name for link in robot.links if link.joint.moves]
    rng = np.random.default_rng(7)
    directions = rng.normal(size=(2 * robot.n, 3))
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    wrenches = [np.concatenate([f, np.cross(ARM, f)]) for f in directions]

    def contact(t: Any, state: Any) -> dict[str, Any]:
        total = {name: ca.SX.zeros(6) for name in links}
        for k, wrench in enumerate(wrenches):
            begin, force = STRUCK + STRIKES * k, HARD if k < robot.n else SOFT
            on = ca.logic_and(t > begin, t < begin + LASTING)
            size = on * ca.sin(np.pi * (t - begin) / LASTING) ** 2
            total[links[k % robot.n]] += size * force * wrench
        return total

    return contact


def motion(n: int, seed: int) -> fj.trajectory.Trajectory:
    """Slow sinusoids that never rest."""
    rng = np.random.default_rng([11, seed])
    amplitude, frequency = rng.uniform(0.2, 0.5, (2, n)), rng.uniform(0.1, 0.35, (2, n))
    return fj.trajectory.Sinusoid(
        amplitude, frequency, rng.uniform(0, 2 * np.pi, (2, n)), rng.uniform(-0.5, 0.5, n), DURATION
    )


def simulated(robot: fj.Robot, seed: int) -> dict[str, Log]:
    """A log for each condition, all of one motion."""
    n = robot.n
    law = fj.control.FeedforwardPD(robot, [2000.0, 150.0])
    efficiency, bias = np.array([LOSSES[i % len(LOSSES)] for i in range(n)]).T
    begin = FAULTS + FAULT_EVERY * np.arange(n)
    faulty = fj.simulation.FaultyActuators(law, efficiency, bias, begin, begin + FAULT_LASTING, PERIOD)
    mass = robot.links[robot.link_index("link7")].mass
    free = {
        "link7.mass": np.array([mass + x.payload for x in ALL.values()]),
        "joint?.viscous_friction": np.array([x.friction * np.array(FRICTION) for x in ALL.values()]),
    }
    wanted = motion(n, seed)
    options = {"period": PERIOD, "substeps": SUBSTEPS, "contact": contact_of(robot), "free": free}
    run = fj.simulate(robot, faulty, wanted, DURATION, **options)
    reference = wanted(run.t, law.order)
    logs = {}
    for k, (name, condition) in enumerate(ALL.items()):
        states = type(run.states)(*(x[k] for x in run.states))
        springs = fj.dynamics.spring_torques(robot, *states)[0]
        exact = [*states, springs, faulty.commanded(reference, states)]
        logs[name] = thinned(sensed(run.t, exact, condition.sensors, np.random.default_rng([seed, k])), condition.every)
    return logs


CONTACTS: dict[str, Any] = {}


def contact_of(robot: fj.Robot) -> Any:
    """One function a robot, so that one kernel serves all its runs."""
    return CONTACTS.setdefault(robot.digest, strikes(robot))


def sensed(t: np.ndarray, exact: list[np.ndarray], sensors: Sensors, rng: np.random.Generator) -> Log:
    q, v, theta, theta_v, tau_e, tau = exact
    true_q = q
    if sensors.position:
        q, theta = (sensors.position * np.round(x / sensors.position) for x in (q, theta))
    v, theta_v = (x + sensors.velocity * rng.normal(size=x.shape) for x in (v, theta_v))
    return Log(t, q, v, theta, theta_v, tau_e + sensors.torque * rng.normal(size=tau_e.shape), tau, true_q, sensors)


def thinned(log: Log, every: int) -> Log:
    """One sample of so many."""
    whole = len(log.t) // every * every
    kept = {x.name: getattr(log, x.name)[:whole:every] for x in fields(log) if x.name != "sensors"}
    kept["tau"] = log.tau[:whole].reshape(-1, every, log.tau.shape[1]).mean(axis=1)
    return Log(**kept, sensors=log.sensors)
