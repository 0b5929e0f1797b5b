"""The gallery: every example with the figure it makes."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

from .pages import ROOT, STAGE

EXAMPLES = ROOT / "examples"
FIGURES = ROOT / "build" / "gallery"  # kept until an example changes: all take about two minutes
PICTURES = (".png", ".gif")
INTRODUCTION = """# Gallery

Each script makes its figures in the folder `--output`, in seconds:

    python examples/fastest_motion.py --output out

Two notebooks are in `examples/notebooks/`: [tune a joint with a series elastic actuator](notebooks/tune_sea_joint.md),
and [find a collision in a log](notebooks/detect_in_a_log.md).
"""


def write_gallery() -> None:
    """Write `gallery.md` with the figures of all examples; an example that changed runs first."""
    (STAGE / "gallery").mkdir(exist_ok=True)
    parts = [INTRODUCTION]
    for script in sorted(EXAMPLES.glob("*.py")):
        title, *_ = (ast.get_docstring(ast.parse(script.read_text())) or "").split("\n")
        pictures = pictures_of(script)
        for picture in pictures:
            shutil.copy(picture, STAGE / "gallery" / f"{script.stem}-{picture.name}")
        shown = "\n\n".join(f"![{title}](gallery/{script.stem}-{picture.name})" for picture in pictures)
        code = "".join(f"    {line}\n" for line in ["```python", *script.read_text().splitlines(), "```"])
        name = script.stem.replace("_", " ").capitalize()
        parts.append(f'## {name}\n\n{title}\n\n{shown}\n\n??? example "{script.name}"\n\n{code}')
    (STAGE / "gallery.md").write_text("\n".join(parts))


def pictures_of(script: Path) -> list[Path]:
    """The pictures that an example makes."""
    folder = FIGURES / script.stem
    done = folder / "done"
    if not done.exists() or done.stat().st_mtime < script.stat().st_mtime:
        print(f"running {script.name} ...", flush=True)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        sources = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
        command = [sys.executable, str(script), "--output", str(folder)]
        environment = os.environ | {"PYTHONPATH": sources}
        subprocess.run(command, check=True, cwd=folder, env=environment, stdout=subprocess.DEVNULL)
        done.touch()
    return sorted(path for path in folder.iterdir() if path.suffix in PICTURES)
