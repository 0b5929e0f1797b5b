"""What bounds a block of four rows on an x86 processor with AVX2: `python -m benchmarks.ports`.

First the processor: short loops of multiply-adds (F), products (M), sums (A), stores (S) and loads (L) of whole
registers, which do not wait for one another.  Two units multiply, so F + M take half as many cycles at least; what
stores and loads add depends on the order, by half as much again.  Then the kernels: how many of each their code has,
how long the two units are busy with a row, and how long the row takes.  Loads and stores are what 16 registers cannot
hold.  Last one kernel in several copies that run in turn: more code than the processor keeps decoded.
A cycle is half of the time a product takes in a loop of nothing else.
"""

from __future__ import annotations

import ctypes
import re
import time
from collections import Counter

import llvmlite.binding
import numpy as np
from rich.console import Console
from rich.table import Table

import flexjoint as fj
from flexjoint.compiler import pipeline
from flexjoint.compiler.llvm import jit

LOOPS = ("MM", "FFA", "MMS", "FFS", "FFMMSS", "FSFSMM", "MMLL", "FFLL", "MMLLS")  # repeated seven times
COPIES = (1, 2, 3, 4, 8)
TURNS, TRIALS = 2000, 400
INSTRUCTIONS = {
    "M": "vmulpd %ymm0, %ymm1, %ymm{r}",
    "A": "vaddpd %ymm0, %ymm1, %ymm{r}",
    "F": "vfmadd213pd %ymm0, %ymm1, %ymm{r}",
    "S": "vmovapd %ymm0, {at}($0)",
    "L": "vmovapd {at}($0), %ymm{r}",
}
KINDS = {"F": r"vfn?m(add|sub)\d+pd", "M": "vmulpd", "A": "v(add|sub)pd"}


def loop_time(pattern: str) -> float:
    """Seconds a pattern takes, of seven in a loop."""
    letters = pattern * 7
    body = "\\0A".join(
        INSTRUCTIONS[x].format(r=2 + k % 14, at=32 * (k % 32)) for k, x in enumerate(letters)
    )  # 14 registers in turn
    clobbered = ",".join(f"~{{ymm{k}}}" for k in range(16))
    ir = f"""
define i64 @kernel(ptr %in, ptr %out) nounwind {{
entry:
  %buffer = alloca [1024 x i8], align 64
  br label %turn
turn:
  %k = phi i64 [0, %entry], [%next, %turn]
  call void asm sideeffect "{body.replace("$0", "${0}")}", "r,~{{memory}},{clobbered}"(ptr %buffer)
  %next = add i64 %k, 1
  %more = icmp ult i64 %next, {TURNS}
  br i1 %more, label %turn, label %end
end:
  ret i64 0
}}
"""
    code = jit.load_object(jit.compile_object(ir))
    call = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)(code.address)
    best = float("inf")
    for _ in range(TRIALS):
        start = time.perf_counter()
        call(None, None)
        best = min(best, time.perf_counter() - start)
    return best / (7 * TURNS)


def instruction_counts(kernel: fj.Kernel) -> Counter[str]:
    """Of the code for four rows; S are stores of vector registers or their elements, L loads, also as operands."""
    counts: Counter[str] = Counter()
    code = jit.assembly(pipeline.lower(kernel.program, 4))
    for name, operands in re.findall(r"^\t(\w+)\t(.*)$", code, re.M):
        kind = next((x for x, pattern in KINDS.items() if re.fullmatch(pattern, name)), "")
        if name.startswith("vmov") and operands.endswith(")"):
            kind = "S"
        memory = "(" in operands and kind != "S"
        counts.update([kind, "all", *["L"] * memory])
    return counts


