"""FMUs, validated and run by fmpy: bits of the simulation, model exchange, closed loop, derivatives, states."""

import ctypes
import shutil
import zipfile

import numpy as np
import pytest
from typer.testing import CliRunner

import flexjoint as fj
from flexjoint.cli import app
from support.marks import long

fmpy = pytest.importorskip("fmpy")
pytestmark = pytest.mark.skipif(not shutil.which("cc"), reason="no C compiler")
from fmpy.fmi2 import FMU2Model, FMU2Slave  # noqa: E402
from fmpy.validation import validate_fmu  # noqa: E402

PERIOD = 1e-3


@pytest.fixture(scope="module")
def robot():
    return fj.load("hua_3r")


@pytest.fixture(scope="module")
def plant(robot):
    return fj.deployment.plant_component(robot, PERIOD, q=[0.1, 0.2, 0.3], free=("link3.mass",))


@pytest.fixture(scope="module")
def plant_file(plant, tmp_path_factory):
    return fj.deployment.export_fmu(plant, tmp_path_factory.mktemp("fmu") / "arm.fmu", "arm")


@pytest.fixture(scope="module")
def plain_file(robot, tmp_path_factory):
    """Nothing is free: the numbers of the robot are constants, as in a simulation."""
    plain = fj.deployment.plant_component(robot, PERIOD, q=[0.1, 0.2, 0.3])
    return fj.deployment.export_fmu(plain, tmp_path_factory.mktemp("fmu") / "plain.fmu", "arm")


@pytest.fixture(scope="module")
def law(robot):
    residual = fj.observers.JointTorqueResidual(robot, 30.0, 30.0, sensors=False)
    detector = fj.observers.Detector(residual, {"link": 5.0})
    return fj.deployment.online_loop(
        fj.control.FeedforwardPD(robot, [500.0, 50.0]), observers={"watch": detector}, limits=False
    )


@pytest.fixture(scope="module")
def law_file(law, tmp_path_factory):
    return fj.deployment.export_fmu(law, tmp_path_factory.mktemp("fmu") / "law.fmu", "law")


class Unit:
    """An FMU, and its numbers by name."""

    def __init__(self, path, folder, kind=FMU2Slave, logger=None):
        self.description = fmpy.read_model_description(str(path))
        self.folder = fmpy.extract(str(path), str(folder))
        part = self.description.coSimulation if kind is FMU2Slave else self.description.modelExchange
        self.fmu = kind(
            guid=self.description.guid,
            unzipDirectory=self.folder,
            modelIdentifier=part.modelIdentifier,
            instanceName="x",
        )
        self.fmu.instantiate()
        self.fmu.setupExperiment(startTime=0.0)
        self.fmu.enterInitializationMode()
        self.references = {x.name: x.valueReference for x in self.description.modelVariables}

    def of(self, name, size):
        return [self.references[f"{name}[{k + 1}]"] for k in range(size)]

    def get(self, name, size):
        return np.array(self.fmu.getReal(self.of(name, size)))

    def set(self, name, values):
        flat = np.ravel(values)
        names = [x for x in self.references if x.startswith(f"{name}[")]
        self.fmu.setReal([self.references[x] for x in names[: flat.size]], flat.tolist())

    def close(self):
        self.fmu.terminate()
        self.fmu.freeInstance()


@pytest.fixture
def unit(tmp_path):
    made = []

    def make(path, kind=FMU2Slave):
        made.append(Unit(path, tmp_path / str(len(made)), kind))
        return made[-1]

    yield make
    for x in made:
        x.close()


def test_both_are_valid(plant_file, law_file):
    for path in (plant_file, law_file):
        assert not validate_fmu(str(path))
        with zipfile.ZipFile(path) as archive:
            assert {"modelDescription.xml", "binaries/linux64"} <= {
                x.rpartition("/")[0] or x for x in archive.namelist()
            }


def test_the_closed_loop_is_the_simulation(robot, plain_file, law_file, unit):
    """Controller FMU and plant FMU, period by period: the bits of `simulate` under the same law, called from Python."""
    motion = fj.trajectory.RestToRest([0.1, 0.2, 0.3], [0.3, 0.6, -0.9], duration=0.1)
    controller = fj.control.FeedforwardPD(robot, [500.0, 50.0])
    arm, brain = unit(plain_file), unit(law_file)
    for x in (arm, brain):
        x.fmu.exitInitializationMode()
    states, torques = [], []
    for k in range(100):
        q, v = arm.get("q", 3), arm.get("v", 3)
        theta, theta_v = arm.get("theta", 3), arm.get("theta_v", 3)
        for name, x in (("q", q), ("v", v), ("theta", theta), ("theta_v", theta_v)):
            if f"{name}[1]" in brain.references:
                brain.set(name, x)
        brain.set("reference", motion(k * PERIOD, order=controller.order))
        brain.fmu.doStep(k * PERIOD, PERIOD)
        torques.append(brain.get("tau", 3))
        states.append(q)
        arm.set("tau", torques[-1])
        arm.fmu.doStep(k * PERIOD, PERIOD)
    found = fj.simulate(robot, Recorded(torques), motion, 0.1, period=PERIOD)
    assert np.array_equal(found.q[:100], states)
    assert np.array_equal(found.tau[:100], torques)
    references = np.moveaxis(motion(found.t, order=controller.order), 0, 1)
    seen = fj.JointState(found.q[:100], found.v[:100], found.theta[:100], found.theta_v[:100])
    expected = controller((), np.moveaxis(references[:100], 1, 0), seen)[1]
    np.testing.assert_allclose(torques, expected, rtol=1e-13, atol=1e-13)


