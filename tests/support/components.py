"""Exported components, compiled and run over files of steps, and the loops that the tests export."""

import subprocess
from functools import cache

import numpy as np

import flexjoint as fj
from flexjoint.deployment.c_code import FLAGS

PERIOD = 1e-3
EXTENDED = "extended state of "
STRICT = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-ffp-contract=off"]

DRIVER = """
#include <stdio.h>
#include "law.h"
int main(void)
{
    static law_state state;
    static law_parameters parameters;
    static law_input input;
    static law_output output;
    law_init(&state);
    law_defaults(&parameters);
    while (fread(&input, sizeof input, 1, stdin) == 1) {
        const double flags = law_step(&state, &parameters, &input, &output);
        fwrite(&output, sizeof output, 1, stdout);
        fwrite(&flags, sizeof flags, 1, stdout);
    }
    return 0;
}
"""


@cache
def loop(name):
    """The loops that are tested: a controller with a residual and a detector."""
    if name == "variable stiffness":
        robot = fj.load("vsa_3r")
        law = fj.control.VariableStiffnessTracking.from_numbers(robot, [-10.0], PERIOD)
        residual = fj.observers.JointTorqueResidual(robot, 30.0, 30.0, sensors=False)
    elif name.startswith(EXTENDED):
        return with_extended_state(fj.load(name.removeprefix(EXTENDED)))
    else:
        robot = fj.load(name)
        law = fj.control.FeedforwardPD(robot, [2000.0, 80.0])
        residual = fj.observers.JointTorqueResidual(robot, 30.0, 30.0, sensors=False)
    observers = {"residual": residual, "watch": fj.observers.Detector(residual, {"link": 2.0})}
    return fj.deployment.online_loop(law, observers=observers, period=PERIOD, limits=False)


def with_extended_state(robot):
    """A controller that reads motor encoders through an extended state observer, with alarms."""
    observer = fj.observers.ExtendedStateObserver(robot, 6e-6, 1000.0, 20.0)
    watch = fj.observers.Detector(observer, {"link": 2.0})
    law = fj.control.FeedforwardPD(robot, [2000.0, 80.0])
    return fj.deployment.online_loop(law, estimator=observer, observers={"watch": watch}, period=PERIOD, limits=False)


def random_steps(component, count, seed=0):
    """Inputs (count, numbers): signals of limited speed, now and then NaN, missing, or with a stamp that goes back."""
    rng = np.random.default_rng(seed)
    columns = []
    for array in component.inputs:
        size = array.size
        if array.name == "t":
            t = np.cumsum(rng.choice([PERIOD, PERIOD, PERIOD, 1.0001 * PERIOD, 3 * PERIOD], count))
            back = rng.random(count) < 0.01
            columns.append(np.where(back, t - 5 * PERIOD, t)[:, None])
            continue
        phase, speed = rng.uniform(0, 6, size), rng.uniform(0.5, 3.0, size)
        x = 0.3 * np.sin(speed * PERIOD * np.arange(count)[:, None] + phase)
        if array.name == "reference" and array.shape[1] > component.outputs[0].size // 2 and "vsa" in component.name:
            x = x.reshape(count, *array.shape)
            x[:, 0, array.shape[1] // 2 :] += 2000.0  # stiffness, Nm/rad
            x = x.reshape(count, size)
        x[rng.random(count) < 0.01, 0] = rng.choice([np.nan, np.inf, 1e40])
        columns.append(x)
    return np.concatenate(columns, axis=1)


def python_outputs(component, inputs):
    """What the Python kernel gives for each step: outputs without flags, then flags, (count, numbers)."""
    edges = np.cumsum([0, *(x.size for x in component.inputs)])
    state, numbers, count = component.start(), component.nominal, len(component.state)
    names = [x.name for x in component.outputs]
    order = [k for k, x in enumerate(names) if x != FLAGS] + [names.index(FLAGS)]
    rows = np.empty((len(inputs), sum(x.size for x in component.outputs)))
    for k, row in enumerate(inputs):
        given = [row[a:b].reshape(x.shape) for x, a, b in zip(component.inputs, edges, edges[1:])]
        found = component.kernel(*state, *given, *numbers)
        state = found[:count]
        rows[k] = np.concatenate([np.ravel(found[count + i]) for i in order])
    return rows


def exported(component, folder, **options):
    """The folder of an exported component, with a driver that reads inputs and writes outputs."""
    fj.deployment.export_component(component, folder, "law", **options)
    (folder / "driver.c").write_text(DRIVER)
    return folder


def compiled_outputs(folder, inputs, compiler, *options):
    """What the compiled C gives for each step, as `python_outputs`."""
    program = folder / f"driver_{compiler}_{'_'.join(options).replace('=', '').replace(',', '')}"
    sources = [folder / "driver.c", folder / "law.c"]
    subprocess.run([compiler, *STRICT, *options, "-o", program, *sources, "-lm"], check=True)
    data = subprocess.run([program], input=inputs.tobytes(), capture_output=True, check=True)
    assert not data.stderr, data.stderr.decode()[:2000]
    return np.frombuffer(data.stdout).reshape(len(inputs), -1)
