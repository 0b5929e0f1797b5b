"""Instructions per call of compiled code, counted by callgrind: `python -m benchmarks.instructions`.

Counts do not depend on what else the computer does.  Those outside any object file count, which callgrind reports under
"???": the machine code that LLVM made in memory, and a part of the call path that is the same for every kernel, about
700 instructions.  Callgrind knows no AVX-512, so kernels are compiled for x86-64-v3.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

CALLS = 1000
SETUP = """
import sys
import numpy as np
import flexjoint as fj
elastic = fj.load("kuka_lwr")
rigid = elastic.without_drives()
q, v, a, jerk, snap, tau = np.random.default_rng(0).uniform(-1.0, 1.0, (6, 7))
out, M, Y = np.empty(7), np.empty((7, 7)), np.empty((64, 7))
rows = np.random.default_rng(1).uniform(-1.0, 1.0, (5, 64, 7))
inverse, ejnea = fj.compile(fj.inverse_dynamics, rigid), fj.compile(fj.inverse_dynamics, elastic)
forward, mass = fj.compile(fj.forward_dynamics, rigid), fj.compile(fj.mass_matrix, rigid)
linearization = fj.compile(fj.feedback_linearization, elastic, measured="q tau_e")
X = list(rows)
"""
STATEMENTS = {
    "rigid inverse dynamics": "inverse(q, v, a, out=out)",
    "elastic inverse dynamics": "ejnea(q, v, a, jerk, snap, out=out)",
    "forward dynamics": "forward(q, v, tau, out=out)",
    "mass matrix": "mass(q, out=M)",
    "feedback linearization": "linearization(q, v, tau, jerk, snap, out=out)",
    "rigid inverse dynamics, 64 rows": "inverse(X[0], X[1], X[2], out=Y)",
    "elastic inverse dynamics, 64 rows": "ejnea(*X, out=Y)",
    "forward dynamics, 64 rows": "forward(X[0], X[1], X[2], out=Y)",
}


def instructions(statement: str, kernels: str) -> float:
    """Instructions per call of compiled code, in a process that takes its kernels from a folder."""
    environment = {**os.environ, "FLEXJOINT_CACHE": kernels, "FLEXJOINT_CPU": "x86-64-v3"}
    plain = [sys.executable, "-c", f"{SETUP}\nfor _ in range({CALLS}):\n    {statement}\n"]
    subprocess.run(plain, env=environment, check=True)  # compiles
    with tempfile.TemporaryDirectory() as folder:
        found = Path(folder) / "out"
        valgrind = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={found}"]
        subprocess.run([*valgrind, *plain], env=environment, check=True, capture_output=True)
        return own_costs(found.read_text()).get("???", 0) / CALLS


def own_costs(profile: str) -> dict[str, int]:
    """Instructions by object file, those of called functions not included, from a profile of callgrind."""
    names: dict[str, str] = {}
    costs: dict[str, int] = {}
    place, called = "", False
    for line in profile.splitlines():
        if line.startswith(("ob=", "cob=")):
            key, _, named = line.partition("=")
            number, _, name = named.partition(" ")
            names.setdefault(number, name)
            place = names[number] if key == "ob" else place
        elif line.startswith("calls="):
            called = True  # the next line has the cost of the callee
        elif re.match(r"[+\-*0-9]", line):
            if not called:
                costs[place] = costs.get(place, 0) + int(line.split()[-1])
            called = False
    return costs


def main() -> None:
    counted = {}
    with tempfile.TemporaryDirectory() as kernels:
        for name, statement in STATEMENTS.items():
            counted[name] = instructions(statement, kernels)
            print(f"{counted[name]:12.1f}  {name}", flush=True)
    print(json.dumps(counted))


if __name__ == "__main__":
    main()
