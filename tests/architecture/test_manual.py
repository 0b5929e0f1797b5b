"""The pages of the site: their links, a reference with every name and command, and a check that sees mistakes."""

import inspect

import pytest
import typer.main
from manual import commands, links, names, pages

from flexjoint.cli import app
from support.public import ALGORITHMS, PUBLIC


@pytest.fixture
def stage(tmp_path, monkeypatch):
    """An empty folder in place of build/manual."""
    for module in (pages, names, commands):
        monkeypatch.setattr(module, "STAGE", tmp_path)
    (tmp_path / "reference").mkdir()
    return tmp_path


def test_links_of_copied_pages_hold(stage):
    text = pages.with_links(pages.ROOT / "README.md")
    assert "](images/arm_and_torques.png)" in text and "](reference/file-formats.md)" in text
    assert "](architecture.md)" in text and "](references.bib)" in text and (stage / "references.bib").exists()
    assert "](../urdf.md)" in pages.with_links(pages.DOCS / "reference" / "file-formats.md")


def test_every_public_name_is_in_the_reference(stage):
    names.write_names()
    documented = "\n".join(path.read_text() for path in (stage / "reference").glob("*.md"))
    for name, thing in PUBLIC.items():
        if inspect.isclass(thing) or inspect.isroutine(thing) or name in ALGORITHMS:
            assert f"[`{name.split('.')[-1]}`][flexjoint." in documented, name
    assert "::: flexjoint.inverse_dynamics\n" in documented
    assert "::: flexjoint.dynamics.inverse_dynamics\n" not in documented, "a name is documented once"


def test_every_command_and_option_is_in_the_reference(stage):
    commands.write_commands()
    text = (stage / "reference" / "command-line.md").read_text()
    for name, command, _ in commands.commands_in(typer.main.get_command(app), None):
        assert f"## {name} {{#" in text
        assert all(f"{option}" in text for parameter in command.params for option in parameter.opts)
    assert "{controllers}" not in text and "motor_pd" in text


def test_mistakes_in_a_site_are_seen(tmp_path):
    (tmp_path / "a.html").write_text(
        '<h1 id="top"></h1><a href="b.html#there">x</a><a href="b.html#gone">x</a><a href="c.html">x</a>'
        '<img src="p.png"><img src="p.png" alt="a curve"><script src="https://example.org/x.js"></script>'
        '<a href="https://example.org">elsewhere</a><style>@import "https://example.org/f.css";</style>'
    )
    (tmp_path / "b.html").write_text('<p id="there"></p><a href="a.html#top">x</a>')
    (tmp_path / "p.png").touch()
    (tmp_path / "s.css").write_text("@font-face { src: url(https://example.org/font.woff2) }")
    found = links.mistakes(tmp_path)
    assert [x.partition(": ")[2].split(":")[0] for x in found] == [
        "an image needs alternative text",
        "no such anchor",
        "dead link",
        "requests https",
        "requests https",
        "requests https",
    ]
