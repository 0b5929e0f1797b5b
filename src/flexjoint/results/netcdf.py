"""Arrays in NetCDF files of simulations, as logs have them."""

from __future__ import annotations

from collections.abc import Callable
from io import BytesIO

import numpy as np

from ..errors import FlexjointError, InputError


def netcdf_arrays(data: bytes, place: str, wanted: Callable[[list[str]], list[str]]) -> dict[str, np.ndarray]:
    """The arrays of numbers in a file of `write_results` that are wanted among their names."""
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
    except Exception as error:  # the reader meets what it does not expect: any error
        raise InputError(f"{place}: not a NetCDF file of a simulation: {str(error)[:200]}") from None
