"""The notebooks as pages, with what their cells print and draw."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbconvert import MarkdownExporter

from .pages import ROOT, STAGE

NOTEBOOKS = ROOT / "examples" / "notebooks"


def write_notebooks() -> None:
    """Run every notebook and write a page into the folder `notebooks`, beside the notebook itself."""
    folder = STAGE / "notebooks"
    folder.mkdir(exist_ok=True)
    for path in sorted(NOTEBOOKS.glob("*.ipynb")):
        notebook = nbformat.read(path, as_version=4)
        NotebookClient(notebook, timeout=120).execute(cwd=str(folder))
        text, resources = MarkdownExporter().from_notebook_node(notebook)
        for name, data in resources["outputs"].items():
            (folder / f"{path.stem}-{name}").write_bytes(data)
        shutil.copy(path, folder)
        note = f"[{path.name}]({path.name}) is the notebook of this page.\n"
        (folder / f"{path.stem}.md").write_text(described(text, path) + note)


def described(text: str, path: Path) -> str:
    """The page with alternative texts: those of the headings above the figures; without styles inside tables."""
    heading = ""
    lines = []
    for line in re.sub(r"<style.*?</style>", "", text, flags=re.DOTALL).splitlines():
        heading = line.lstrip("# ") if line.startswith("#") else heading
        lines.append(re.sub(r"!\[[^\]]*\]\(([^)]+)\)", rf"![{heading}]({path.stem}-\1)", line))
    return "\n".join(lines) + "\n\n"
