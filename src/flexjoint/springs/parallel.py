"""The parallel spring: a spring between a link and its parent, beside the drive of the joint."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..reprs import repr_without_defaults
from ..types import Scalar
from .base import Spring
from .linear import LinearSpring


@dataclass(frozen=True, slots=True, repr=False)
class ParallelSpring:
    """A spring between a link and its parent, which pulls the joint towards `rest` with the torque law(rest − q).

    It acts on the link whatever drives the joint, as gravity balancers and the joint stiffness of MJCF do.
    In robot files: `parallel_spring = {stiffness = 40, rest = 0.3}`, or with the keys of another law,
    `parallel_spring = {kind = "cubic", stiffness = 40, cubic = 100, rest = 0.3}`.

    Args:
        stiffness: K of a linear spring, positive, in Nm/rad or N/m; or a `Spring` with an `energy`.
        rest: joint position where the spring is relaxed, in rad or m; 0 by default.

    A Robot raises RobotError, naming the joint, if the stiffness is not positive, a number is not finite, or a law has
    no energy or too few derivatives.

    Example:
        >>> import flexjoint as fj
        >>> balancer = fj.springs.ParallelSpring(40.0, rest=0.5)
        >>> balancer.torque(0.25)
        10.0
        >>> fj.Joint("shoulder", parallel_spring=balancer).parallel_spring
        ParallelSpring(stiffness=40.0, rest=0.5)
    """

    stiffness: float | Spring
    rest: float = field(default=0.0, metadata={"unit": "rad | m"})

    @property
    def spring(self) -> Spring:
        """The spring law; linear if `stiffness` is a number."""
        return self.stiffness if isinstance(self.stiffness, Spring) else LinearSpring(self.stiffness)

    def torque(self, q: Scalar) -> Scalar:
        """Torque on the link at the joint position q, law(rest − q), in Nm or N."""
        return self.spring.torque(self.rest - q)

    def energy(self, q: Scalar) -> Scalar:
        """Elastic energy at the joint position q, in J."""
        return self.spring.energy(self.rest - q)

    __repr__ = repr_without_defaults
