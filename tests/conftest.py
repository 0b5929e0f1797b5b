"""Tests compile what they test: no kernel of an earlier run is used, unless a test asks for a cache of its own."""

import os

from support.errors import WORST

os.environ["FLEXJOINT_CACHE"] = "off"


def pytest_addoption(parser):
    parser.addoption("--worst", action="store_true", help="print the largest relative error each test met (without -n)")


def pytest_terminal_summary(terminalreporter, config):
    if config.getoption("--worst"):
        for test, error in sorted(WORST.items()):
            terminalreporter.write_line(f"{error:.1e}  {test}")
