"""Figures of Monte-Carlo studies: the distribution of errors, with runs that diverged or whose step is too long."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.figure import Figure

import flexjoint as fj
from support.runs import ROBOT

LAW = fj.control.FeedforwardPD(ROBOT, [400.0, 40.0])
MOTION = fj.trajectory.RestToRest([0.0, 0.0], [0.4, -0.3], 0.05)


def study(joint=-1, stiff=-1):
    """Eight samples with errors 1, ..., 8 mrad; of the last two one joint diverged or is too stiff."""
    errors = np.arange(1.0, 9.0)[:, None] * 1e-3 * np.ones(2)
    last = np.arange(8) >= 6
    arrays = {"parameters": errors[:, :1], "largest": errors, "rms": errors / 2, "final": errors / 4}
    arrays |= {"ended": np.full(8, 0.05), "joint": np.where(last, joint, -1), "longest_step": np.full(8, np.inf)}
    arrays |= {"stiff_joint": np.where(last, stiff, -1), "samples": np.arange(8)}
    return fj.studies.MonteCarlo(ROBOT, ("link1.mass",), **arrays, wanted=8, step=1e-3)


@pytest.mark.parametrize(("changes", "most"), [({}, 1.0), ({"joint": 0}, 0.75), ({"stiff": 1}, 0.75)])
def test_curves_end_at_the_share_of_runs_with_a_finite_error(changes, most):
    figure = fj.plots.plot_monte_carlo(study(**changes))
    assert isinstance(figure, Figure) and len(figure.axes) == 2
    for axis in figure.axes:
        largest, final = axis.get_lines()
        count = round(8 * most)
        assert np.allclose(largest.get_xdata(), np.rad2deg(1e-3 * np.arange(count + 1)))
        assert np.allclose(final.get_xdata(), np.rad2deg(1e-3 * np.arange(count + 1)) / 4)
        assert np.allclose(largest.get_ydata(), np.arange(count + 1) / 8)


def test_a_study_is_plotted(tmp_path):
    found = fj.studies.monte_carlo(
        ROBOT, LAW, MOTION, 0.06, samples=8, vary={"payload": "0..3"}, threads=1, check=False
    )
    fj.plots.plot_monte_carlo(found, tmp_path / "errors.png")
    assert (tmp_path / "errors.png").read_bytes().startswith(b"\x89PNG")
    assert fj.plots.plot_monte_carlo(found).get_suptitle() == "arm: 8 samples, 0 failed"
