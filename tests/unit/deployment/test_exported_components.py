"""Exported components: the bits of Python step by step, compilers, checkers, C++, build files, the command line."""

import json
import shutil
import subprocess

import numpy as np
import pytest
from typer.testing import CliRunner

import flexjoint as fj
from flexjoint.cli import app
from support.components import STRICT, compiled_outputs, exported, loop, python_outputs, random_steps
from support.marks import long

pytestmark = pytest.mark.skipif(not shutil.which("gcc"), reason="no gcc")
SANITIZERS = ["-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]

CPP = """
#include "law.hpp"
#include <cstdio>
int main()
{
    law_component::Component one;
    one.parameters.K_P[0] = 2.0 * one.parameters.K_P[0];
    law_component::Component two = one;
    law_component::Input input{};
    input.reference[0] = 0.5;
    const auto a = one.step(input), b = two.step(input);
    std::printf("%.17g %.17g %d\\n", a.tau[0], b.tau[0], one.flags());
    return 0;
}
"""


@pytest.mark.parametrize("name", [long("kuka_lwr"), long("variable stiffness"), "extended state of hua_3r"])
def test_every_step_has_the_bits_of_python(name, tmp_path):
    """Samples that cannot be used among them; 10⁵ steps, all compilers and levels are in tests/exported_loops.py."""
    component = loop(name)
    inputs = random_steps(component, 2000)
    expected = python_outputs(component, inputs)
    assert len(np.unique(expected[:, -1])) >= 5 and np.isfinite(expected).all()
    folder = exported(component, tmp_path)
    options = SANITIZERS if name == "variable stiffness" else ["-O1"]
    assert compiled_outputs(folder, inputs, "gcc", *options).tobytes() == expected.tobytes()


def test_the_folder_checks_itself(tmp_path):
    robot = fj.load("hua_3r")
    watch = {"watch": fj.observers.Detector(fj.observers.JointTorqueResidual(robot, 30.0, 30.0), {"link": 1.0})}
    for k, options in enumerate(({}, {"float32": True}, {"freestanding": True})):
        law = fj.deployment.online_loop(
            fj.control.MotorPD(robot, [500.0, 50.0]), observers=watch, stamps=k != 1, limits=False
        )
        folder = tmp_path / str(k)
        fj.deployment.export_component(law, folder, "law", **options)
        done = subprocess.run(["make", "-s", "check"], cwd=folder, capture_output=True, text=True, check=True)
        assert done.stdout == "law: 60 steps, 0 differences\n"
        text = (folder / "check.c").read_text()
        (folder / "check.c").write_text(text.replace("0x1.", "0x1.1", 1))
        assert subprocess.run(["make", "-s", "check"], cwd=folder, capture_output=True).returncode
    undefined = subprocess.run(["nm", "-u", tmp_path / "2" / "law.o"], capture_output=True, text=True, check=True)
    assert not undefined.stdout.strip()


def test_stack_use_is_printed(tmp_path):
    law = fj.deployment.online_loop(fj.control.MotorPD(fj.load("hua_3r"), [500.0, 50.0]), period=1e-3, limits=False)
    fj.deployment.export_component(law, tmp_path, "law")
    done = subprocess.run(["make", "-s", "stack"], cwd=tmp_path, capture_output=True, text=True, check=True)
    sizes = {line.split("\t")[0].split(":")[-1]: int(line.split("\t")[1]) for line in done.stdout.splitlines()}
    assert 0 < sizes["law_step"] < 4096


@pytest.mark.skipif(not shutil.which("g++"), reason="no g++")
def test_the_class_of_cpp(tmp_path):
    robot = fj.load("hua_3r")
    law = fj.deployment.online_loop(fj.control.MotorPD(robot, [500.0, 50.0]), period=1e-3, limits=False)
    fj.deployment.export_component(law, tmp_path, "law")
    (tmp_path / "main.cpp").write_text(CPP)
    subprocess.run(["gcc", *STRICT, "-O2", "-c", "law.c"], cwd=tmp_path, check=True)
    plain = ["-std=c++17", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
    subprocess.run(["g++", *plain, "main.cpp", "law.o", "-o", "main", "-lm"], cwd=tmp_path, check=True)
    a, b, flags = subprocess.run([tmp_path / "main"], capture_output=True, text=True, check=True).stdout.split()
    inputs = {x.name: np.zeros(x.shape) for x in law.inputs}
    inputs["reference"][0, 0] = 0.5
    _, found = law.step(law.start(), inputs, {"K_P": np.array([1000.0, 500.0, 500.0])})
    assert float(a) == float(b) == found["tau"][0] and flags == "1"


@pytest.mark.skipif(not shutil.which("cmake"), reason="no cmake")
def test_cmake_builds_tests_and_installs_it(tmp_path):
    law = fj.deployment.online_loop(fj.control.MotorPD(fj.load("hua_3r"), [500.0, 50.0]), period=1e-3, limits=False)
    fj.deployment.export_component(law, tmp_path, "law")
    place = tmp_path / "installed"
    for command in (
        ["cmake", "-S", ".", "-B", "build", f"-DCMAKE_INSTALL_PREFIX={place}", "-DCMAKE_INSTALL_LIBDIR=lib"],
        ["cmake", "--build", "build"],
        ["ctest", "--test-dir", "build"],
        ["cmake", "--install", "build"],
    ):
        subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    assert (place / "include" / "law.hpp").exists()
    assert f"prefix={place}\n" in (place / "lib" / "pkgconfig" / "law.pc").read_text()


def test_the_command_writes_a_guarded_controller(tmp_path):
    words = ["export-c", "kuka_lwr", "--controller", "motor_pd", "--gains", "1000,50", "--free", "link7.mass"]
    words += ["--detector", "joint_torque,link_cutoff=30,motor_cutoff=30,sensors=false,threshold.link=5"]
    words += ["--observer", "friction,cutoff=20,sensors=false", "--reaction", "stop,damping=20", "--name", "law"]
    words += ["--no-limits"]
    done = CliRunner().invoke(app, [*words, "-o", str(tmp_path), "--json"])
    assert done.exit_code == 0, done.output
    data = json.loads(done.stdout)
    assert [x["name"] for x in data["parameters"]] == ["K_P", "K_D", "threshold", "link7.mass"]
    assert {"law.h", "law.c", "law.hpp", "check.c", "CMakeLists.txt"} <= {x.name for x in tmp_path.iterdir()}


def test_the_command_writes_an_extended_state_observer(tmp_path):
    noise = "extended_state,encoder_step=1e-5,spring_noise=1000,external_noise=20"
    words = ["export-c", "hua_3r", "--controller", "motor_pd", "--gains", "500,50", "--no-limits"]
    words += ["--estimator", noise]
    done = CliRunner().invoke(app, [*words, "--detector", f"{noise},threshold=3", "-o", str(tmp_path), "--json"])
    assert done.exit_code == 0, done.output
    data = json.loads(done.stdout)
    assert [x["name"] for x in data["inputs"]] == ["t", "theta", "reference"]
    assert {"estimator_q", "estimator_link", "extended_state_link_alarm"} <= {x["name"] for x in data["outputs"]}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "give an ALGORITHM, or --controller"),
        (["inverse_dynamics", "--controller", "motor_pd"], "give an ALGORITHM, or --controller"),
        (["--detector", "link,cutoff=30"], "give threshold"),
        (["--detector", "link,threshold=5"], "give cutoff=..."),
        (["--detector", "magic,threshold=5"], "must begin with one of momentum"),
        (["--observer", "link,cutoff=fast"], "cutoff is 'fast'"),
        (["--observer", "link,speed=3"], "there is no 'speed'"),
        (["--observer", "extended_state,encoder_step=1e-5"], "give spring_noise=..., external_noise=..."),
        (["--controller", "motor_pd", "--gains", "1,1", "--reaction", "stop,damping=1"], "--reaction belongs to"),
    ],
)
def test_bad_options_are_named(words, message, tmp_path):
    done = CliRunner().invoke(app, ["export-c", "kuka_lwr", *words, "-o", str(tmp_path / "c")])
    assert done.exit_code == 2 and message in done.output and not (tmp_path / "c").exists()
