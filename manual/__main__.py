"""Write the pages of the manual into build/manual, build the site with Zensical, and check it.

    python -m manual              # all
    python -m manual --pages      # the pages alone, for `zensical serve`
"""

from __future__ import annotations

import argparse
import subprocess
import sys

from .commands import write_commands
from .gallery import write_gallery
from .how_to import write_how_to
from .links import mistakes
from .names import write_names
from .notebooks import write_notebooks
from .pages import ROOT, copy_pages
from .papers import write_papers


def main() -> None:
    parser = argparse.ArgumentParser(prog="manual", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--pages", action="store_true", help="write the pages and stop")
    only_pages = parser.parse_args().pages
    for write in (copy_pages, write_how_to, write_names, write_commands, write_gallery, write_notebooks, write_papers):
        write()
    if only_pages:
        return
    built = subprocess.run([sys.executable, "-m", "zensical", "build", "--strict", "--clean"], cwd=ROOT)
    if built.returncode:
        sys.exit("the site has warnings, see above")
    found = mistakes()
    print(*found, f"{len(found)} mistakes in links, images and requests", sep="\n")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
