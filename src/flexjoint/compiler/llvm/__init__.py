"""A Program as LLVM IR, and LLVM IR as machine code."""
