"""Write the pages of the manual; with --build, build the site and check its links."""

from __future__ import annotations

from .commands import write_commands
from .names import write_names
from .pages import copy_pages


def main() -> None:
    copy_pages()
    write_names()
    write_commands()


if __name__ == "__main__":
    main()
