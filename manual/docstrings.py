"""How docstrings are read for the site.

Ours have `Example:` with a session of Python behind it; griffe knows such a section as `Examples:`.  Other brackets,
such as citations and [M, S](v, θ'), are text and no links.
"""

from __future__ import annotations

import re
from typing import Any

import griffe


class Sessions(griffe.Extension):
    """Changes the text of docstrings before they are parsed."""

    def on_object(self, *, obj: griffe.Object, **rest: Any) -> None:
        """Called for every object with its docstring."""
        if obj.docstring is not None:
            text = re.sub(r"^Example:$", "Examples:", obj.docstring.value, flags=re.MULTILINE)
            obj.docstring.value = text.replace("](", "]\\(")
