"""Names of drives in robot files.

The keys of a drive there are its fields, read and written by their types: a `float` is a number, a `Spring` a table
with the `kind` and the numbers of a law, a `Motor` a table of its fields.  The fields of a single `motor` stand in the
table of the drive itself, as `motor_inertia` and so on.
"""

from __future__ import annotations

from typing import Any

from ..registry import Registry

DRIVES: Registry[type[Any]] = Registry("drive")  # by `kind` in robot files
