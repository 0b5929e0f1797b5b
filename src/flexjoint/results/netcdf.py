"""Arrays of a NetCDF file that `write_results` has written."""

from __future__ import annotations

from collections.abc import Callable
from io import BytesIO

import numpy as np

from ..errors import FlexjointError, InputError


def netcdf_arrays(data: bytes, place: str, wanted: Callable[[list[str]], list[str]]) -> dict[str, np.ndarray]:
    """Numeric arrays of a NetCDF file by name.

    Args:
        data: Content of the file.
        place: Name of the file, for messages.
        wanted: Chooses among the names of all numeric arrays.

    Raises:
        InputError: Xarray is not installed or the file cannot be read.
    """
    try:
        import xarray
    except ImportError:
        raise InputError(f"{place}: NetCDF files need xarray: pip install 'flexjoint[results]'") from None
    try:
        found = xarray.load_dataset(BytesIO(data), engine="scipy")
        numeric = [str(name) for name, x in found.variables.items() if x.dtype.kind in "biuf" and x.ndim]
        return {name: np.asarray(found[name], dtype=float) for name in wanted(numeric)}
    except FlexjointError:
        raise
    except Exception as error:  # a damaged file raises any error in the reader
        raise InputError(f"{place}: not a NetCDF file of a simulation: {str(error)[:200]}") from None
