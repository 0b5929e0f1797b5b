"""HTML tables for notebooks."""

from flexjoint.html import table


def test_cells_stand_in_rows_below_their_headings():
    text = table([("joint1", 1.5), ("joint2", 2)], ("joint", "Nm"))
    assert text == (
        "<table><tr><th>joint</th><th>Nm</th></tr><tr><td>joint1</td><td>1.5</td></tr>"
        "<tr><td>joint2</td><td>2</td></tr></table>"
    )


def test_without_headings_there_are_rows_only():
    assert table([("a",)]) == "<table><tr><td>a</td></tr></table>"


def test_texts_are_escaped():
    evil = '<script>alert("x")</script>'
    text = table([(evil,)], (evil,), caption=evil)
    assert "<script>" not in text and text.count("&lt;script&gt;alert(&quot;x&quot;)") == 3
