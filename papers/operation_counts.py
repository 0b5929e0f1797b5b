"""Operation counts of the parts of [EJNEA sec. IV], each counted separately, as the paper lists them.

The counts are exact polynomials of the number of joints N: linear for recursions, quadratic for composite bodies, cubic
for the factorization.  So the counts of a few chains give those of all others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from flexjoint.algorithm.algorithm import Algorithm
from flexjoint.compiler.ir.program import Array
from flexjoint.compiler.ir.scan import tracing
from flexjoint.compiler.pipeline import trace
from flexjoint.dynamics.inverse import inverse_dynamics
from flexjoint.dynamics.links import torque_derivatives
from flexjoint.dynamics.recursion.articulated_body import by_articulated_bodies
from flexjoint.dynamics.recursion.composite_bodies import link_mass_matrix
from flexjoint.robot import Robot
from flexjoint.spatial import ca, zeros

from .report import BLUE, GREEN, RED, REPRODUCED, YELLOW, Claim, Drawings, verdict

PARABOLA_FROM = 10  # joints from which the count of the mass matrix is quadratic; shorter chains cost less


class Counts(NamedTuple):
    """Operations for n joints.  EJNEA₂* gives τ_e, EJNEA₃* its rate; `_still` with the last derivative zero."""

    n: int
    ejnea: int
    ejnea2: int
    ejnea2_still: int
    ejnea3: int
    ejnea3_still: int
    crba: int
    aba: int
    aba_still: int  # without velocities and gravity

    @property
    def factorization(self) -> int:
        """Of M = LᵀDL: n(n² − 1)/3 multiplications and subtractions, n(n − 1)/2 quotients, n − 2 reciprocals."""
        n = self.n
        return n * (n * n - 1) // 3 + n * (n - 1) // 2 + max(0, n - 2)

    @property
    def solution(self) -> int:
        """Of LᵀDL x = b: 2n(n − 1) multiplications and subtractions, n quotients."""
        return 2 * self.n * (self.n - 1) + self.n

    @property
    def forward(self) -> int:
        """q'' by one factorization  [EJNEA (46), (47), (49), (51)]."""
        return self.crba + self.factorization + self.ejnea2_still + self.n + self.solution

    @property
    def law(self) -> int:
        """Feedback linearization: q'', then q''' with the same factorization, then the torque  [EJNEA sec. IV]."""
        return self.forward + self.ejnea3_still + self.n + self.solution + self.ejnea

    @property
    def law_by_aba(self) -> int:
        """Feedback linearization by two runs of the articulated-body algorithm."""
        return self.aba + self.ejnea3_still + self.n + self.aba_still + self.ejnea


def counts(robot: Robot) -> Counts:
    """Operation counts of a robot with elastic joints."""
    n = robot.n
    links = robot.without_drives()
    weightless = links.with_gravity([0.0, 0.0, 0.0])
    still = zeros(n)

    def torque(*q: Any) -> Any:
        return torque_derivatives.function(links, *q, order=len(q) - 3)[-1]

    return Counts(
        n=n,
        ejnea=counted(inverse_dynamics, robot),
        ejnea2=operations(torque, n, n, n),
        ejnea2_still=operations(lambda q, v: torque(q, v, still), n, n),
        ejnea3=operations(torque, n, n, n, n),
        ejnea3_still=operations(lambda q, v, a: torque(q, v, a, still), n, n, n),
        crba=operations(lambda q: ca.vertcat(*[x for row in link_mass_matrix(links, q)[0] for x in row.values()]), n),
        aba=operations(lambda *x: by_articulated_bodies(links, *x), n, n, n),
        aba_still=operations(lambda q, b: by_articulated_bodies(weightless, q, still, b), n, n),
    )


def counted(algorithm: Algorithm, robot: Robot, **options: Any) -> int:
    """Operations of an algorithm of flexjoint; options as in `compile`."""
    return algorithm.trace(robot, algorithm.structure(robot, **options))[0].operations


def operations(function: Callable[..., Any], *sizes: int) -> int:
    """Additions, multiplications and divisions of a function of vectors with these sizes, without loops."""
    inputs = [(Array(f"x{k}", (n,)), ca.SX.sym(f"x{k}", n)) for k, n in enumerate(sizes)]
    with tracing(loops=False) as definitions:
        result = function(*(x for _, x in inputs))
    return trace("count", inputs, [(Array("result", (result.numel(),)), result)], definitions).operations


class Growth:
    """Counts of chains of any length n ≥ 3; of `crba` and sums with it for n ≥ 10.

    Args:
        counted: Counts of some chains, by length.
    """

    def __init__(self, counted: Mapping[int, Counts]) -> None:
        self.polynomials = {}
        for name in Counts._fields:
            points = [c for n, c in counted.items() if name != "crba" or n >= PARABOLA_FROM]
            n, y = np.array([c.n for c in points]), np.array([getattr(c, name) for c in points])
            exact = np.round(2 * np.polyfit(n, y, 2 if name == "crba" else 1)) / 2
            if np.any(np.polyval(exact, n) != y):
                raise ValueError(f"the operations of {name}, {y.tolist()} for {n.tolist()} joints, are no polynomial")
            self.polynomials[name] = exact

    def __call__(self, n: int) -> Counts:
        return Counts(**{name: round(float(np.polyval(p, n))) for name, p in self.polynomials.items()})

    def first(self, cheaper: Callable[[Counts], bool]) -> int:
        """Smallest number of joints for which a condition holds."""
        return next(n for n in range(PARABOLA_FROM, 1000) if cheaper(self(n)))

    def exponent(self, part: str, n: int) -> float:
        """Local exponent p of a count ∝ nᵖ at n."""
        return np.log(getattr(self(2 * n), part) / getattr(self(n), part)) / np.log(2)


# Claims and figure of [EJNEA] ---------------------------------------------------------------------------------------


def cost_claims(lwr: Counts, seven: Counts, growth: Growth) -> list[Claim]:
    """Claims about operations."""
    slope, offset = growth.polynomials["ejnea"]
    exponents = ", ".join(f"{growth.exponent('law', n):.1f} at N = {n}" for n in (10, 100, 1000))
    rigid = growth.first(lambda c: c.aba < c.forward)
    elastic = growth.first(lambda c: c.law_by_aba < c.law)
    saving = lwr.ejnea2 - lwr.ejnea2_still + lwr.ejnea3 - lwr.ejnea3_still
    share = 100 * saving / (lwr.law + saving)
    return [
        Claim(
            "EJNEA grows with the number of joints as (sec. III)",
            "O(N)",
            f"{slope:.0f} N − {-offset:.0f} operations, exactly; {lwr.ejnea} for the LWR with its orthogonal axes",
            REPRODUCED,
        ),
        Claim(
            "The linearizing controller grows as (sec. IV)",
            "O(N³)",
            f"Locally as N to the power {exponents}",
            verdict(round(growth.exponent("law", 1000)) == 3),
        ),
        Claim(
            "Articulated bodies cost more than a factorization up to about (after (52))",
            "N = 9",
            f"N = {rigid - 1} in rigid forward dynamics",
            verdict(abs(rigid - 1 - 9) <= 1),
        ),
        Claim(
            "Elastic joints favour the factorization further, as articulated bodies must run twice",
            "no number",
            f"Articulated bodies cost less from N = {elastic} on, and {100 * (lwr.law_by_aba / lwr.law - 1):.0f} % "
            "more on the LWR",
            verdict(elastic > rigid),
        ),
        Claim(
            "Versions of EJNEA₂* and EJNEA₃* with q'' = 0 and q''' = 0 built in gain",
            "negligible",
            f"{share:.1f} % of the controller's operations on the LWR",
            verdict(share < 2),
        ),
    ]


