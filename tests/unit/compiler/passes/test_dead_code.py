"""Dead code: what no result needs goes."""

import math

from flexjoint.compiler.ir.reference import evaluate
from flexjoint.compiler.passes.dead_code import without_dead_code
from support.sketch import names


def test_dead_code_goes_and_what_is_used_stays(b):
    b.sin(b.mul(b.x, b.z))
    kept = b.add(b.x, b.y)
    b.exp(kept)
    program = without_dead_code(b.program(kept))
    assert names(program) == ["add"]
    assert [op.name for op in program.code if op.name == "input"] == ["input", "input"]
    assert evaluate(program, (1.0, 2.0, math.nan))[0][0] == 3.0
