"""Table, JSON and plot of the rows."""

from __future__ import annotations

import importlib.metadata as metadata
import json
import platform
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from flexjoint.compiler.runtime.calling import EXTENSION

from .timing import Effort, Row

OURS, ELASTIC, PEER, MARK = "#0072B2", "#E69F00", "#555555", "#D55E00"
PLOTTED = ("7R LWR", "batches")
PEERS = ("pin.rnea", "pin.aba", "pin.crba", "mj_inverse")


def shown(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size * (1 if unit != "µs" else 10):
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.0f} ns"


def table(rows: Sequence[Row]) -> Table:
    found = Table(title=f"flexjoint and its peers on {processor()}")
    for name in ("", "ratio", "target", "", "flexjoint", "peer", "", "operations"):
        found.add_column(name, justify="right" if name else "left")
    section = ""
    for row in rows:
        if row.section != section:
            section = row.section
            found.add_section()
            found.add_row(f"[bold]{section}")
        bound = "" if row.target is None else f"{row.target:g}" + ("" if row.peer else " s")
        colour = {"pass": "[green]", "miss": "[red]"}.get(row.verdict, "")
        found.add_row(
            f"  {row.name}",
            "" if row.ratio is None else f"{row.ratio:.3f}",
            bound,
            f"{colour}{row.verdict}",
            shown(row.ours),
            "" if row.peer is None else shown(row.peer),
            row.peer_name,
            "" if row.operations is None else str(row.operations),
        )
    return found


def save(rows: Sequence[Row], effort: Effort, output: Path) -> None:
    output.mkdir(parents=True, exist_ok=True)
    found = {"machine": machine(), "versions": versions(), "blocks": effort.blocks}
    content = {**found, "rows": [row.as_json() for row in rows]}
    (output / "results.json").write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n")
    plot(rows, output / "results.png")
    Console().print(f"Saved {output / 'results.json'} and {output / 'results.png'}.")


def processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def machine() -> dict[str, Any]:
    import llvmlite.binding as llvm

    return {
        "processor": processor(),
        "llvm_cpu": llvm.get_host_cpu_name(),
        "architecture": platform.machine(),
        "system": platform.system(),
        "calls": "C extension" if EXTENSION else "ctypes",
    }


def versions() -> dict[str, str]:
    packages = {x: metadata.version(x) for x in ("flexjoint", "numpy", "casadi", "llvmlite", "pin", "mujoco")}
    return {"python": platform.python_version(), **packages}


def plot(rows: Sequence[Row], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(13, 6), layout="constrained", width_ratios=[3, 2])
    bars(left, [x for x in rows if x.section in PLOTTED and x.peer_name in PEERS])
    growth(right, [x for x in rows if x.section == "random chains"])
    figure.suptitle(f"flexjoint against its peers, {processor()}")
    figure.savefig(path, dpi=150)


def bars(axis: Any, rows: Sequence[Row]) -> None:
    for k, row in enumerate(rows):
        assert row.ratio is not None
        axis.barh(k, row.ratio, color=OURS, height=0.6)
        end = max(row.ratio, row.target or 0.0)
        axis.annotate(f"{row.ratio:.3f}", (end, k), (5, 0), textcoords="offset points", va="center", fontsize=8)
    goals = [(k, row.target) for k, row in enumerate(rows) if row.target is not None]
    lines, low, high = [x for _, x in goals], [k - 0.42 for k, _ in goals], [k + 0.42 for k, _ in goals]
    axis.vlines(lines, low, high, color=MARK, linewidth=2.5, label="target: at most")
    suffix = {"batches": ", a row of a batch"}
    labels = [f"{x.name}{suffix.get(x.section, '')} / {x.peer_name}" for x in rows]
    axis.set_yticks(range(len(rows)), labels, fontsize=9)
    axis.invert_yaxis()
    axis.margins(x=0.12)
    axis.set_xlim(left=0.0)
    axis.set_xlabel("time of flexjoint / time of the peer, 7R LWR (1: as fast as the peer)")
    axis.grid(axis="x", alpha=0.3)
    axis.legend(loc="lower right", frameon=False)


def growth(axis: Any, rows: Sequence[Row]) -> None:
    rigid, elastic = ([x for x in rows if x.order == order] for order in (0, 2))
    n = [x.joints for x in rigid]
    axis.plot(n, [x.peer * 1e6 for x in rigid if x.peer], "s:", color=PEER, label="pin.rnea (rigid)")
    axis.plot(n, [x.ours * 1e6 for x in elastic], "^--", color=ELASTIC, label="flexjoint, elastic (order 2)")
    axis.plot(n, [x.ours * 1e6 for x in rigid], "o-", color=OURS, label="flexjoint, rigid (order 0)")
    axis.set_xlim(left=0)
    axis.set_xlabel("joints of a random chain")
    axis.set_ylabel("inverse dynamics, µs a call from Python")
    axis.set_ylim(bottom=0)
    axis.grid(alpha=0.3)
    axis.legend(frameon=False)