class Recorded:
    """A law in Python that repeats torques."""

    def __init__(self, torques):
        self.torques = [*torques, torques[-1]]

    def __call__(self, t, state, reference, measurement):
        return state, self.torques[round(t / PERIOD)]


def test_model_exchange_gives_the_derivatives_of_the_kernel(robot, plant, plant_file, unit):
    arm = unit(plant_file, FMU2Model)
    rng = np.random.default_rng(1)
    arm.fmu.exitInitializationMode()
    arm.fmu.newDiscreteStates()
    arm.fmu.enterContinuousTimeMode()
    edges = np.cumsum([x.size for x in plant.state])
    for _ in range(5):
        x, tau = rng.normal(size=edges[-1]), rng.normal(size=3)
        rates = (ctypes.c_double * len(x))()
        arm.fmu.setContinuousStates((ctypes.c_double * len(x))(*x), len(x))
        arm.set("tau", tau)
        arm.fmu.getDerivatives(rates, len(x))
        expected = plant.rates_kernel(*np.split(x, edges[:-1]), tau, *plant.nominal)
        assert np.array_equal(np.array(rates), np.concatenate(expected[: len(plant.state)]))
        q, v, theta, theta_v = np.split(x, edges[:-1])
        motors = [np.array([*links[:2], *own]) for links, own in ((q, theta), (v, theta_v))]
        a, theta_a = fj.forward_dynamics(robot, q, v, *motors, tau)
        np.testing.assert_allclose(rates, [*v, *a, *theta_v, theta_a[2]], rtol=1e-12)
        assert np.array_equal(arm.get("tau_e", 3), expected[-1])


def test_directional_derivatives_are_differences(plant, plant_file, unit):
    arm = unit(plant_file, FMU2Model)
    rng = np.random.default_rng(2)
    size = sum(x.size for x in plant.state)
    x, tau, seed = rng.normal(size=size), rng.normal(size=3), rng.normal(size=size + 3)
    arm.fmu.exitInitializationMode()
    known = [*range(size), *arm.of("tau", 3)]
    unknown = [y.valueReference for y in arm.description.modelVariables if y.name.startswith("der(")] + arm.of(
        "tau_e", 3
    )
    edges = np.cumsum([y.size for y in plant.state])[:-1]

    def values(step):
        moved = x + step * seed[:size]
        found = plant.rates_kernel(*np.split(moved, edges), tau + step * seed[size:], *plant.nominal)
        return np.concatenate([*found[: len(plant.state)], found[-1]])

    arm.fmu.setContinuousStates((ctypes.c_double * size)(*x), size)
    arm.set("tau", tau)
    found = arm.fmu.getDirectionalDerivative(unknown, known, seed.tolist())
    h = 1e-5
    differences = (8 * (values(h) - values(-h)) - (values(2 * h) - values(-2 * h))) / (12 * h)
    np.testing.assert_allclose(found, differences, rtol=1e-8, atol=1e-8 * np.abs(differences).max())


def test_states_are_saved_restored_and_serialized(plant_file, unit):
    arm = unit(plant_file)
    arm.fmu.exitInitializationMode()
    arm.set("tau", [1.0, 2.0, 3.0])
    arm.fmu.doStep(0.0, PERIOD)
    kept = arm.fmu.getFMUState()
    data = arm.fmu.serializeFMUState(kept)
    arm.fmu.doStep(PERIOD, 5 * PERIOD)
    after = arm.get("q", 3)
    arm.fmu.setFMUState(kept)
    arm.fmu.doStep(PERIOD, 5 * PERIOD)
    assert np.array_equal(arm.get("q", 3), after)
    again = arm.fmu.deSerializeFMUstate(data)
    arm.fmu.setFMUState(again)
    for k in range(5):
        arm.fmu.doStep((1 + k) * PERIOD, PERIOD)
    assert np.array_equal(arm.get("q", 3), after)
    arm.fmu.freeFMUState(kept)
    arm.fmu.freeFMUState(again)


