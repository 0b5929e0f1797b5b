"""A viewer as one self-contained page: the scene, and of a motion its pictures, played without a server."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager, nullcontext
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..atomic import replacing
from ..errors import InputError
from ..results.files import check_path
from .labels import label
from .page_magnification import count_picture, marked, with_slider

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
    ghost = viewer.deflections() is not None
    marks: AbstractContextManager[list[Any]] = marked(viewer, server) if ghost else nullcontext([])
    with marks as clocks:
        seen = [viewer.deflections()]
        recorder = server.get_scene_serializer()
        for k, t in enumerate(times[1:], 1):
            recorder.insert_sleep((t - times[k - 1]) / (playback.speed if playback is not None else 1.0))
            viewer.seek(t)
            count_picture(clocks, k)
            seen.append(viewer.deflections())
        if len(times) > 1:
            recorder.insert_sleep(1 / frames)
        page = recorder.as_html()
    if ghost:
        q, deflection = (np.moveaxis(np.array([x[part] for x in seen if x]), 1, 0) for part in (0, 1))
        page = with_slider(page, viewer.robot, viewer.magnify, list(q), list(deflection))
    with replacing(path) as file:
        file.write(titled(page, f"{label(viewer.robot.name)}: flexjoint").encode())


def titled(page: str, title: str) -> str:
    """The page with another title."""
    head, opening, rest = page.partition("<title>")
    return page if not opening else f"{head}<title>{escape(title)}</title>{rest.partition('</title>')[2]}"
