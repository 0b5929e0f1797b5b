"""Arrays in NetCDF files of simulations, as logs have them."""

from __future__ import annotations

from collections.abc import Iterable
from io import BytesIO

import numpy as np

from ..errors import InputError


def netcdf_arrays(data: bytes, place: str, names: Iterable[str]) -> dict[str, np.ndarray]:
    """Those of the named arrays that a file of `write_results` holds."""
    try:
        import xarray
    except ImportError:
        raise InputError(f"{place}: NetCDF files need xarray: pip install 'flexjoint[results]'") from None
    try:
        found = xarray.load_dataset(BytesIO(data), engine="scipy")
        return {name: np.asarray(found[name], dtype=float) for name in names if name in found}
    except Exception as error:  # the reader meets what it does not expect: any error
        raise InputError(f"{place}: not a NetCDF file of a simulation: {str(error)[:200]}") from None
