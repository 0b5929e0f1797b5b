"""Animation of a run: the links, and behind them the arm at the positions of the motors.

Matplotlib draws GIF and MP4 in parallel projection.  The HTML page is one small self-contained file with a slider for
time, in which the arm can be rotated.  Every frame is a sample of the run; nothing is interpolated.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterator
from html import escape
from importlib.resources import files as resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..atomic import replacing
from ..checks import positive
from ..errors import InputError
from ..plots.figures import BLUE, GREY, ORANGE, name_text
from ..results.files import check_path
from ..simulation.result import Simulation
from ..types import FloatArray
from .motor_positions import undeflected_links
from .skeleton import skeleton

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMATS = (".gif", ".mp4", ".html")
MOST_FRAMES = 2000
VIEW = (-60.0, 22.0)  # azimuth and elevation of the camera, °


class Scene(NamedTuple):
    """What is drawn.

    Args:
        title: Text above the picture.
        t: Times of the frames, (frames,), s.
        links, motors: Points of the arm at the link and at the motor positions, (frames, points, 3), m.
        segments: Pairs of points with a line between them.
        joints: Points at which a joint moves.
        tip: Point of the tool.
    """

    title: str
    t: FloatArray
    links: FloatArray
    motors: FloatArray
    segments: list[tuple[int, int]]
    joints: list[int]
    tip: int


def animate(
    run: Simulation,
    path: str | os.PathLike[str],
    *,
    frames: float = 25.0,
    speed: float = 1.0,
    magnify: float = 1.0,
) -> None:
    """Write an animation of one run.

    Args:
        run: One run, as `simulate` returns it.
        path: .html (self-contained page), .gif or .mp4 (needs ffmpeg).
        frames: Per second; default 25.
        speed: Playback speed relative to real time; default 1.
        magnify: Factor by which deflections are enlarged; default 1.

    Raises:
        InputError: The run is a batch, an option is not positive, there would be more than 2000 frames, or no file can
            be written.

    Example:
        >>> import flexjoint as fj
        >>> robot = fj.load("hua_3r")
        >>> run = fj.simulate(robot, fj.control.MotorPD(robot, [400.0, 40.0]), [0.1, 0.2, 0.3], 0.2)
        >>> fj.viewer.animate(run, "run.html", magnify=5)  # doctest: +SKIP
    """
    path = check_animation_path(path)
    for name, value in (("frames", frames), ("speed", speed), ("magnify", magnify)):
        positive("animate", name, value)
    shown = scene(run, frames / speed, magnify)
    if path.suffix.lower() == ".html":
        with replacing(path) as file:
            file.write(page(shown, frames).encode())
    elif path.suffix.lower() == ".gif":
        first, *others = pictures(shown)
        with replacing(path) as file:
            first.save(file, format="GIF", save_all=True, append_images=others, duration=1000 / frames, loop=0)
    else:
        write_mp4(shown, path, frames)


def check_animation_path(path: str | os.PathLike[str]) -> Path:
    """The path as a Path; raises InputError if no animation can be written there."""
    path = check_path(path, FORMATS, "an animation")
    if path.suffix.lower() == ".mp4":
        from matplotlib.animation import FFMpegWriter

        if not FFMpegWriter.isAvailable():
            raise InputError(
                f"{path}: MP4 needs the program ffmpeg, which was not found; install it, or write .gif or .html"
            )
    return path


def scene(run: Simulation, rate: float, magnify: float = 1.0) -> Scene:
    """The scene of a run with `rate` frames per second of the run; a run that diverged is shown until then."""
    if run.q.ndim != 2:
        raise InputError(f"animate shows one run, this is a batch of shape {run.q.shape[:-2]}; simulate one run")
    end = int(run.periods) - round(run.t[0] / run.period)
    count = max(2, math.floor(end * run.period * rate * (1 + 1e-9)) + 1)
    if count > MOST_FRAMES:
        raise InputError(f"animate: {count} frames; at most {MOST_FRAMES} are drawn: raise speed= or lower frames=")
    chosen = np.minimum(np.round(np.arange(count) / (rate * run.period)).astype(int), end)
    q = run.q[chosen]
    theta = undeflected_links(run.robot, run.theta[chosen])
    arm = skeleton(run.robot, np.stack([q, q + magnify * (theta - q)]))
    title = run.robot.name if magnify == 1 else f"{run.robot.name}, deflections × {magnify:g}"
    links, motors = arm.points
    return Scene(title, run.t[chosen], links, motors, arm.segments, arm.joints, arm.tip)


def extent(shown: Scene) -> tuple[FloatArray, float]:
    """Centre (3,) and radius of all points that are drawn, m."""
    points = np.concatenate([shown.links, shown.motors])[:, sorted({k for pair in shown.segments for k in pair})]
    points = points.reshape(-1, 3)
    low, high = points.min(axis=0), points.max(axis=0)
    return (low + high) / 2, max(float(np.linalg.norm(high - low)) / 2, 1e-3)


def projected(points: FloatArray, azimuth: float, elevation: float) -> FloatArray:
    """Points in the picture plane, right and up, (..., 2), m."""
    a, e = np.deg2rad([azimuth, elevation])
    right = [-np.sin(a), np.cos(a), 0.0]
    up = [-np.sin(e) * np.cos(a), -np.sin(e) * np.sin(a), np.cos(e)]
    return points @ np.array([right, up]).T


def floor_grid(centre: FloatArray, radius: float) -> tuple[FloatArray, float]:
    """Lines (lines, 2, 3) of a square grid at the height of the base, and its cell width, m."""
    width = 10.0 ** math.floor(math.log10(radius))
    width *= next(x for x in (0.2, 0.5, 1.0, 2.0, 5.0) if radius / (x * width) <= 5)
    middle, half = np.round(centre[:2] / width) * width, width * math.ceil(radius / width)
    steps = np.arange(-half, half + width / 2, width)
    along_x = [[(middle[0] - half, middle[1] + s, 0.0), (middle[0] + half, middle[1] + s, 0.0)] for s in steps]
    along_y = [[(middle[0] + s, middle[1] - half, 0.0), (middle[0] + s, middle[1] + half, 0.0)] for s in steps]
    return np.array([*along_x, *along_y]), width


# Pictures ---------------------------------------------------------------------------------------------------------


def drawing(shown: Scene) -> tuple[Figure, Callable[[int], None]]:
    """A figure, and a function that draws frame k on it."""
    from matplotlib.collections import LineCollection
    from matplotlib.figure import Figure

    centre, radius = extent(shown)
    grid, width = floor_grid(centre, radius)
    links, motors, base = (projected(x, *VIEW) for x in (shown.links, shown.motors, grid))
    figure = Figure(figsize=(6.4, 5.6), dpi=90)
    axis = figure.add_axes((0, 0, 1, 0.93))
    axis.set_axis_off()
    middle, reach = projected(centre, *VIEW), 1.12 * radius
    axis.set(xlim=middle[0] + np.array([-1.12, 1.12]) * reach, ylim=middle[1] + np.array([-1.0, 1.0]) * reach)
    axis.set_aspect("equal")
    axis.add_collection(LineCollection(list(base), colors="#dddddd", linewidths=0.8, clip_on=False))
    arms = [
        LineCollection([], colors=colour, linewidths=size, capstyle="round", label=label, zorder=order)
        for colour, size, label, order in ((ORANGE, 2.2, "motors", 2), (BLUE, 4.5, "links", 3))
    ]
    for arm in arms:
        axis.add_collection(arm)
    (trace,) = axis.plot([], [], color=GREY, linewidth=0.9, linestyle=":", zorder=1)
    (hinges,) = axis.plot([], [], "o", color="white", markeredgecolor=BLUE, markeredgewidth=1.6, markersize=6, zorder=4)
    (rotors,) = axis.plot([], [], "D", color=ORANGE, markersize=3.5, zorder=5)
    figure.text(0.03, 0.945, name_text(shown.title, 60), fontsize=12, fontweight="bold")
    clock = figure.text(0.97, 0.945, "", fontsize=12, ha="right", family="monospace")
    figure.text(0.97, 0.02, f"grid {width:g} m", fontsize=9, color=GREY, ha="right")
    figure.legend(handles=arms[::-1], loc="lower left", ncols=2, frameon=False)
    pairs = np.array(shown.segments)

    def show(k: int) -> None:
        for arm, points in zip(arms, (motors, links)):
            arm.set_segments(list(points[k][pairs]))
        hinges.set_data(*links[k][shown.joints].T)
        rotors.set_data(*motors[k][shown.joints].T)
        trace.set_data(*links[: k + 1, shown.tip].T)
        clock.set_text(f"{shown.t[k]:6.2f} s")

    return figure, show


def pictures(shown: Scene) -> Iterator[Any]:
    """The frames as PIL images with 256 colours."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from PIL import Image

    figure, show = drawing(shown)
    canvas = FigureCanvasAgg(figure)
    for k in range(len(shown.t)):
        show(k)
        canvas.draw()
        yield Image.fromarray(np.asarray(canvas.buffer_rgba())[..., :3]).quantize(256)


