"""Files of results: NetCDF, CSV, NPZ and Parquet, written completely or not at all."""

from ..boundary import public
from .files import (
    check_results_path as check_results_path,
    check_table_path as check_table_path,
    read_results as read_results,
    write_csv as write_csv,
    write_results as write_results,
    write_table as write_table,
)
from .posture_table import PostureTable as PostureTable
from .simulation_table import SimulationTable as SimulationTable

public(__name__)
