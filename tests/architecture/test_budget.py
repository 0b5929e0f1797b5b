"""Every package has a budget of code lines."""

from collections import Counter
from pathlib import Path

import flexjoint
from support.code_lines import code_lines

PACKAGE = Path(flexjoint.__file__).parent
BUDGET = {
    "(modules)": 900,
    "adapters": 200,
    "algorithm": 900,
    "analysis": 2900,
    "catalog": 100,
    "cli": 4300,
    "compiler": 4200,
    "control": 2700,
    "deployment": 2000,
    "detection": 800,
    "drives": 700,
    "dynamics": 5500,
    "formats": 5300,
    "identification": 4800,
    "kinematics": 1200,
    "logs": 1800,
    "numerics": 500,
    "observers": 1900,
    "plots": 1400,
    "reports": 800,
    "results": 400,
    "robot": 2100,
    "simulation": 3100,
    "spatial": 500,
    "springs": 600,
    "studies": 3300,
    "studio": 1300,
    "trajectory": 4900,
    "viewer": 2000,
}  # code lines at most; "(modules)": those directly in the package


def test_packages_keep_their_budgets():
    lines = Counter()
    for path in PACKAGE.rglob("*.py"):
        folder, *rest = path.relative_to(PACKAGE).parts
        lines[folder if rest else "(modules)"] += code_lines(path.read_text(encoding="utf-8"))
    excess = [
        f"{package} has {count} code lines, its budget is {BUDGET.get(package, 0)}"
        for package, count in sorted(lines.items())
        if count > BUDGET.get(package, 0)
    ]
    hint = "\nRemove lines, or raise the budget with a line in CHANGELOG.md that says what the lines buy."
    assert not excess, "\n".join(excess) + hint


def test_code_lines_exclude_docstrings_comments_and_blanks():
    assert code_lines('"""Doc."""\n\n# comment\nx = """a\n\nb"""  # comment\n') == 3
    assert code_lines('def f():\n    """Doc\n\n    more."""\n    return (\n        1\n    )\n') == 4
