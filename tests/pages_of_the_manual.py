"""Follows every page of docs/start/, how-to/, concepts/ and reference/ in an empty folder; `make test-long` runs it.

    python tests/pages_of_the_manual.py                   # all
    python tests/pages_of_the_manual.py which-stiffness   # those whose names contain a word
"""

import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from support.forked import run_forked
from support.manual import DOCS, FOLLOW, mistakes_in

FOLDERS = ("start", "how-to", "concepts", "reference")


def main() -> None:
    words = sys.argv[1:] or [""]
    pages = [page for folder in FOLDERS for page in sorted((DOCS / folder).glob("*.md"))]
    pages = [page for page in pages if any(word in page.name for word in words)]
    failed = 0
    for page in pages:
        started = time.perf_counter()
        mistakes = mistakes_in(page)
        with tempfile.TemporaryDirectory() as folder:
            done = run_forked(FOLLOW, Path(folder), str(page))
        good = done.returncode == 0 and not mistakes
        failed += not good
        word = "passed" if good else "FAILED"
        print(f"{word}  {time.perf_counter() - started:5.1f} s  {page.relative_to(DOCS)}", flush=True)
        if not good:
            print(*mistakes, done.stderr[-3000:], sep="\n")
    print(f"{len(pages) - failed} of {len(pages)} pages passed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
