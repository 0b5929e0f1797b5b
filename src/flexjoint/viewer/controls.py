"""The controls of the page: each one calls a method of the Viewer and shows what the Viewer says."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np

from .joint_plot import JointPlot
from .labels import label, paragraph

if TYPE_CHECKING:
    import viser

    from .viewer import Viewer

Panel = Callable[["viser.ViserServer"], AbstractContextManager[Any]]
SPEEDS = ("0.1", "0.25", "0.5", "1", "2", "5")
MOST_MAGNIFIED = 200.0
TICKS = 4  # pictures per update of the chart and the time slider while a motion is played
MOST_NOTES = 8


class Controls:
    """Sliders, switches and the chart.

    Args:
        viewer: What they act on.
        server: The viser server.
        radians: Angles in rad instead of degrees.
        panel: Called after the controls of the motion, to add others; what the viewer adds goes into the container
            that it returns, and does not pose the robot.  By default none.
    """

    def __init__(self, viewer: Viewer, server: viser.ViserServer, radians: bool, panel: Panel | None = None) -> None:
        self.viewer, self.gui, self.panel = viewer, server.gui, panel
        turn = ("rad", 1.0) if radians else ("°", 180 / math.pi)
        self.units = [turn if joint.kind.angular else ("m", 1.0) for joint in viewer.robot.joints]
        self.time: Any = None
        self.plot: JointPlot | None = None
        self.tick = 0
        self.sliders: list[Any] = []
        self.numbers: list[tuple[Any, Callable[[], float]]] = []  # sliders and what they show
        self.boxes: dict[str, Any] = {}
        self.gui.set_panel_label(label(viewer.robot.name))
        if viewer.playback is not None:
            self._playback(server)
        with nullcontext() if panel is None else panel(server):
            self._drivetrain()
            if panel is None:
                self._joints()
            self._switches()
            self._notes()

    # Folders --------------------------------------------------------------------------------------------------------

    def _playback(self, server: viser.ViserServer) -> None:
        viewer, gui, playback = self.viewer, self.gui, self.viewer.playback
        assert playback is not None
        with gui.add_folder("Motion"):
            self.time = gui.add_slider("time, s", *self._span(), playback.begin)
            self.button = gui.add_button("Play")
            speeds = sorted({*SPEEDS, f"{playback.speed:g}"}, key=float)
            speed = gui.add_dropdown("speed", speeds, initial_value=f"{playback.speed:g}")
            motion = viewer.motions[0]
            self.plot = JointPlot(server, motion, self.units)
            names = [f"{i + 1}: {label(joint.name)}" for i, joint in enumerate(viewer.robot.joints)]
            most = int(np.argmax(np.ptp(motion.q, axis=0)))  # the joint that moves most
            joint = gui.add_dropdown("joint", names, initial_value=names[most])
            known = self.plot.known
            first = "error" if self.panel is not None and "error" in known else known[0]
            quantity = gui.add_dropdown("curve", known, initial_value=first)
            plot = self.plot
            plot.choose(most, first, playback.t)
        self.time.on_update(by_hand(lambda: viewer.seek(float(self.time.value))))
        self.button.on_click(lambda _: viewer.pause() if viewer.playing else viewer.play())
        speed.on_update(by_hand(lambda: viewer.play(float(speed.value))))
        for choice in (joint, quantity):
            choice.on_update(by_hand(lambda: plot.choose(names.index(joint.value), quantity.value, viewer.t)))

    def _span(self) -> tuple[float, float, float]:
        """First and last time of the motions, and a step of the time slider, s."""
        playback = self.viewer.playback
        assert playback is not None
        return playback.begin, playback.end, 10.0 ** math.floor(math.log10((playback.end - playback.begin) / 200))

    def show_motion(self, old: bool) -> None:
        """Show the new motions of the viewer; with `old` the curves are marked as outdated."""
        if self.plot is not None:
            low, high, step = self._span()
            if (low, high) != (self.time.min, self.time.max):
                self.time.value = min(max(self.time.value, low), high)
                self.time.min, self.time.max, self.time.step = low, high, step
            self.plot.replace(self.viewer.motions[0], old, self.viewer.t)

    def _drivetrain(self) -> None:
        viewer, gui = self.viewer, self.gui
        if not viewer.statics.elastic:
            return
        with gui.add_folder("Springs"):
            most = max(MOST_MAGNIFIED, viewer.magnify)
            factor = gui.add_slider("deflection ×", min(1.0, viewer.magnify), most, 1.0, viewer.magnify)

            def magnify() -> None:
                viewer.magnify = float(factor.value)

            factor.on_update(by_hand(magnify))
            self.numbers.append((factor, lambda: viewer.magnify))
            if self.panel is not None:
                return
            greatest = viewer.statics.greatest_load
            hint = "along gravity, while the robot is posed by hand"
            load = gui.add_slider("load on tool, N", 0.0, greatest, greatest / 100, 0.0, hint=hint)
            load.on_update(by_hand(lambda: viewer.pose(viewer.q, float(load.value))))
            self.numbers.append((load, lambda: viewer.load))

    def _switches(self) -> None:
        viewer = self.viewer
        wanted = ["base", "axes", "frames", "centres of mass", "joint names", "arrows"]
        wanted = ["motors", *wanted] if viewer.statics.elastic else wanted
        if any(motion.reference is not None for motion in viewer.motions):
            wanted.insert(0, "reference")
        with self.gui.add_folder("Show", expand_by_default=viewer.playback is None or self.panel is not None):
            for name in wanted:
                box = self.gui.add_checkbox(name, viewer.shown(name))
                box.on_update(by_hand(lambda name=name, box=box: viewer.switch(name, box.value)))
                self.boxes[name] = box

    def _joints(self) -> None:
        viewer = self.viewer
        with self.gui.add_folder("Joints", expand_by_default=viewer.playback is None):
            for i, (joint, limits) in enumerate(zip(viewer.robot.joints, viewer.robot.joint_limits)):
                unit, factor = self.units[i]
                wide = math.pi if joint.kind.angular else 1.0
                at = float(viewer.q[i])
                lower = limits.lower if math.isfinite(limits.lower) else -wide
                upper = limits.upper if math.isfinite(limits.upper) else wide
                step = {"°": 0.1, "rad": 0.001, "m": 0.001}[unit]
                ends = within(min(lower, at) * factor, max(upper, at) * factor, step)
                value = min(max(at * factor, ends[0]), ends[1])
                rounded = min(max(round(round(value / step) * step, 6), ends[0]), ends[1])
                slider = self.gui.add_slider(f"{label(joint.name, 26)}, {unit}", *ends, step, rounded)
                slider.on_update(by_hand(lambda i=i: self._pose(i)))
                self.sliders.append(slider)

    def _pose(self, i: int) -> None:
        q = self.viewer.q
        q[i] = float(self.sliders[i].value) / self.units[i][1]
        self.viewer.pose(q)

    def _notes(self) -> None:
        notes = [*self.viewer.missing[:MOST_NOTES]]
        if len(self.viewer.missing) > MOST_NOTES:
            notes.append(f"and {len(self.viewer.missing) - MOST_NOTES} more notes")
        if notes:
            with self.gui.add_folder("Notes"):
                self.gui.add_html("".join(map(paragraph, notes)))

    # What the Viewer says -------------------------------------------------------------------------------------------

    def refresh(self) -> None:
        """Show the state of the viewer; while a motion is played, time and chart follow a few times per second."""
        viewer, playback = self.viewer, self.viewer.playback
        if playback is not None and self.plot is not None:
            self.tick = (self.tick + 1) % TICKS
            wanted = "Pause" if playback.playing else "Play"
            if self.button.label != wanted:
                self.button.label = wanted
            if self.tick and playback.playing:
                return
            put(self.time, playback.t)
            self.plot.show(playback.t)
        if not viewer.playing:
            for slider, x, (_, factor) in zip(self.sliders, viewer.q, self.units):
                put(slider, x * factor)
            for slider, value in self.numbers:
                put(slider, value())
            for name, box in self.boxes.items():
                box.value = viewer.shown(name)


def within(lower: float, upper: float, step: float) -> tuple[float, float]:
    """The interval, rounded inwards to multiples of the step; unchanged if it is at most two steps long."""
    if upper - lower <= 2 * step:
        return lower, upper
    return round(math.ceil(lower / step - 1e-6) * step, 6), round(math.floor(upper / step + 1e-6) * step, 6)


def put(slider: Any, value: float) -> None:
    """Move a slider, unless the change is below half its step: a slider that is being dragged stays in place."""
    if abs(slider.value - value) >= 0.51 * slider.step:
        slider.value = float(np.clip(value, slider.min, slider.max))


def by_hand(action: Any) -> Any:
    """A callback that runs for changes by the user only, not for changes by the viewer itself."""

    def changed(event: Any) -> None:
        if event.client_id is not None:
            action()

    return changed
