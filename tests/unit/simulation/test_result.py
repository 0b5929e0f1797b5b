"""What a simulation shows of itself."""

from __future__ import annotations

import re

import numpy as np
import pytest

import flexjoint as fj

ROBOT = fj.random_robot(2, 5, prismatic=0.0, elastic=1.0, name="<arm>")
PD = fj.control.MotorPD(ROBOT, [400.0, 40.0])
REST = fj.JointState(*np.zeros((4, 2)))


def run(**options):
    return fj.simulate(ROBOT, PD, [0.4, -0.3], 0.05, start=REST, check=False, **options)


def test_repr():
    one, many = run(), run(gains=np.stack([PD.gains] * 3))
    assert repr(one) == "<Simulation of <arm> under MotorPD: 51 samples, 0.05 s>"
    assert repr(many) == "<Simulation of <arm> under MotorPD: 3 runs of 51 samples, 0.05 s>"


def test_repr_of_runs_that_diverged():
    gains = np.stack([PD.gains, -1e6 * PD.gains])
    with pytest.warns(fj.FlexjointWarning, match="diverged"):
        many = run(gains=gains)
    with pytest.warns(fj.FlexjointWarning, match="diverged"):
        alone = run(gains=gains[1])
    ended = f"{float(alone.ended):.6g} s"
    assert repr(many).endswith(f"; 1 of them diverged, the first at {ended}>")
    assert repr(alone).endswith(f"; diverged at {ended}>")


def test_html():
    one = run()
    cells = re.findall("<td>(.*?)</td>", one._repr_html_())
    assert cells[0] == ROBOT.joints[0].name and len(cells) == 8
    assert float(cells[1]) == pytest.approx(abs(one.error[-1, 0]), rel=1e-2)
    assert float(cells[2]) == pytest.approx(np.abs(one.error[:, 0]).max(), rel=1e-2)
    assert float(cells[7]) == pytest.approx(np.abs(one.tau[:, 1]).max(), rel=1e-2)
    assert "<arm>" not in one._repr_html_() and "&lt;arm&gt;" in one._repr_html_()
