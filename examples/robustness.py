"""How robust is a controller?  Failures, the parameter that decides, the worst robot, better gains, in one figure."""

import argparse
from pathlib import Path

from matplotlib.figure import Figure

import flexjoint as fj

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--output", type=Path, default=Path("."), help="folder for the figure and the table of gains")
folder = parser.parse_args().output
folder.mkdir(parents=True, exist_ok=True)

robot = fj.load("hua_3r")
motion = fj.trajectory.RestToRest([0.0] * 3, [0.8, -0.5, 0.6], 0.5)
vary = {"*.drive.stiffness": "10%", "link?.mass": "-20%..20%", "payload": "0..1"}
options = {"period": 5e-4, "vary": vary, "seed": 1}


def law(K_P, K_D):
    return fj.control.FeedforwardPD(robot, [K_P, K_D])


first = law(400.0, 40.0)
study = fj.studies.monte_carlo(robot, first, motion, 0.6, samples=200, limit=0.08, **options)
summary = fj.studies.summarize(study)
print(f"failures with K_P = 400: {summary.failures}")

indices = fj.studies.sobol_indices(robot, first, motion, 0.6, samples=128, **options)
print(f"{indices.names[indices.total.argmax()]} decides: total index {indices.total.max():.2f}")

worst = fj.studies.worst_case(robot, first, motion, 0.6, runs=200, **options)
print(f"worst robot: {worst.text}")

grid = {"K_P": [100.0, 200.0, 400.0, 800.0, 1600.0, 3200.0], "K_D": [10.0, 20.0, 40.0, 80.0]}
search = fj.studies.gain_search(robot, law, motion, 0.6, grid=grid, samples=60, limit=0.08, **options)
print(f"best gains: {search.paste}: {search.text}")
fj.results.write_table(search, folder / "gains.csv")

again = fj.studies.monte_carlo(robot, law(**search.best), motion, 0.6, samples=200, limit=0.08, **options | {"seed": 2})
print(f"failures with them, other samples: {fj.studies.failure_probability(again)}")

figure = Figure(figsize=(11.0, 8.0), layout="constrained")
axes = figure.subplots(2, 2)
for title, study_of, colour in (("K_P = 400", study, "#D55E00"), (search.paste, again, "#0072B2")):
    errors = study_of.largest.max(axis=1)
    axes[0, 0].ecdf(errors, label=title, color=colour)
axes[0, 0].axvline(0.08, color="#B00020", linestyle="--", label="limit")
axes[0, 0].set(xlabel="largest error, rad", ylabel="share of robots below")
axes[0, 0].legend(frameon=False, fontsize=9, loc="upper left")
axes[0, 0].grid(alpha=0.3)
fj.plots.plot_sobol(indices, ax=axes[0, 1])
axes[1, 0].step(*worst.history.T, where="post", color="#B00020", label="worst-case search")
axes[1, 0].axhline(study.largest.max(), color="#555555", linestyle=":", label="worst of 200 random robots")
axes[1, 0].set(xlabel="runs", ylabel="worst error so far, rad")
axes[1, 0].legend(frameon=False, fontsize=9, loc="upper left")
axes[1, 0].grid(alpha=0.3)
fj.plots.plot_gain_search(search, ax=axes[1, 1])
figure.savefig(folder / "robustness.png", dpi=150)
