"""What a law, an observer or a contact returns is compared with what it declares, before any code exists; and what it
writes into its arguments stays with it."""

from dataclasses import dataclass, field
from typing import Any

import casadi as ca
import numpy as np
import pytest

import flexjoint as fj
from flexjoint.simulation import loop_kernel
from flexjoint.simulation.reference_solution import reference_solution

ROBOT = fj.random_robot(1, 0, name="pendulum")
TWO = fj.random_robot(2, 0, name="two")
JOINT = ROBOT.joints[0].name


@dataclass(frozen=True, eq=False)
class Law(fj.control.Controller):
    """Returns whatever `answer` makes of its measurement."""

    answer: Any
    robot: Any = ROBOT
    memory_sizes: tuple = ()
    gains: Any = field(default_factory=lambda: np.empty((0, 1)))
    order = 0

    @property
    def memory(self):
        return len(self.memory_sizes)

    def start(self, reference):
        return tuple(np.zeros(size) for size in self.memory_sizes)

    def law(self, gains, state, reference, measurement):
        return self.answer(state, measurement)


@dataclass(frozen=True, eq=False)
class Watcher(fj.observers.Observer):
    answer: Any
    robot: Any = ROBOT
    period: float = 1e-3
    memory = (2,)
    outputs = {"speed": 1}  # noqa: RUF012

    def start(self, measurement):
        return (np.zeros(2),), {"speed": measurement.v}

    def law(self, state, measurement, torque):
        return self.answer(state, measurement)


@dataclass(frozen=True, eq=False)
class Timed(fj.observers.TimedObserver):
    answer: Any
    robot: Any = ROBOT
    period: float = 1e-3
    memory = (2,)
    reads = ("v",)
    channels = {"speed": 1}  # noqa: RUF012
    outputs = {"speed": 1}  # noqa: RUF012

    def step(self, state, h, measurement, torque):
        return self.answer(state, measurement)


@pytest.fixture(autouse=True)
def no_code(request, monkeypatch):
    """A refusal comes before any code: nothing is made of a loop that is refused."""
    if "refused" in request.node.name:
        monkeypatch.setattr(loop_kernel, "distribute_loop", None)


def simulate(law, **keywords):
    return fj.simulate(law.robot, law, np.zeros(law.robot.n), 0.01, check=False, **keywords)


SHAPE = rf"it must have shape \(1,\), one number for each of {JOINT}"
TORQUES = {
    "two": (lambda s, m: (s, ca.vertcat(m.q, m.q)), rf"Law\.law returned tau with shape \(2,\); {SHAPE}"),
    "a hundred": (lambda s, m: (s, ca.repmat(m.q, 100, 1)), rf"Law\.law returned tau with shape \(100,\); {SHAPE}"),
    "none": (lambda s, m: (s, ca.SX(0, 1)), rf"returned tau with shape \(0,\); {SHAPE}"),
    "a matrix": (lambda s, m: (s, ca.repmat(m.q, 2, 2)), rf"returned tau with shape \(2, 2\); {SHAPE}"),
    "an array": (lambda s, m: (s, np.zeros(2)), rf"returned tau with shape \(2,\); {SHAPE}"),
    "None": (lambda s, m: (s, None), rf"Law\.law returned NoneType for tau; {SHAPE}, in SX or numbers"),
    "text": (lambda s, m: (s, "tau"), "returned str for tau"),
    "complex": (lambda s, m: (s, [1j]), "returned list for tau"),
    "MX": (lambda s, m: (s, ca.MX.sym("x", 1)), "returned MX for tau"),
    "no pair": (lambda s, m: m.q, "Law.law returned SX as its result; it must be a tuple of 2: state, torque"),
    "nothing": (lambda s, m: None, "Law.law returned NoneType as its result"),
    "three": (lambda s, m: (s, m.q, m.q), "Law.law returned tuple of 3 as its result"),
    "a state too many": (lambda s, m: ((m.q,), m.q), "returned tuple of 1 as its state; it must be an empty tuple"),
}


@pytest.mark.parametrize("case", TORQUES)
def test_a_torque_of_another_size_is_refused(case):
    answer, message = TORQUES[case]
    law = Law(answer)
    with pytest.raises(fj.InputError, match=message):
        simulate(law)
    with pytest.raises(fj.InputError, match=message):
        law((), np.zeros((1, 1)), fj.JointState(*np.zeros((4, 1))))


