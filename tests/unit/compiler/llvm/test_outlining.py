"""Long code in functions: every value in one of them, and slots that hold values as long as they are needed."""

import itertools

import pytest

from flexjoint.compiler.ir.program import unsigned
from flexjoint.compiler.llvm.outlining import chunks, outlined
from support.steps import late_signs, program_of, step


@pytest.mark.parametrize(("length", "size"), [*itertools.product([0, 1, 7, 49, 50, 51, 1000, 4001], [1, 50, 2000])])
def test_chunks_cover_everything_once(length, size):
    parts = chunks(length, size)
    assert [i for part in parts for i in part] == list(range(length))
    assert max(map(len, parts)) <= size
    assert max(map(len, parts)) - min(map(len, parts)) <= 1


@pytest.mark.parametrize("one_row", [True, False])
@pytest.mark.parametrize("length", [4, 9, 16])
@pytest.mark.parametrize("function", [step, late_signs])
def test_a_slot_holds_a_value_until_its_last_use(function, length, one_row):
    parts = outlined(program_of(function), 0, length, one_row)
    code, buffer, read = parts.program.code, {}, 0
    assert [i for run in parts.functions for i in run] == list(range(len(code)))
    for run in parts.functions:
        wanted = {unsigned(code, x) for i in run for x in code[i].operands}
        old = {x: parts.slots[x] for x in wanted if code[x].computed and x not in run}
        new = {parts.slots[x]: x for x in run if x in parts.slots}
        assert all(buffer[slot] == x for x, slot in old.items())
        assert not new.keys() & set(old.values())  # no function writes a slot that it reads
        buffer |= new
        read += len(old)
    assert read > 0


def test_slots_of_a_pair_are_adjacent():
    parts = outlined(program_of(step), 0, 12, one_row=True)
    function_of = {i: k for k, function in enumerate(parts.functions) for i in function}
    assert len(paired := [(a, b) for a, b in parts.pairs.items() if {a, b} <= parts.slots.keys()]) > 2
    assert all(parts.slots[b] == parts.slots[a] + 1 for a, b in paired)
    assert all(function_of[a] == function_of[b] for a, b in parts.pairs.items())
