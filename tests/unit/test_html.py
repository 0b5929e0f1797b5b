"""HTML for notebooks and pages."""

import re
from base64 import b64decode
from io import BytesIO

from matplotlib.figure import Figure

from flexjoint.html import MOST_CHARACTERS, alert, bullets, code, page, paragraphs, picture, section, table
from support.pages import Reader


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


def test_a_page_has_all_its_parts_and_needs_no_other_file():
    evil = '"><script>alert(1)</script>'
    png = bytes(range(256))
    text = page(evil, [picture(png, evil), section(evil, bullets([evil, "second"])), table([(evil,)])])
    found = Reader(text)
    assert [tag for tag, data in found.texts if data == evil] == ["title", "h1", "figcaption", "h2", "li", "td"]
    tags = [tag for tag, _ in found.attributes]
    assert "script" not in tags and "link" not in tags
    (image,) = [attributes for tag, attributes in found.attributes if tag == "img"]
    assert b64decode(image["src"].removeprefix("data:image/png;base64,")) == png and image["alt"] == evil
    assert "://" not in text


def test_control_characters_are_shown_and_long_texts_are_bounded():
    text = page("a\x1b[31m", [paragraphs("right\u202eleft\nnext"), alert(bullets(["\x9b2J"])), table([("x" * 10**5,)])])
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", text)
    assert all(x in text for x in ("a\\x1b[31m", "<p>right\\u202eleft</p><p>next</p>", "\\x9b2J"))
    assert f"… ({10**5 - MOST_CHARACTERS} more characters)" in text and len(text) < 2 * MOST_CHARACTERS


def test_pictures_have_their_size():
    figure = Figure(figsize=(5, 2))
    for dots, width in ((96, 480), (150, 480), (300, 480)):
        file = BytesIO()
        figure.savefig(file, format="png", dpi=dots)
        assert f'width="{width}"' in picture(file.getvalue(), "x")
    start = b"\x89PNG\r\n\x1a\n" + (13).to_bytes(4) + b"IHDR" + (70).to_bytes(4) + (40).to_bytes(4)
    assert 'width="70"' in picture(start + bytes(30), "x")  # without a resolution


def test_code_is_whole():
    text = "if a < b:\n    f('" + "x" * 10**5 + "')\n"
    assert Reader(code(text)).texts == [("code", text)]


def test_numbers_stand_on_the_right_and_no_cell_is_lost():
    text = table([("a", 1, "extra")], ("joint", "Nm"), numbers=["Nm"])
    assert '<th class="number">Nm</th>' in text and '<td class="number">1</td><td>extra</td>' in text
