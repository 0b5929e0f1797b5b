"""The Program: operations over doubles, how a function is traced into one, and what each operation means."""
