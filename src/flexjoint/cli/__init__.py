"""The command line: one module per group of commands.

A command registers itself by the decorator `command` in its own module; this package imports all its modules.  Only
typer is imported at the top of a module, everything else inside the commands, so that `flexjoint --help` is fast.
"""

from importlib import import_module
from pkgutil import iter_modules

from .app import app as app

for module in iter_modules(__path__):
    import_module(f".{module.name}", __name__)
