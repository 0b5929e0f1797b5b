"""Names for values of a Program, for people who read exported C: which joint and sweep they belong to.

    with labelling() as labels:
        program, _ = algorithm.trace(robot, structure)
    program.labels        # {57: Label(section=2, name="omega_3_x")}

An algorithm marks expressions with `labelled` where it makes them, joint after joint; each call begins a section of the
code.  Outside `labelling` that does nothing.  The tracer finds the values of the marked expressions, and passes keep
the labels of those that survive: operations and their bits are the same with and without labels.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple

from ...lazy import ca
from ...types import Expression

AXES = "xyz"
LANE_ORDERS = (0, 2, 1)  # derivatives in the lanes of a packed jet, relative to that of its label


class Section(NamedTuple):
    """A part of the code."""

    title: str  # "outward sweep", with # for the number of the body
    body: int | None = None  # index of the body, counted from 0
    joint: int | None = None  # index of its joint
    words: str = ""  # what is computed, with # as well


class Label(NamedTuple):
    """The name of a value."""

    section: int  # index in the sections
    name: str  # omega_3_x
    order: int = 0  # of the time derivative
    lanes: tuple[tuple[int, Label], ...] = ()  # of a packed value whose lanes have names of their own

    @property
    def text(self) -> str:
        return f"{self.name}_d{self.order}" if self.order else self.name

    def lane(self, k: int) -> Label | None:
        """The label of one lane of a packed value; None of a lane that has none."""
        if self.lanes:
            return dict(self.lanes).get(k)
        return self._replace(order=self.order + LANE_ORDERS[k]) if k < len(LANE_ORDERS) else None


class Labels(NamedTuple):
    """What was marked while one Program was traced."""

    sections: list[Section]
    nodes: list[tuple[Expression, Label]]


_labels: ContextVar[Labels | None] = ContextVar("labels", default=None)


@contextmanager
def labelling() -> Iterator[Labels]:
    """Within it `labelled` marks expressions, and traced Programs have labels."""
    labels = Labels([], [])
    token = _labels.set(labels)
    try:
        yield labels
    finally:
        _labels.reset(token)


def active() -> Labels | None:
    """What was marked; None outside `labelling`."""
    return _labels.get()


def labelled(section: Section, quantities: Mapping[str, Expression | Sequence[Expression]]) -> None:
    """Begin a section and mark quantities in it: SX by name, or jets, lists of their derivatives."""
    labels = _labels.get()
    if labels is None:
        return
    labels.sections.append(section)
    place = "" if section.body is None else f"_{section.body + 1}"
    for name, value in quantities.items():
        for order, x in enumerate(value if isinstance(value, list | tuple) else [value]):
            for component, node in components(ca.SX(x)):
                if not node.is_constant():
                    labels.nodes.append((node, Label(len(labels.sections) - 1, f"{name}{place}{component}", order)))


def labelled_rows(title: str, words: str, quantities: Mapping[str, Sequence[Expression]], joints: bool = True) -> None:
    """A section for each row of vectors, given as jets: those of joints, else # in the title is the row's number."""
    if _labels.get() is None:
        return
    for i in range(max(x.shape[0] for jet in quantities.values() for x in map(ca.SX, jet))):
        section = Section(title, i, i if joints else None, words)
        labelled(section, {name: [ca.SX(x)[i] for x in jet] for name, jet in quantities.items()})


def components(x: Expression) -> Iterator[tuple[str, Expression]]:
    """The elements of a number, a vector or a matrix, with "", "_x" or "_xy" for their place."""
    rows, columns = x.shape
    for i in range(rows):
        for j in range(columns):
            if rows == columns == 1:
                yield "", x[i, j]
            elif max(rows, columns) <= len(AXES):
                yield f"_{AXES[i]}{AXES[j] if columns > 1 else ''}", x[i, j]
            else:
                yield f"_{i + 1}" + (f"_{j + 1}" if columns > 1 else ""), x[i, j]