def write_mp4(shown: Scene, path: Path, frames: float) -> None:
    """Write the scene with ffmpeg."""
    from matplotlib.animation import FFMpegWriter
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    figure, show = drawing(shown)
    FigureCanvasAgg(figure)
    part = path.with_name(f".{path.stem}.{os.getpid()}.part.mp4")
    try:
        writer = FFMpegWriter(fps=frames)  # type: ignore[arg-type]
        with writer.saving(figure, str(part), dpi=100):
            for k in range(len(shown.t)):
                show(k)
                writer.grab_frame()
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


# Page -------------------------------------------------------------------------------------------------------------


def page(shown: Scene, frames: float) -> str:
    """A self-contained HTML page: the points in mm and the script that draws them."""
    used = sorted({k for pair in shown.segments for k in pair} | {*shown.joints, shown.tip})
    place = {k: i for i, k in enumerate(used)}
    centre, radius = extent(shown)
    grid, width = floor_grid(centre, radius)
    data = {
        "t": np.round(shown.t, 6).tolist(),
        "links": millimetres(shown.links[:, used]),
        "motors": millimetres(shown.motors[:, used]),
        "segments": [[place[a], place[b]] for a, b in shown.segments],
        "joints": [place[k] for k in shown.joints],
        "tip": place[shown.tip],
        "grid": millimetres(grid),
        "centre": millimetres(centre[None]),
        "radius": round(1000 * radius, 2),
        "width": width,
        "view": VIEW,
        "frames": frames,
    }
    template = resources("flexjoint.viewer").joinpath("animation.html").read_text(encoding="utf-8")
    return template.replace("TITLE", escape(shown.title)).replace('"DATA"', json.dumps(data, separators=(",", ":")))


def millimetres(points: FloatArray) -> list[list[float]]:
    """Coordinates in mm, rounded to 0.1 mm, one flat list per frame."""
    return np.round(1000 * points.reshape(len(points), -1), 1).tolist()
