"""Simulate, detect, print and save."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn
from rich.table import Table

from ..report import machine, versions
from .methods import METHODS
from .metrics import Exactness, Score, area, exactness, joined, position_error, roc, score, thresholds
from .scenarios import CONDITIONS, EXACT, events, robots, simulated

CALIBRATION, SEEDS = 2, 3
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E3B505")
STYLES = ("-", "--", ":", "-.", (0, (1, 3)))
Scores = dict[tuple[str, str, str], Score]  # by robot, condition, method
Exact = dict[tuple[str, str, str], Exactness]
Positions = dict[tuple[str, str, str], float]


def measured(seeds: int, say: Any) -> tuple[Scores, Exact, Positions]:
    """Thresholds come from the quiet parts of logs under the same condition, of motions that are not scored."""
    scores: Scores = {}
    exact: Exact = {}
    positions: Positions = {}
    for kind, robot in robots().items():
        residuals: dict[tuple[str, str], list[np.ndarray]] = {}
        errors: dict[tuple[str, str], list[np.ndarray]] = {}
        times: dict[str, np.ndarray] = {}
        for seed in range(CALIBRATION + seeds):
            say(f"{kind} joints, motion {seed + 1} of {CALIBRATION + seeds}")
            for name, log in simulated(robot, seed).items():
                times[name] = log.t
                for method, observe in METHODS.items():
                    residual, q = observe(robot, log)
                    residuals.setdefault((name, method), []).append(residual)
                    if q is not None:
                        errors.setdefault((name, method), []).append(q - log.true_q)
        for (name, method), listed in residuals.items():
            t = times[name]
            if name in EXACT:
                links = [r[:, : robot.n] for r in listed]
                exact[kind, name, method] = exactness(t, links)
                continue
            level = thresholds(t, listed[:CALIBRATION])
            scored = [score(t, r, level, events(robot.n)) for r in listed[CALIBRATION:]]
            scores[kind, name, method] = joined(scored)
        positions |= {(kind, *key): position_error(times[key[0]], x) for key, x in errors.items()}
    return scores, exact, positions


def position_rows(positions: Positions) -> list[dict[str, Any]]:
    return [
        {"robot": kind, "condition": name, "method": method, "rms_rad": float(f"{x:.3g}")}
        for (kind, name, method), x in positions.items()
    ]


def position_table(listed: list[dict[str, Any]]) -> Table:
    shown = Table(title="estimated link positions while the links are struck")
    for heading in ("joints", "condition", "method", "root mean square error, rad"):
        shown.add_column(heading)
    for x in listed:
        shown.add_row(*(x[y] for y in ("robot", "condition", "method")), f"{x['rms_rad']:.1e}")
    return shown


def exact_rows(exact: Exact) -> list[dict[str, Any]]:
    return [
        {
            "robot": kind,
            "condition": name,
            "method": method,
            **{x: float(f"{y:.3g}") for x, y in found._asdict().items()},
        }
        for (kind, name, method), found in exact.items()
    ]


def exact_table(listed: list[dict[str, Any]]) -> Table:
    shown = Table(title="residuals of links where nothing happens, sensors without noise")
    for heading in ("joints", "condition", "method", "root mean square, Nm", "largest, Nm"):
        shown.add_column(heading)
    for x in listed:
        numbers = [f"{x['mean']:.1e}", f"{x['largest']:.1e}"]
        shown.add_row(*(x[y] for y in ("robot", "condition", "method")), *numbers)
    return shown


def rows(scores: Scores) -> list[dict[str, Any]]:
    listed = []
    for (kind, condition, method), found in scores.items():
        for what in ("all", *dict.fromkeys(found.what)):
            chosen = np.array([what in ("all", x) for x in found.what])
            delays = found.delays[chosen]
            seen = delays[np.isfinite(delays)]
            listed.append(
                {
                    "robot": kind,
                    "condition": condition,
                    "method": method,
                    "event": what,
                    "events": int(chosen.sum()),
                    "missed": int(np.count_nonzero(np.isnan(delays))),
                    "delay_median_s": round(float(np.median(seen)), 4) if seen.size else None,
                    "delay_95_s": round(float(np.quantile(seen, 0.95)), 4) if seen.size else None,
                    "false_alarms_per_minute": round(found.false_alarms / found.minutes, 2),
                    "roc_area": round(area(found._replace(at_events=found.at_events[chosen])), 4),
                }
            )
    return listed


def table(listed: list[dict[str, Any]]) -> Table:
    shown = Table(title="detection of collisions and faults, 7R arm, seeded simulations")
    headings = ("joints", "condition", "method", "missed", "delay, ms", "95 %, ms", "false alarms/min", "ROC area")
    for heading in headings:
        shown.add_column(heading)
    for x in listed:
        if x["event"] != "all":
            continue
        milliseconds = [f"{1e3 * x[y]:.0f}" if x[y] is not None else "" for y in ("delay_median_s", "delay_95_s")]
        shown.add_row(
            *(x[y] for y in ("robot", "condition", "method")),
            f"{x['missed']} of {x['events']}",
            *milliseconds,
            f"{x['false_alarms_per_minute']:.1f}",
            f"{x['roc_area']:.3f}",
        )
    return shown


def plot(scores: Scores, path: Path) -> None:
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    kinds = list(dict.fromkeys(kind for kind, _, _ in scores))
    figure = Figure(figsize=(4.2 * len(kinds), 4.8), layout="constrained")
    for axis, kind in zip(figure.subplots(1, len(kinds), sharey=True), kinds):
        for colour, condition in zip(COLOURS, CONDITIONS):
            for method, dashes in zip(METHODS, STYLES):
                false, true = roc(scores[kind, condition, method])
                least = 0.5 / len(scores[kind, condition, method].in_quiet)
                axis.step(np.maximum(false, least), true, ls=dashes, where="post", color=colour)
        axis.set(title=f"{kind} joints", xlabel="quiet windows of 0.2 s with a false alarm, of all", xscale="log")
        axis.set_ylim(0, 1.02)
        axis.grid(alpha=0.3)
    figure.axes[0].set_ylabel("events detected, of all")
    colours = [Line2D([], [], color=x, label=y) for x, y in zip(COLOURS, CONDITIONS)]
    styles = [Line2D([], [], color="black", ls=x, label=y) for x, y in zip(STYLES, METHODS)]
    both = [x for pair in zip(colours, styles) for x in pair]  # a legend is filled by columns
    figure.legend(handles=both, loc="outside lower center", ncols=len(colours), frameon=False, fontsize=9)
    figure.savefig(path, dpi=150)


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.detection", description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("benchmarks/results"), help="folder for JSON and plot")
    parser.add_argument("--seeds", type=int, default=SEEDS, help="motions of each robot that are scored")
    arguments = parser.parse_args()
    with Progress(SpinnerColumn(), TextColumn("{task.description}"), transient=True) as progress:
        task = progress.add_task("starting")
        scores, exact, positions = measured(arguments.seeds, lambda text: progress.update(task, description=text))
    listed = rows(scores)
    Console(width=130).print(table(listed))
    Console(width=130).print(exact_table(exact_rows(exact)))
    Console(width=130).print(position_table(position_rows(positions)))
    arguments.output.mkdir(parents=True, exist_ok=True)
    content = {"machine": machine(), "versions": versions(), "seeds": arguments.seeds, "rows": listed}
    content["exactness"] = exact_rows(exact)
    content["link_positions"] = position_rows(positions)
    (arguments.output / "detection.json").write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n")
    plot(scores, arguments.output / "detection.png")


if __name__ == "__main__":
    main()