@pytest.mark.parametrize(
    "run",
    [
        lambda law: fj.simulate(ROBOT, law, [0.0], 0.01),
        lambda law: fj.simulate(ROBOT, law, [0.0], 0.01, hold=False, check=False),
        lambda law: fj.simulate(ROBOT, law, [0.0], 0.01, gains=np.empty((3, 0, 1)), check=False),
        lambda law: reference_solution(ROBOT, law, [0.0], 0.01),
        lambda law: fj.simulate(ROBOT, fj.simulation.FaultyActuators(law, 0.5), [0.0], 0.01, check=False),
    ],
    ids=["stability", "stages", "batch", "reference solution", "around"],
)
def test_every_way_to_a_law_is_refused(run):
    with pytest.raises(fj.InputError, match=r"Law\.law returned tau with shape \(2,\)"):
        run(Law(lambda s, m: (s, ca.vertcat(m.q, m.q))))


STATES = {
    "longer": (lambda s, m: ((s[0], ca.vertcat(s[1], 1)), m.q), r"Law\.law returned state1 with shape \(4,\).*\(3,\)"),
    "scalar": (lambda s, m: ((s[0], 0.0), m.q), r"Law\.law returned state1 with shape \(1,\).*\(3,\)"),
    "exchanged": (lambda s, m: (s[::-1], m.q), r"Law\.law returned state0 with shape \(3,\).*\(2,\)"),
    "too few": (lambda s, m: (s[:1], m.q), "list of 1 as its state; it must be a tuple of 2: state0, state1"),
    "joined": (lambda s, m: (ca.vertcat(*s), m.q), "SX as its state; it must be a tuple of 2"),
    "None": (lambda s, m: (None, m.q), "NoneType as its state; it must be a tuple of 2"),
}


@pytest.mark.parametrize("case", STATES)
def test_a_state_of_another_size_is_refused(case):
    answer, message = STATES[case]
    law = Law(answer, memory_sizes=(2, 3))
    with pytest.raises(fj.InputError, match=message):
        simulate(law)


def test_numbers_and_rows_are_taken():
    """What has the right size counts, in whatever form: floats, lists, arrays, rows, arrays of SX."""

    def as_objects(m):
        array = np.empty(2, dtype=object)
        array[:] = [m.q[0], m.q[1]]
        return array

    forms = [lambda m: m.q, lambda m: m.q.T, lambda m: [m.q[0], m.q[1]], lambda m: (m.q[0], m.q[1]), as_objects]
    start, gains = fj.JointState(*np.full((4, 2), 0.1)), np.empty((0, 2))
    runs = [simulate(Law(lambda s, m, f=f: (s, f(m)), TWO, gains=gains), start=start).tau for f in forms]
    assert all(np.array_equal(run, runs[0]) for run in runs) and np.any(runs[0])
    numbers = [simulate(Law(lambda s, m, x=x: (s, x), TWO, gains=gains)).tau for x in ([1.0, 2.0], np.array([1, 2]))]
    assert all(np.array_equal(run, np.tile([1.0, 2.0], (11, 1))) for run in numbers)
    assert np.all(simulate(Law(lambda s, m: (s, 2.0))).tau == 2.0)


OBSERVED = {
    "longer output": (lambda s, m: (s, {"speed": ca.vertcat(m.v, m.v)}), r"output 'speed' with shape \(2,\).*\(1,\)"),
    "longer state": (lambda s, m: ([ca.vertcat(*s, 1)], {"speed": m.v}), r"returned state0 with shape \(3,\).*\(2,\)"),
    "no output": (lambda s, m: (s, {}), "the outputs without 'speed'; it must be a mapping with speed"),
    "no mapping": (lambda s, m: (s, m.v), "returned SX; it must be a mapping with speed"),
    "no state": (lambda s, m: ((), {"speed": m.v}), "tuple of 0 as its state; it must be a tuple of 1"),
    "nothing": (lambda s, m: None, "NoneType as its result"),
}


@pytest.mark.parametrize("case", OBSERVED)
def test_an_observer_of_another_size_is_refused(case):
    answer, message = OBSERVED[case]
    watcher = Watcher(answer)
    with pytest.raises(fj.InputError, match=rf"Watcher\.law .*{message}"):
        simulate(Law(lambda s, m: (s, -m.q)), observers={"watcher": watcher})
    with pytest.raises(fj.InputError, match=rf"Watcher\.law .*{message}"):
        watcher((np.zeros(2),), fj.observers.Measurement(*np.zeros((5, 1))), np.zeros(1))


def test_a_timed_observer_of_another_size_is_refused():
    longer = Timed(lambda s, m: (ca.vertcat(s, 1), {"speed": m.v}))
    message = r"Timed\.step returned state with shape \(3,\); it must have shape \(2,\)"
    with pytest.raises(fj.InputError, match=message):
        longer.run(
            np.arange(5) * 1e-3, fj.observers.Measurement(None, np.zeros((5, 1)), None, None, None), np.zeros((5, 1))
        )
    with pytest.raises(fj.InputError, match=message):
        _ = longer.kernel
    with pytest.raises(fj.InputError, match=message):
        simulate(Law(lambda s, m: (s, -m.q)), observers={"watcher": longer})


