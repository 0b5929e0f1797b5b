"""Experiments with a robot: settings changed by hand, simulated at once, in Python or on a page in the browser."""

from ..boundary import public
from .detection import Detection as Detection
from .experiment import Experiment as Experiment
from .serve import Studio as Studio, serve as serve
from .settings import Setting as Setting
from .stability import StabilityLimits as StabilityLimits

public(__name__)
