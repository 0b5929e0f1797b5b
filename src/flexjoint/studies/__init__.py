"""Studies of robots that are not known exactly: parameters drawn at random, statistics of errors and failures."""

from ..boundary import public
from .cluster import cluster as cluster, local_cluster as local_cluster
from .confirmation import ConfirmedOutcomes as ConfirmedOutcomes, confirm_outcomes as confirm_outcomes
from .gain_search import GainSearch as GainSearch, gain_search as gain_search
from .intervals import (
    ProbabilityEstimate as ProbabilityEstimate,
    QuantileEstimate as QuantileEstimate,
    probability_interval as probability_interval,
    quantile_interval as quantile_interval,
)
from .monte_carlo import MonteCarlo as MonteCarlo, monte_carlo as monte_carlo
from .reading import read as read
from .sample import simulate_sample as simulate_sample
from .sample_files import read_samples as read_samples
from .sample_table import SampleTable as SampleTable
from .sobol import SobolIndices as SobolIndices, sobol_indices as sobol_indices
from .summary import (
    StudySummary as StudySummary,
    failure_probability as failure_probability,
    outcomes as outcomes,
    quantiles as quantiles,
    summarize as summarize,
)
from .sweep import SweepTable as SweepTable, sweep as sweep
from .worst_case import WorstCase as WorstCase, worst_case as worst_case

public(__name__)
