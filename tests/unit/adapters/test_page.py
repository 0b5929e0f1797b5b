"""The page on JAX and PyTorch can be pasted, where they are installed."""

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parent.parent.parent.parent / "docs" / "arrays-of-others.md"


@pytest.mark.parametrize("block", re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL), ids=["jax", "torch"])
def test_blocks_run(block):
    package = block.split()[1]
    library = pytest.importorskip(package, reason=f"{package} is not installed: pip install 'flexjoint[{package}]'")
    before = package == "jax" and library.config.jax_enable_x64
    try:
        exec(compile(block, PAGE.name, "exec"), {})
    finally:
        if package == "jax":
            library.config.update("jax_enable_x64", before)
