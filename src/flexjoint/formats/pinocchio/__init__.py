"""Models of the library Pinocchio (`pin.Model`) as robots, and robots as such models."""

from .reading import from_pinocchio as from_pinocchio
from .writing import to_pinocchio as to_pinocchio
