"""The command line, one file a group of commands.

Everything but typer is imported inside the commands, so that `flexjoint --help` answers at once.
"""

from . import detect, kernels, reproduce, robots, rotors, simulate, torques
from .app import app

__all__ = ["app", "detect", "kernels", "reproduce", "robots", "rotors", "simulate", "torques"]
