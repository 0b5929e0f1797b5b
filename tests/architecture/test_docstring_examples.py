"""Examples in docstrings run, and print what they show."""

import doctest
import importlib
import inspect
from pathlib import Path

import pytest

import flexjoint
from support.public import ALGORITHMS

PACKAGE = Path(flexjoint.__file__).parent
WITH_EXAMPLES = [path for path in sorted(PACKAGE.rglob("*.py")) if ">>> " in path.read_text()]


@pytest.mark.parametrize("package", sorted({path.relative_to(PACKAGE).parts[0] for path in WITH_EXAMPLES}))
def test_examples_in_docstrings_run(package, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    failed = []
    for path in WITH_EXAMPLES:
        place = path.relative_to(PACKAGE)
        if place.parts[0] == package:
            name = ".".join(("flexjoint", *place.with_suffix("").parts)).removesuffix(".__init__")
            results = doctest.testmod(importlib.import_module(name))
            failed += [str(place)] * (not results.attempted or results.failed > 0)
    assert not failed, f"examples without the result they show, or not run at all: {failed}"


def test_examples_of_algorithms_run():
    runner = doctest.DocTestRunner(verbose=False)
    for name, algorithm in ALGORITHMS.items():
        runner.run(doctest.DocTestParser().get_doctest(inspect.getdoc(algorithm), {}, name, None, 0))
    assert runner.tries and not runner.failures, "the output names the algorithms"
