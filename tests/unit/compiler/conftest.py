import pytest

from support.sketch import Sketch


@pytest.fixture
def b():
    return Sketch()
