"""Equations of motion on paper: algorithms run on symbols, simplified, written as LaTeX, SymPy or Python code."""

from .derivation import equations_of_motion as equations_of_motion
from .document import Equations as Equations, Parameter as Parameter, Quantity as Quantity
from .recursion_code import recursion_code as recursion_code
