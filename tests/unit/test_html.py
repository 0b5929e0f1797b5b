"""HTML for notebooks and pages."""

from base64 import b64decode
from html.parser import HTMLParser

from flexjoint.html import bullets, page, picture, section, table


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


class Reader(HTMLParser):
    """Collects open tags, texts by tag and attributes; complains of a tag that is not closed."""

    VOID = frozenset({"meta", "img"})

    def __init__(self, text):
        super().__init__()
        self.open, self.texts, self.attributes = [], [], []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.attributes.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if data.strip():
            self.texts.append((self.open[-1] if self.open else "", data))


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
