"""Many runs of what is not known exactly: parameters drawn at random, errors and failures as statistics."""

from .monte_carlo import MonteCarlo, monte_carlo
from .sample_table import SampleTable, plot_monte_carlo

__all__ = ["MonteCarlo", "SampleTable", "monte_carlo", "plot_monte_carlo"]
