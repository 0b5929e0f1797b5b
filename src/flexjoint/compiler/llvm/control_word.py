"""Kernels that do not depend on the control word of SSE, which other libraries change for a whole process.

    kernel(in, out):  save the word;  set the default;  body(in, out);  restore the word

Flush-to-zero, set by code compiled with -ffast-math, turns denormal numbers into zeros; another rounding mode changes
every result.  A kernel therefore runs with the default word.  Reading the word takes 2 ns per call.
"""

from __future__ import annotations

import platform

X86 = platform.machine() in ("x86_64", "AMD64")
CONTROL, DEFAULT = 0xFFC0, 0x1F80  # all but the flags of exceptions; round to nearest, keep denormals
BODY, SYMBOL = "body", "kernel"


def guarded(ir: str, rows: int) -> str:
    """The module whose function `kernel` calls `body`, which the IR defines, with the default control word."""
    arguments = "ptr %in, ptr %out" if rows == 1 else "ptr %in, ptr %out, ptr %strides"
    if not X86:
        lines = [f"  %status = tail call i64 @{BODY}({arguments})", "  ret i64 %status"]
        return f"{ir}\ndefine i64 @{SYMBOL}({arguments}) nounwind {{\n" + "\n".join(lines) + "\n}\n"
    return f"""{ir}
declare void @llvm.x86.sse.stmxcsr(ptr)
declare void @llvm.x86.sse.ldmxcsr(ptr)

define i64 @{SYMBOL}({arguments}) nounwind {{
entry:
  %word = alloca i32
  call void @llvm.x86.sse.stmxcsr(ptr %word)
  %old = load i32, ptr %word
  %control = and i32 %old, {CONTROL}
  %usual = icmp eq i32 %control, {DEFAULT}
  br i1 %usual, label %run, label %set
run:
  %status = tail call i64 @{BODY}({arguments})
  ret i64 %status
set:
  store i32 {DEFAULT}, ptr %word
  call void @llvm.x86.sse.ldmxcsr(ptr %word)
  %found = call i64 @{BODY}({arguments})
  store i32 %old, ptr %word
  call void @llvm.x86.sse.ldmxcsr(ptr %word)
  ret i64 %found
}}
"""