def test_parameters_are_tunable_and_start_values_settable(robot, plant_file, unit):
    arm = unit(plant_file)
    arm.set("q", [0.5, 0.0, -0.5])
    arm.fmu.setReal([arm.references["link3.mass"]], [4.0])
    arm.fmu.exitInitializationMode()
    arm.fmu.doStep(0.0, PERIOD)
    heavy = fj.deployment.plant_component(robot, PERIOD, q=[0.1, 0.2, 0.3], free=("link3.mass",))
    state = heavy.start()
    state[0] = np.array([0.5, 0.0, -0.5])
    _, found = heavy.step(state, {"tau": np.zeros(3)}, {"link3.mass": 4.0})
    assert np.array_equal(arm.get("q", 3), found["q"])


def test_wrong_calls_are_refused(plant_file, unit):
    arm = unit(plant_file)
    with pytest.raises(Exception, match=r"fmi2DoStep|returned|status"):
        arm.fmu.doStep(0.0, PERIOD)  # not initialized
    arm.fmu.exitInitializationMode()
    for step in (0.4 * PERIOD, 1.5 * PERIOD, -PERIOD, 0.0, float("nan")):
        with pytest.raises(Exception, match=r"fmi2DoStep|returned|status"):
            arm.fmu.doStep(0.0, step)
    with pytest.raises(Exception, match=r"fmi2SetReal|returned|status"):
        arm.set("q", [0.0, 0.0, 0.0])
    with pytest.raises(Exception, match=r"fmi2GetReal|returned|status"):
        arm.fmu.getReal([10_000])


def test_time_that_goes_back_is_refused(plant_file, unit):
    arm = unit(plant_file)
    arm.fmu.exitInitializationMode()
    arm.fmu.doStep(0.0, PERIOD)
    for point in (0.0, np.nan, np.inf):
        with pytest.raises(fmpy.fmi1.FMICallException):
            arm.fmu.doStep(point, PERIOD)


def test_equal_components_are_equal_files(plant, plant_file, tmp_path):
    again = fj.deployment.export_fmu(plant, tmp_path / "again.fmu", "arm")
    with zipfile.ZipFile(plant_file) as one, zipfile.ZipFile(again) as two:
        for name in one.namelist():
            if not name.startswith("binaries"):
                assert one.read(name) == two.read(name)


@pytest.mark.parametrize(
    ("words", "inputs", "outputs"),
    [
        ([], {"tau[1]"}, {"q[1]", "theta[1]", "tau_e[3]"}),
        long(["--wrench", "tool", "--free", "link3.mass"], {"wrench_tool[6]"}, {"q[1]"}),
        (["inverse_dynamics"], {"q[1]", "a[3]"}, {"tau[3]"}),
        long(["--controller", "motor_pd", "--gains", "500,50"], {"theta[1]", "reference[1,3]"}, {"tau[1]", "flags"}),
        (["--detector", "link,cutoff=30,threshold=5"], {"tau_e[1]", "torque[1]"}, {"link_link_alarm[1]"}),
    ],
)
def test_the_command_writes_all_kinds(words, inputs, outputs, tmp_path):
    path = tmp_path / "x.fmu"
    done = CliRunner().invoke(app, ["export-fmu", "hua_3r", *words, "-o", str(path)])
    assert done.exit_code == 0, done.output
    assert not validate_fmu(str(path))
    kinds = {x.name: x.causality for x in fmpy.read_model_description(str(path)).modelVariables}
    assert {kinds[x] for x in inputs} == {"input"} and {kinds[x] for x in outputs} == {"output"}


def test_a_stateless_algorithm_runs(robot, tmp_path, unit):
    component = fj.deployment.algorithm_component(fj.inverse_dynamics, robot)
    torque = unit(fj.deployment.export_fmu(component, tmp_path / "torque.fmu"))
    torque.fmu.exitInitializationMode()
    motion = np.random.default_rng(0).normal(size=(5, 3))
    for x, y in zip(component.inputs, motion):
        torque.set(x.name, y)
    torque.fmu.doStep(0.0, PERIOD)
    assert np.array_equal(torque.get("tau", 3), fj.inverse_dynamics(robot, *motion))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["-o", "arm.zip"], "arm.zip"),
        (["-o", "arm.fmu", "--wrench", "nowhere"], "there is no link nowhere"),
        (["-o", "arm.fmu", "--integrator", "magic"], "must be one of"),
        (["-o", "arm.fmu", "--name", "1 2"], "no name of a C function"),
        (["-o", "arm.fmu", "--period", "0"], "period"),
    ],
)
def test_bad_options_are_named(words, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, ["export-fmu", "hua_3r", *words])
    assert done.exit_code == 2 and message in done.output and not [*tmp_path.iterdir()]
