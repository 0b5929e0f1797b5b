"""Exported controllers over many periods: the bits of Python, every compiler and level, sanitizers, instructions.

    python tests/exported_loops.py            # 10⁵ periods of four loops, some minutes
    python tests/exported_loops.py --steps 2000
"""

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

from support.components import compiled_outputs, exported, loop, python_outputs, random_steps

LOOPS = ("kuka_lwr", "panda", "variable stiffness", "extended state of kuka_lwr")
COMPILERS = [x for x in ("gcc", "clang") if shutil.which(x)]
SANITIZERS = ("-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")


def sanitizes(compiler):
    """Whether a compiler has the runtime of its sanitizers."""
    command = [compiler, *SANITIZERS, "-x", "c", "-", "-o", "/dev/null"]
    return subprocess.run(command, input=b"int main(void) { return 0; }", capture_output=True).returncode == 0


def instructions(folder, inputs):
    """Instructions of 200 steps, for several parts of the inputs; None without valgrind."""
    if not shutil.which("valgrind"):
        return None
    found = set()
    for first in range(0, min(len(inputs), 2000) - 200, 400):
        row, program = inputs[first : first + 200], next(folder.glob("driver_gcc_-O2*"))
        count = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", "--toggle-collect=law_step"]
        done = subprocess.run([*count, program], input=row.tobytes(), capture_output=True, check=True)
        found.add(int(re.search(rb"Collected : (\d+)", done.stderr)[1]))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=100_000)
    steps = parser.parse_args().steps
    failed = 0
    for name in LOOPS:
        component = loop(name)
        inputs = random_steps(component, steps)
        expected = python_outputs(component, inputs)
        kinds = ", ".join(str(int(x)) for x in np.unique(expected[:, -1]))
        print(f"{name}: {component.kernel.operations} operations, {steps} steps, flags {kinds}")
        with tempfile.TemporaryDirectory() as place:
            folder = exported(component, Path(place))
            for compiler in COMPILERS:
                checked = [SANITIZERS] if sanitizes(compiler) else []  # clang's runtime is another package
                for options in (("-O0",), ("-O1",), ("-O2", "-mfma"), ("-O3", "-mfma"), *checked):
                    found = compiled_outputs(folder, inputs, compiler, *options)
                    differences = int(np.sum(found.view(np.int64) != expected.view(np.int64)))
                    failed += differences > 0
                    print(f"  {compiler} {' '.join(options)}: {differences} of {expected.size} numbers differ")
            counts = instructions(folder, inputs)
            print(f"  instructions of 200 steps, from five parts of the inputs: {counts}")
            failed += counts is not None and len(counts) != 1
    print("failed" if failed else "all equal")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
