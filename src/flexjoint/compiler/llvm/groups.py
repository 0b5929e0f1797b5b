"""Functions in which groups of rows take turns: a register has so many rows, and code runs for several groups.

A processor keeps the last few thousand instructions decoded, on Zen 3 those of 16 kB of code or so; longer code it
decodes again each time, which takes a third longer.  Long code for several rows is therefore cut into pieces, and a
piece runs for all groups before the next one does.
"""

from __future__ import annotations

from collections.abc import Callable


class Chain:
    """Lines of a function: straight, or repeated for each of %groups groups."""

    def __init__(self, grouped: bool, name: str = "entry"):
        self.grouped = grouped
        self.block = name  # where the lines are now
        self.lines: list[str] = []
        self._name, self._count = name, 0

    def put(self, text: str) -> str:
        name = f"%{self._name}.v{len(self.lines)}"
        self.lines.append(f"  {name} = {text}")
        return name

    def each(self, body: Callable[[str], list[str]]) -> None:
        """`body(g)` for each group, g its number; without groups there is one, 0."""
        if not self.grouped:
            self.lines += body("0")
            return
        name = f"{self._name}.{self._count}"
        self._count += 1
        self.lines += [
            f"  br label %{name}",
            f"{name}:",
            f"  %{name}.g = phi i64 [0, %{self.block}], [%{name}.then, %{name}]",
            *body(f"%{name}.g"),
            f"  %{name}.then = add i64 %{name}.g, 1",
            f"  %{name}.more = icmp ult i64 %{name}.then, %groups",
            f"  br i1 %{name}.more, label %{name}, label %{name}.end",
            f"{name}.end:",
        ]
        self.block = f"{name}.end"


def element(name: str, kind: str, base: str, g: str, distance: int | str, offset: int = 0) -> list[str]:
    """%name: where group g begins in a buffer, or some elements later."""
    return [
        f"  {name}.group = mul i64 {g}, {distance}",
        f"  {name}.at = add i64 {name}.group, {offset}",
        f"  {name} = getelementptr {kind}, ptr {base}, i64 {name}.at",
    ]