def growth_figure(drawings: Drawings, chains: Mapping[int, Counts], models: Mapping[int, int]) -> None:
    """Figure of operations over the number of joints, and of symbolic `models` of as many joints."""
    figure, (axis,) = drawings.panels(1, 7.5, 5.0)
    for part, label, colour, dashes in (
        ("law", "linearizing controller", BLUE, "-"),
        ("law_by_aba", "the same, articulated bodies", BLUE, "--"),
        ("ejnea", "EJNEA", GREEN, "-"),
        ("forward", "rigid forward dynamics", RED, "-"),
        ("aba", "the same, articulated bodies", RED, "--"),
        ("factorization", "factorization alone", YELLOW, "-"),
    ):
        counted = [getattr(c, part) for c in chains.values()]
        axis.plot(list(chains), counted, f"o{dashes}", color=colour, ms=4, label=label)
    axis.plot(list(models), list(models.values()), "k^", ms=5, label="EJNEA's torques, symbolic Lagrangian")
    axis.set(xlabel="joints N", ylabel="operations", xscale="log", yscale="log", xlim=(0.9, 1.1 * max(chains)))
    axis.set_xticks([1, 2, *chains])
    axis.xaxis.set_major_formatter("{x:g}")
    axis.minorticks_off()
    caption = (
        "EJNEA is linear; the controller becomes cubic through its factorization, which articulated bodies avoid at "
        "the price of two runs."
    )
    drawings.save(figure, "growth", "operations over the number of joints", caption)
