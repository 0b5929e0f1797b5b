"""A viewer as one self-contained page: the scene, and of a motion its pictures, played without a server."""

from __future__ import annotations

import os
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..atomic import replacing
from ..errors import InputError
from ..results.files import check_path
from .labels import label

if TYPE_CHECKING:
    import viser

    from .viewer import Viewer

MOST_FRAMES = 2000


def check_page_path(path: str | os.PathLike[str]) -> Path:
    """The path as a Path; raises InputError if no page can be written there."""
    return check_path(path, (".html",), "a page")


def record_page(viewer: Viewer, server: viser.ViserServer, path: Path, frames: float) -> None:
    """Write what a viewer shows, and all motions from begin to end at their speed."""
    playback = viewer.playback
    times = [0.0]
    if playback is not None:
        span = playback.end - playback.begin
        count = max(2, int(np.floor(span * frames / playback.speed * (1 + 1e-9))) + 1)
        if count > MOST_FRAMES:
            raise InputError(
                f"write_html: {count} frames; at most {MOST_FRAMES} are written: raise speed= or lower frames="
            )
        times = np.linspace(playback.begin, playback.end, count).tolist()
        viewer.seek(times[0])
    recorder = server.get_scene_serializer()
    for k, t in enumerate(times[1:], 1):
        recorder.insert_sleep((t - times[k - 1]) / (playback.speed if playback is not None else 1.0))
        viewer.seek(t)
    if len(times) > 1:
        recorder.insert_sleep(1 / frames)
    page = titled(recorder.as_html(), f"{label(viewer.robot.name)}: flexjoint")
    with replacing(path) as file:
        file.write(page.encode())


def titled(page: str, title: str) -> str:
    """The page with another title."""
    head, opening, rest = page.partition("<title>")
    return page if not opening else f"{head}<title>{escape(title)}</title>{rest.partition('</title>')[2]}"
