"""Files of results: NetCDF, CSV, NPZ and Parquet, written whole or not at all."""

from .files import check_results_path, check_table_path, read_results, write_csv, write_results, write_table

__all__ = ["check_results_path", "check_table_path", "read_results", "write_csv", "write_results", "write_table"]
