"""Studies of robots that are not known exactly: parameters drawn at random, statistics of errors and failures."""

from .cluster import cluster as cluster, local_cluster as local_cluster
from .monte_carlo import MonteCarlo as MonteCarlo, monte_carlo as monte_carlo
from .reading import read as read
from .sample import simulate_sample as simulate_sample
from .sample_table import SampleTable as SampleTable
from .sweep import Sweep as Sweep, sweep as sweep
