"""Examples in docstrings run, and print what they show."""

import doctest
import importlib
from pathlib import Path

import pytest

import flexjoint

PACKAGE = Path(flexjoint.__file__).parent
WITH_EXAMPLES = [
    ".".join(("flexjoint", *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__")
    for path in sorted(PACKAGE.rglob("*.py"))
    if ">>> " in path.read_text()
]


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_examples_in_docstrings_run(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = doctest.testmod(importlib.import_module(name))
    assert found.attempted and not found.failed
