"""Pages of the viewer in a browser of 960 × 600 pixels: when a robot is drawn, and when its picture has changed."""

from __future__ import annotations

from typing import Any

import numpy as np

from flexjoint.viewer import Viewer
from support.browser import Browser

PANEL = 600  # pixels left of the panel
NOTICE = 160  # pixels below which no notice stands
SECONDS = 60.0


def cheap(viewer: Viewer) -> Viewer:
    """The viewer without shadows and reflections, which a processor draws slowly."""
    scene: Any = viewer._server.scene
    scene.configure_default_lights(cast_shadow=False)
    scene.configure_environment_map(hdri=None)
    scene.add_light_ambient("/light", intensity=3.0)
    return viewer


def opened(browser: Browser, viewer: Viewer) -> Browser:
    """The page of a viewer, once the robot is drawn."""
    browser.open(viewer.url)
    browser.wait(lambda: viewer._server.get_clients(), "the page to connect", SECONDS)
    browser.wait(lambda: drawn(browser), "the robot to be drawn", SECONDS)
    return browser


def drawn(browser: Browser, panel: int = PANEL) -> bool:
    """Whether the picture has many pixels left of the panel that are neither background nor grid nor its lines."""
    part = browser.picture()[NOTICE:, :panel]
    return bool(np.sum((part.max(axis=2) < 130) | (np.ptp(part, axis=2) > 40)) > 200)


def settled(browser: Browser, before: np.ndarray) -> np.ndarray:
    """The picture once it differs clearly from another one, without the panel."""
    found: list[np.ndarray] = []

    def differs() -> bool:
        found[:] = [browser.picture()]
        return bool(np.sum(np.abs(found[0] - before).max(axis=2)[:, :PANEL] > 40) > 150)

    browser.wait(differs, "the picture to change", SECONDS)
    return found[0]
