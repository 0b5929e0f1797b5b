"""Names that files use for classes and functions; each entry registers itself in the file that defines it."""

from __future__ import annotations

from typing import TypeVar

from .errors import FlexjointError

T = TypeVar("T")


class Registry(dict[str, T]):
    """A dictionary from the name in files to what it stands for; two definitions cannot share a name.

    Args:
        what: what the entries are, for messages, such as "spring law".
    """

    def __init__(self, what: str) -> None:
        super().__init__()
        self.what = what

    def add(self, name: str, entry: T) -> None:
        """Register an entry; the same definition, executed again, replaces the earlier one.

        Raises:
            FlexjointError: the name belongs to another definition.
        """
        known = self.get(name)
        if known is not None and _definition(known) != _definition(entry):
            raise FlexjointError(f"the {self.what} '{name}' is {_definition(known)} already: choose another name")
        self[name] = entry


def _definition(entry: object) -> str:
    """Where a class or function is defined."""
    return f"{getattr(entry, '__module__', '')}.{getattr(entry, '__qualname__', entry)}"
