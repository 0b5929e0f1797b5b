"""The fastest motion under all limits of a robot, by optimization: `time_optimal`.

`along_path.py` optimizes the time law of a given path, `free_path.py` the path too; `ipopt.py` solves either problem,
and `certificate.py` compares the result with all limits on a finer grid.
"""

from .certificate import ActivePhase as ActivePhase, Certificate as Certificate
from .time_optimal import FastestMotion as FastestMotion, time_optimal as time_optimal
