"""Experiments with a robot: numbers that are moved by hand, runs at once, and the page in the browser that does it."""

from .detection import Detection as Detection
from .experiment import Experiment as Experiment
from .serve import Studio as Studio, serve as serve
from .settings import Setting as Setting
from .stability import StabilityLimits as StabilityLimits
