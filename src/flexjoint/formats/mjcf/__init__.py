"""MJCF files, the format of MuJoCo: robots as elastic plants for its simulator."""

from .writing import (
    Difference as Difference,
    MjcfModel as MjcfModel,
    mjcf_model as mjcf_model,
    write_mjcf as write_mjcf,
)
