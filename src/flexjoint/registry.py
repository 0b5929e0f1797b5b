"""Names that files use for classes and functions; each registers itself in the file that defines it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from .errors import FlexjointError

T = TypeVar("T")
Entry = TypeVar("Entry")


class Registry(dict[str, T]):
    """A dictionary from a name in files to what it stands for; two definitions cannot share a name.

    Args:
        what: what the entries are, for messages, such as "spring law".
    """

    def __init__(self, what: str) -> None:
        super().__init__()
        self.what = what

    def register(self, name: str) -> Callable[[Entry], Entry]:
        """Decorator that adds a class or function under a name; executed again, a definition replaces itself.

        Raises:
            FlexjointError: the name belongs to another definition.
        """

        def add(entry: Entry) -> Entry:
            known = self.get(name)
            if known is not None and _definition(known) != _definition(entry):
                raise FlexjointError(f"the {self.what} '{name}' is {_definition(known)} already: choose another name")
            self[name] = entry  # type: ignore[assignment]
            return entry

        return add

    def name_of(self, entry: object) -> str | None:
        """Name of an entry; None if it is not registered."""
        return next((name for name, known in self.items() if known is entry), None)


def _definition(entry: object) -> str:
    """Where a class or function is defined."""
    return f"{getattr(entry, '__module__', '')}.{getattr(entry, '__qualname__', entry)}"
