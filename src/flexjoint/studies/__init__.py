"""Studies of robots that are not known exactly: parameters drawn at random, statistics of errors and failures."""

from .monte_carlo import MonteCarlo as MonteCarlo, monte_carlo as monte_carlo
from .sample_table import SampleTable as SampleTable
