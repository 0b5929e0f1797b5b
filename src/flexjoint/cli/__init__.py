"""The command line, one file a group of commands.

Everything but typer is imported inside the commands, so that `flexjoint --help` answers at once.
"""

from . import kernels, reproduce, robots, rotors, simulate, torques
from .app import app

__all__ = ["app", "kernels", "reproduce", "robots", "rotors", "simulate", "torques"]
