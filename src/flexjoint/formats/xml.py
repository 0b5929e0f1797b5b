"""XML as elements with line numbers, by the standard library's expat.

A file is data: document types and with them entities are refused before any is expanded, and so are files beyond the
limits below.  Elements remember what was read of them, so that the report of a URDF can tell what was not.  Three
habits of real files that XML forbids are taken as their authors meant them: "--" in comments, <?xml ...?> below a
comment or a blank line, and bytes that are not UTF-8 in a file that declares no other encoding.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from xml.parsers import expat

import numpy as np

from ..errors import FlexjointError, RobotError, quoted, shown
from ..file_limits import most, require
from ..types import FloatArray

NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
INFINITE = re.compile(r"([+-]?)inf(inity)?", re.IGNORECASE)
NAN = re.compile(r"[+-]?nan", re.IGNORECASE)
ENCODING = re.compile(rb"<\?xml[^>]{0,200}?encoding\s*=\s*[\"']([A-Za-z0-9._-]{1,40})")
UTF_8_MARK, UTF_16_MARKS = b"\xef\xbb\xbf", (b"\xff\xfe", b"\xfe\xff")


@dataclass(slots=True)
class Element:
    """An XML element.

    Args:
        tag: its name, with the prefix as it is written, such as "drake:rotor_inertia".
        attributes: texts by name.
        line: line of its start tag, from 1.
        file: name of the file, which begins every message.
    """

    tag: str
    attributes: dict[str, str]
    line: int
    file: str
    children: list[Element] = field(default_factory=list)
    text: str = ""
    read: set[str] = field(default_factory=set)  # attributes that were read
    seen: bool = False  # whether the element itself was read

    def all(self, *tags: str) -> list[Element]:
        """The children with one of these names; they count as read."""
        found = [x for x in self.children if x.tag in tags]
        for x in found:
            x.seen = True
        return found

    def first(self, tag: str) -> Element | None:
        """The first child with a name, which counts as read; None if there is none."""
        found = next((x for x in self.children if x.tag == tag), None)
        if found is not None:
            found.seen = True
        return found

    def name(self) -> str:
        """The attribute `name`, which must not be empty."""
        return self.reference("name")

    def reference(self, attribute: str) -> str:
        """An attribute that must be there and not be empty."""
        self.read.add(attribute)
        value = self.attributes.get(attribute, "")
        if not value:
            name = self.attributes.get("name", "")
            named = f" '{quoted(name)}'" if name else ""
            raise self.wrong(f'<{self.tag}>{named} has no {attribute}: give it {attribute}="..."')
        return value

    def number(self, attribute: str, default: float | None = None, infinite: bool = False) -> float:
        """A number, finite unless `infinite` allows inf and -inf."""
        self.read.add(attribute)
        if attribute not in self.attributes:
            if default is None:
                raise self.wrong(f'<{self.tag}> has no {attribute}: give it {attribute}="...", a number')
            return default
        text = self.attributes[attribute]
        if infinite and (found := INFINITE.fullmatch(text.strip())):
            return -math.inf if found.group(1) == "-" else math.inf
        return self.parsed(text, f"{attribute} of <{self.tag}>")

    def vector(self, attribute: str, default: tuple[float, ...] | None = None) -> FloatArray:
        """Three finite numbers, (3,)."""
        self.read.add(attribute)
        if attribute not in self.attributes and default is not None:
            return np.array(default)
        words = self.attributes.get(attribute, "").split()
        if len(words) != 3:
            raise self.wrong(
                f"{attribute} of <{self.tag}> is {shown(self.attributes.get(attribute, ''))}: give three numbers with "
                "spaces between them"
            )
        return np.array([self.parsed(x, f"{attribute} of <{self.tag}>") for x in words])

    def content(self) -> float:
        """The number that is the text of the element, or its attribute `value`."""
        if "value" in self.attributes:
            return self.number("value")
        return self.parsed(self.text.strip(), f"<{self.tag}>")

    def parsed(self, text: str, what: str) -> float:
        """A finite number out of a text."""
        text = text.strip()
        if NUMBER.fullmatch(text) and len(text) < 400 and math.isfinite(value := float(text)):
            return value
        if NAN.fullmatch(text) or INFINITE.fullmatch(text) or NUMBER.fullmatch(text):
            raise self.wrong(f"{what} is {quoted(text)}: it must be finite")
        if "${" in text or "$(" in text:
            remedy = "a xacro expression, which a URDF has no more: expand the file first, `xacro x.xacro > x.urdf`"
            raise self.wrong(f"{what} is {shown(text)}, {remedy}")
        wanted = "a number"
        if "," in text:
            wanted = "a number with a decimal point and no comma"
        elif len(words := text.split()) > 1:
            wanted = "one number" if NUMBER.fullmatch(words[1]) else "a number, without a unit"
        raise self.wrong(f"{what} is {shown(text)}: give {wanted}")

    def wrong(self, message: str) -> RobotError:
        """The error for a wrong element, with its place."""
        return RobotError(f"{self.file}, line {self.line}: {message}")

    def walk(self) -> Iterator[Element]:
        """The element and all below it, in the order of the file."""
        yield self
        for child in self.children:
            yield from child.walk()


def mark_read(element: Element) -> None:
    """Count an element as read, with all below it: one finding speaks for it."""
    for x in element.walk():
        x.seen, x.read = True, set(x.attributes)


def parse_xml(data: bytes, place: str, what: str = "URDF") -> Element:
    """The root element of an XML file.

    Args:
        data: contents of the file.
        place: name of the file, which begins every message.
        what: what the file should be, for messages.

    Raises:
        RobotError: the file is not well-formed, has a document type, or is beyond a limit.
    """
    require("xml_bytes", len(data), place, RobotError)
    levels = f"{what.lower()}_levels"
    elements, depth = most("xml_elements"), most(levels)
    data = without_comments(data.removeprefix(UTF_8_MARK))
    body = data.lstrip(b" \t\r\n") if data[:1].isspace() else data
    before = data[: len(data) - len(body)].count(b"\n")
    if not body:
        raise RobotError(f"{place}: the file is empty; {what} files are XML")
    if not body.startswith((b"<", *UTF_16_MARKS)) and b"\0" not in body[:4]:
        raise RobotError(f"{place}, line {before + 1}: this is not XML, and {what} files are")
    parser = expat.ParserCreate("ISO-8859-1" if line_not_utf_8(data) else None)
    parser.buffer_text = True
    stack: list[Element] = []
    root: list[Element] = []
    count = 0

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal count
        count += 1
        element = Element(tag, attributes, parser.CurrentLineNumber + before, place)
        if count > elements or len(stack) >= depth:  # faster than two calls per element
            require("xml_elements", count, f"{place}, line {element.line}", RobotError)
            require(levels, len(stack) + 1, f"{place}, line {element.line}", RobotError)
        if stack:
            stack[-1].children.append(element)
        else:
            root.append(element)
        stack.append(element)

    def end(tag: str) -> None:
        stack.pop()

    def characters(text: str) -> None:
        if stack and len(stack[-1].text) < 1000:  # numbers and names; nothing longer is read
            stack[-1].text += text[:1000]

    def refuse(*_: object) -> None:
        raise RobotError(
            f"{place}, line {parser.CurrentLineNumber + before}: the file declares a document type (<!DOCTYPE ...>), "
            f"which may define entities; no {what} needs one: remove it"
        )

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = characters
    parser.StartDoctypeDeclHandler = refuse
    parser.EntityDeclHandler = refuse
    try:
        parser.Parse(body, True)
    except expat.ExpatError as error:
        message = f"{expat.ErrorString(error.code)}{remedy(error.code, stack)}"
        raise RobotError(f"{place}, line {error.lineno + before}: not well-formed XML: {message}") from None
    except FlexjointError:
        raise
    except (ValueError, LookupError) as error:  # encodings that expat or Python do not know
        raise RobotError(f"{place}: the XML cannot be read: {quoted(error)}: save the file as UTF-8") from None
    return root[0]


def remedy(code: int, open_elements: list[Element]) -> str:
    """What to look for after an error of expat, as the end of a message."""
    codes = expat.errors.codes
    last = open_elements[-1] if open_elements else None
    if code == codes[expat.errors.XML_ERROR_INVALID_TOKEN]:
        return ": look for a missing quote, or for < or & in a text, which are written &lt; and &amp;"
    if code == codes[expat.errors.XML_ERROR_MISPLACED_XML_PI]:
        return ": remove the second <?xml ...?>; was the file joined from two?"
    if code == codes[expat.errors.XML_ERROR_JUNK_AFTER_DOC_ELEMENT]:
        return ": there is more after the end of the first element; was the file joined from two?"
    if last is not None and code in (
        codes[expat.errors.XML_ERROR_TAG_MISMATCH],
        codes[expat.errors.XML_ERROR_NO_ELEMENTS],
        codes[expat.errors.XML_ERROR_UNCLOSED_TOKEN],
    ):
        return f": <{quoted(last.tag)}> of line {last.line} is not closed, or the file is cut off"
    return ""


def without_comments(data: bytes) -> bytes:
    """Comments replaced by their line breaks, so that lines keep their numbers."""
    kept: list[bytes] = []
    at = 0
    while (first := data.find(b"<!--", at)) >= 0 and (end := data.find(b"-->", first + 4)) >= 0:
        kept += (data[at:first], b"\n" * data.count(b"\n", first, end))
        at = end + 3
    return b"".join((*kept, data[at:]))


def line_not_utf_8(data: bytes) -> int:
    """Line of the first byte that is not UTF-8 in a file that declares no other encoding; 0 if there is none."""
    declared = ENCODING.search(data[:1000])
    if data.startswith(UTF_16_MARKS) or (declared and declared.group(1).lower().replace(b"-", b"") != b"utf8"):
        return 0
    try:
        data.decode()
    except UnicodeDecodeError as error:
        return data.count(b"\n", 0, error.start) + 1
    return 0