def time_in_turn(kernel: fj.Kernel, copies: int) -> float:
    """Seconds a row takes where copies of the code for four rows run in turn."""
    ir = """
define i64 @kernel(ptr %functions, ptr %args) nounwind {
entry:
  %out.at = getelementptr ptr, ptr %args, i64 1
  %in = load ptr, ptr %args
  %out = load ptr, ptr %out.at
  br label %turn
turn:
  %k = phi i64 [0, %entry], [%next, %turn]
  %copy = urem i64 %k, COPIES
  %at = getelementptr ptr, ptr %functions, i64 %copy
  %function = load ptr, ptr %at
  %status = call i64 %function(ptr %in, ptr %out, ptr null)
  %next = add i64 %k, 1
  %more = icmp ult i64 %next, TURNS
  br i1 %more, label %turn, label %end
end:
  ret i64 0
}
"""
    driver = jit.load_object(jit.compile_object(ir.replace("COPIES", str(copies)).replace("TURNS", str(TURNS))))
    one = jit.compile_object(pipeline.lower(kernel.program, 4))
    codes = [jit.load_object(one) for _ in range(copies)]
    arrays = [np.full((4, *x.shape), 0.1) for x in (*kernel.inputs, *kernel.outputs)]
    pointers = [x.ctypes.data for x in arrays]
    tables = [np.array(x, dtype=np.uint64) for x in (pointers[: len(kernel.inputs)], pointers[len(kernel.inputs) :])]
    functions, args = (
        np.array(x, dtype=np.uint64) for x in ([x.address for x in codes], [x.ctypes.data for x in tables])
    )
    call = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)(driver.address)
    best = float("inf")
    for _ in range(TRIALS // 4):
        start = time.perf_counter()
        call(functions.ctypes.data, args.ctypes.data)
        best = min(best, time.perf_counter() - start)
    return best / TURNS / 4


def units_busy(counts: Counter[str]) -> float:
    """Cycles of the two units that multiply."""
    return (counts["F"] + counts["M"]) / 2


def row_time(kernel: fj.Kernel, rows: int = 1024) -> float:
    rng = np.random.default_rng(0)
    arrays = [rng.uniform(-1, 1, (rows, *x.shape)) for x in kernel.inputs]
    out = kernel(*arrays)
    best = float("inf")
    for _ in range(TRIALS):
        start = time.perf_counter()
        kernel(*arrays, out=out)
        best = min(best, time.perf_counter() - start)
    return best / rows


def main() -> None:
    llvmlite.binding.initialize_native_asmparser()
    times = {pattern: loop_time(pattern) for pattern in LOOPS}
    cycle = times["MM"]
    table = Table("loop of", "cycles", "(F + M)/2", title=f"Loops; a cycle takes {cycle * 1e9:.3f} ns")
    for pattern, seconds in times.items():
        table.add_row(pattern, f"{seconds / cycle:.2f}", f"{units_busy(Counter(pattern)):.1f}")
    Console().print(table)
    robot = fj.load("kuka_lwr")
    kernels = {
        "inverse dynamics, rigid": fj.compile(fj.inverse_dynamics, robot.without_drives()),
        "inverse dynamics, elastic": fj.compile(fj.inverse_dynamics, robot),
        "forward dynamics, rigid": fj.compile(fj.forward_dynamics, robot.rigid()),
    }
    columns = ("F", "M", "A", "S", "L", "all")
    table = Table("four rows of the 7R LWR", *columns, "(F + M)/2, ns a row", "measured, ns a row", "all a cycle")
    for name, kernel in kernels.items():
        counts, measured = instruction_counts(kernel), row_time(kernel)
        busy, pace = units_busy(counts) * cycle / 4, counts["all"] / (4 * measured / cycle)
        cells = [str(counts[x]) for x in columns]
        table.add_row(name, *cells, f"{busy * 1e9:.0f}", f"{measured * 1e9:.0f}", f"{pace:.1f}")
    Console().print(table)
    table = Table("copies of forward dynamics in turn", "ns a row")
    for copies in COPIES:
        table.add_row(str(copies), f"{time_in_turn(kernels['forward dynamics, rigid'], copies) * 1e9:.1f}")
    Console().print(table)


if __name__ == "__main__":
    main()