@pytest.mark.parametrize(
    "wrench, message",
    [
        ([0.0] * 7, r"with shape \(7,\); it must have shape \(6,\), one number for each of f_x, f_y"),
        (ca.SX(2, 3), r"with shape \(2, 3\)"),
        (None, "returned NoneType for the wrench on"),
        (0.0, r"with shape \(1,\)"),
    ],
)
def test_a_contact_of_another_size_is_refused(wrench, message):
    link = ROBOT.links[0].name
    with pytest.raises(fj.InputError, match=f"simulate: contact .*{message}"):
        simulate(Law(lambda s, m: (s, -m.q)), contact=lambda t, state: {link: wrench})


PYTHON = {
    "two": (lambda t, s, r, m: (s, np.zeros(2)), r"torque has shape \(2,\) .*; it must be \(1,\), one number per m"),
    "scalar": (lambda t, s, r, m: (s, 0.0), r"torque has shape \(\)"),
    "None": (lambda t, s, r, m: (s, None), r"torque has shape \(\)"),
    "text": (lambda t, s, r, m: (s, "1 Nm"), "torque is '1 Nm' .*; give numbers"),
    "only a torque": (lambda t, s, r, m: np.zeros(1), r"returned array\(\[0\.\]\) .*; it must return \(state, tor"),
}  # fmt: skip


@pytest.mark.parametrize("case", PYTHON)
def test_a_controller_in_python_of_another_size(case):
    controller, message = PYTHON[case]
    with pytest.raises(fj.InputError, match=f"simulate: the controller.*{message}"):
        fj.simulate(ROBOT, controller, [0.0], 0.01, check=False)


# What is written into arguments -------------------------------------------------------------------------------


def test_a_python_controller_that_writes_into_its_arguments():
    """Neither robot, reference, instruments nor an earlier run change."""

    def honest(t, state, reference, measurement):
        return (state[0] + 1,), -2.0 * measurement.q - measurement.v + 3.0 * reference[0] + 0.01 * state[0]

    def writing(t, state, reference, measurement):
        found = honest(t, state, reference, measurement)
        for x in (*measurement, reference):
            x[...] = 1e3
        state[0][...] = 77.0
        return found

    for controller in (honest, writing):
        controller.order = 0
        controller.start = lambda reference: (np.zeros(1),)
    start = fj.JointState(*np.full((4, 1), 0.2))
    for reference in ([0.1], fj.trajectory.RestToRest([0.0], [1.0], 0.02)):
        for around in ({}, {"sensors": fj.simulation.Sensors(delay=1), "observers": {"watcher": Watcher(watched)}}):
            runs = [fj.simulate(ROBOT, x, reference, 0.02, start=start, **around) for x in (honest, writing)]
            for name in ("q", "v", "theta", "tau", "reference"):
                assert np.array_equal(getattr(runs[0], name), getattr(runs[1], name)), name
    memory = [x.copy() for x in runs[0].memory]
    fj.simulate(ROBOT, writing, [0.1], 0.02, start=runs[0])
    assert all(np.array_equal(x, y) for x, y in zip(runs[0].memory, memory))


def watched(state, measurement):
    return state, {"speed": measurement.v}


def test_laws_in_sx_that_write_into_their_arguments():
    """SX can be written into as arrays can."""

    def writing(answer):
        def law(state, measurement):
            found = answer(state, measurement)
            for x in (*state, *measurement):
                x[:] = 7.0
            return found

        return law

    def pulled(t, state):
        return {ROBOT.links[0].name: ca.vertcat(state.q, t, 0, 0, 0, 0)}

    def pulling(t, state):
        found = pulled(t, state)
        t[:], state.q[:] = 5.0, 6.0
        return found

    def spring(state, m):
        return (state[0] + 1,), -2.0 * m.q - m.v + 0.01 * state[0]

    start = fj.JointState(*np.full((4, 1), 0.2))
    runs = [
        simulate(Law(law, memory_sizes=(1,)), start=start, observers={"watcher": Watcher(seen)}, contact=contact)
        for law, seen, contact in ((spring, watched, pulled), (writing(spring), writing(watched), pulling))
    ]
    assert all(np.array_equal(getattr(runs[0], x), getattr(runs[1], x)) for x in ("q", "v", "theta", "tau"))
    assert np.any(runs[0].tau)
