"""Controls of a studio, in tabs: each calls a method of the Studio and shows the state of the experiment."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from ..simulation.result import Simulation
from ..viewer.controls import by_hand
from ..viewer.labels import label
from .files import KINDS
from .motions import MOTIONS
from .settings import DAMPING, STIFFNESS, Setting, unit_of
from .stability import StabilityLimits

if TYPE_CHECKING:
    import viser

    from .experiment import Experiment
    from .serve import Studio

ALL = "all joints"
DIRECTIONS = {
    "down (−z)": (0.0, 0.0, -1.0),
    "up (+z)": (0.0, 0.0, 1.0),
    "+x": (1.0, 0.0, 0.0),
    "−x": (-1.0, 0.0, 0.0),
    "+y": (0.0, 1.0, 0.0),
    "−y": (0.0, -1.0, 0.0),
}
GOOD, BAD, PLAIN = "#2b8a3e", "#B00020", "inherit"
STEPS = 200  # of a slider
DRAGGED = 1.0  # s after which a slider counts as left alone
MOST_TEXT = 300  # characters of a message


class StudioPanel:
    """Tabs below the controls of the motion.

    Args:
        studio: What they act on.
    """

    def __init__(self, studio: Studio) -> None:
        self.studio = studio
        self.sliders: dict[str, Any] = {}  # by name of the setting, or pattern
        self.ranges: dict[str, Any] = {}  # texts below them
        self.controls: list[Any] = []  # of the chosen controller and motion
        self.gui: Any = None
        self.dragged = -math.inf  # when a slider of springs was moved

    @property
    def experiment(self) -> Experiment:
        """The experiment."""
        return self.studio.experiment

    def build(self, server: viser.ViserServer) -> AbstractContextManager[Any]:
        """Add all controls; returns the tab for those of the viewer."""
        gui = self.gui = server.gui
        gui.configure_theme(show_logo=False, show_share_button=False, control_width="large")
        self.status = gui.add_html(text("…"))
        tabs = gui.add_tab_group()
        with tabs.add_tab("Robot"):
            self._robot()
        with tabs.add_tab("Control"):
            self._choices()
        with tabs.add_tab("Push"):
            self._push()
        with tabs.add_tab("Noise"):
            for setting in self._group("sensors"):
                self._slider(setting)
        with tabs.add_tab("Files"):
            self._files()
        return tabs.add_tab("View")

    # Tabs -------------------------------------------------------------------------------------------------------------

    def _robot(self) -> None:
        robot, gui = self.experiment.robot, self.gui
        drives = {i: joint for i, joint in enumerate(robot.joints) if robot.compliant[i]}
        self.kept: dict[str, dict[str, Setting]] = {}  # settings by label and joint
        for end in (STIFFNESS, DAMPING):
            found = {f"{joint.name}.{end}": joint.name for joint in drives.values()}
            self.kept[end] = {found[x]: self.experiment.settings[x] for x in found if x in self.experiment.settings}
        if drives:
            names = [ALL, *(f"{i + 1}: {label(joint.name)}" for i, joint in drives.items())]
            joints = [None, *(joint.name for joint in drives.values())]
            self.joint = gui.add_dropdown("joint", names, hint="whose spring the two sliders below change")
            self.joint.on_update(by_hand(self._show_joint))
            self.chosen = lambda: joints[names.index(self.joint.value)]
            titles = {STIFFNESS: "stiffness, % of the model", DAMPING: "damping, % of critical"}
            for end, title in titles.items():
                if self.kept[end]:
                    self._spring_slider(end, title)
            self.springs = gui.add_html("")
            self._show_spring()
        self._slider(self.experiment.settings["payload"], limited=True)

    def _spring_slider(self, end: str, title: str) -> None:
        shares = [(x.low / x.scale, x.high / x.scale, x.value / x.scale) for x in self.kept[end].values()]
        low, high = max(x[0] for x in shares), min(x[1] for x in shares)
        ends = round(100 * low, 3), max(round(100 * high, 3), round(100 * low, 3) + 1.0)
        first = min(max(100 * shares[0][2], ends[0]), ends[1])
        slider = self.gui.add_slider(title, *ends, 0.5, first)
        slider.on_update(by_hand(lambda: self._set_spring(end, float(slider.value) / 100)))
        self.sliders[end] = slider
        self.ranges[end] = self.gui.add_html("")

    def _set_spring(self, end: str, share: float) -> None:
        chosen, self.dragged = self.chosen(), time.monotonic()
        for joint, setting in self.kept[end].items():
            if chosen is None or joint == chosen:
                self.studio.set(setting.name, min(max(share * setting.scale, setting.low), setting.high))

    def _show_joint(self) -> None:
        """Show the springs of another joint, and look for their limits."""
        self.dragged = -math.inf
        self._show_spring()
        self.studio.look()

    def _show_spring(self) -> None:
        """Move the sliders to the chosen joint, and write its numbers."""
        chosen, lines = self.chosen(), []
        for end, settings in self.kept.items():
            shown = [x for joint, x in settings.items() if chosen is None or joint == chosen]
            if not shown:
                continue
            values = np.array([self.experiment[x.name] for x in shown])
            if time.monotonic() - self.dragged > DRAGGED:  # a run behind must not move a slider back
                put(self.sliders[end], 100 * float(np.mean(values / [x.scale for x in shown])))
            letter = "K" if end == STIFFNESS else "D"
            lines.append(f"{letter} = {span(values)} {shown[0].unit}")
        self.springs.content = text(", ".join(lines))

    def _choices(self) -> None:
        experiment, gui = self.experiment, self.gui
        suited = [name for name, reason in experiment.controllers.items() if not reason]
        controller = gui.add_dropdown("controller", suited, initial_value=experiment.controller_name)
        controller.on_update(by_hand(lambda: self.studio.choose_controller(controller.value)))
        self.limits = gui.add_html("")
        self.folders = {"control": gui.add_folder("Gains"), "motion": gui.add_folder("Reference")}
        source = experiment.motion
        sources = {x: x for x in MOTIONS} if source in MOTIONS else {"given": source} | {x: x for x in MOTIONS}
        with self.folders["motion"]:
            motion = gui.add_dropdown("motion", [*sources], initial_value=source if source in MOTIONS else "given")
        motion.on_update(by_hand(lambda: self.studio.choose_motion(sources[motion.value])))
        self._control()

    def _control(self) -> None:
        """The sliders of the chosen controller and motion."""
        for handle in self.controls:
            handle.remove()
        for name in [x for x in self.sliders if x not in self.experiment.settings and "." not in x]:
            self.sliders.pop(name)
            self.ranges.pop(name, None)
        self.built = (self.experiment.controller_name, self.experiment.motion)
        self.controls = []
        for group, folder in self.folders.items():
            with folder:
                for setting in self._group(group):
                    self.controls += self._slider(setting, limited=group == "control")

    def _push(self) -> None:
        gui = self.gui
        by_name = {x.name: x for x in self.experiment.settings.values()}
        self._slider(by_name["push.force"])
        direction = gui.add_dropdown("direction", [*DIRECTIONS], hint="in base coordinates")
        direction.on_update(by_hand(lambda: self.studio.set_push_direction(DIRECTIONS[direction.value])))
        self._slider(by_name["push.time"])
        self._slider(by_name["push.duration"])
        self._slider(by_name["threshold"])
        self.detected = gui.add_html("")

    def _files(self) -> None:
        if self.studio.folder is None:
            self.gui.add_html(text("No folder was chosen. Start with --output FOLDER, or serve(..., folder=)."))
            return
        self.gui.add_html(text(f"Files go to {label(self.studio.folder, 200)}"))
        for kind in KINDS:
            button = self.gui.add_button(f"Write {kind}")
            button.on_click(lambda _, kind=kind: self.studio.write(kind))
        self.written = self.gui.add_html("")

    def _group(self, group: str) -> list[Setting]:
        return [x for x in self.experiment.settings.values() if x.group == group]

    def _slider(self, setting: Setting, limited: bool = False) -> list[Any]:
        """A slider of a setting, with a text for its stable range below it if it is `limited`."""
        title = f"{label(setting.label, 26)}, {setting.unit}" if setting.unit else setting.label
        step = 10.0 ** math.floor(math.log10((setting.high - setting.low) / STEPS))
        value = min(max(self.experiment[setting.name], setting.low), setting.high)
        slider = self.gui.add_slider(title, setting.low, setting.high, step, value)

        def change() -> None:
            x = min(max(float(slider.value), setting.low), setting.high)
            self.studio.set(setting.name, x)

        slider.on_update(by_hand(change))
        self.sliders[setting.name] = slider
        if not limited:
            return [slider]
        self.ranges[setting.name] = self.gui.add_html("")
        return [slider, self.ranges[setting.name]]

    def follow(self, name: str, value: Any) -> None:
        """Move the slider of a setting that was changed elsewhere."""
        if name in self.sliders and np.ndim(value) == 0:
            put(self.sliders[name], float(value))

    # What the experiment says -----------------------------------------------------------------------------------------

    def say(self, message: str, bad: bool = False) -> None:
        """Write a sentence below the curves."""
        if not self.studio.viewer.stopped:
            self.status.content = text(message, BAD if bad else PLAIN)

    def say_written(self, names: list[str]) -> None:
        """Say which files were written."""
        self.written.content = text(f"Written: {', '.join(names)}", GOOD)

    def show_run(self, run: Simulation, seconds: float) -> None:
        """Say how a run ended, and show what it detected."""
        error, unit = float(np.max(np.abs(run.error))), unit_of(self.experiment.robot, "rad | m")
        self.say(f"{run.t[-1]:.3g} s in {1000 * seconds:.0f} ms; largest error {error:.3g} {unit}")
        self._follow()

    def show_trouble(self) -> None:
        """Say why there are no new curves."""
        self.say(f"{self.studio.trouble}. The curves are those of the run before.", bad=True)
        self._follow()

    def _follow(self) -> None:
        """Show what depends on a change: the sliders of another controller, springs, the detection."""
        if self.built != (self.experiment.controller_name, self.experiment.motion):
            self._control()
        if any(self.kept.values()):
            self._show_spring()
        for box in self.ranges.values():
            box.content = text("…")
        begins, end = self.sliders["push.time"], float(self.studio.viewer.motions[0].t[-1])
        if begins.max != end:
            begins.value = min(begins.value, end)
            begins.max = end
        found = self.experiment.detection()
        if found is None or self.studio.trouble:
            self.detected.content = text("nothing detected" if not self.studio.trouble else "")
            return
        when = f"{found.time:.4g} s"
        if self.experiment["push.force"] and found.time >= self.experiment["push.time"]:
            when += f", {1000 * (found.time - self.experiment['push.time']):.0f} ms after the push began"
        self.detected.content = text(f"detected at {when}: residual {found.residual:.3g} of {label(found.joint)}", BAD)

    def show_limits(self, experiment: Experiment, changed: Callable[[], bool]) -> None:
        """Write the stability limits beside the sliders; stops as soon as something has `changed`."""
        for name, box in list(self.ranges.items()):
            found = self._range(experiment, name)
            if changed():
                return
            box.content = found
        found = limits_text(experiment.limits())
        if not changed():
            self.limits.content = found

    def _range(self, experiment: Experiment, name: str) -> str:
        """Where the setting of a slider, or those of the chosen springs, are stable, as HTML."""
        if name in experiment.settings:
            return range_text(*experiment.stable_range(name), experiment.settings[name])
        chosen = self.chosen()
        own = [x for joint, x in self.kept[name].items() if chosen in (None, joint)]
        if not own:
            return ""
        scale = 1.0 if chosen is None else own[0].scale
        low, high = experiment.stable_range(f"*.{name}" if chosen is None else own[0].name)
        slider = self.sliders[name]
        in_percent = Setting(name, "", "%", "robot", slider.min, slider.max, 100.0)
        return range_text(100 * low / scale, 100 * high / scale, in_percent)


def text(message: str, colour: str = PLAIN) -> str:
    """A sentence as HTML, escaped."""
    style = f"margin: 0.2em 0.9em; font-size: 0.85em; overflow-wrap: anywhere; color: {colour}"
    return f'<p style="{style}">{escape(label(message, MOST_TEXT))}</p>' if message else ""


def span(values: np.ndarray) -> str:
    """One number, or the least and the greatest."""
    low, high = float(np.min(values)), float(np.max(values))
    return f"{low:.4g}" if math.isclose(low, high, rel_tol=1e-9) else f"{low:.4g} to {high:.4g}"


def range_text(low: float, high: float, setting: Setting) -> str:
    """Where a setting is stable, as HTML."""
    if math.isnan(low):
        return text("unstable as it is set", BAD)
    tolerance = 1e-6 * (setting.high - setting.low)
    below, above = low > setting.low + tolerance, high < setting.high - tolerance
    if not below and not above:
        return text("stable everywhere", GOOD)
    parts = [f"from {low:.3g}"] * below + [f"up to {high:.3g}"] * above
    return text(f"stable {' '.join(parts)} {setting.unit.split(' | ')[0]}")


def limits_text(found: StabilityLimits) -> str:
    """The limits of the loop, as HTML."""
    state = "stable" if found.stable else f"unstable: {label(found.joint)} grows at {found.growth:.3g}/s"
    step = (
        f"stable up to {1000 * found.longest_step:.3g} ms"
        if math.isfinite(found.longest_step)
        else "far from its limit"
    )
    period = f"stable up to {1000 * found.longest_period:.3g} ms"
    if math.isnan(found.longest_period):
        period = "no stable one was found"
    return text(f"At rest: {state}.", GOOD if found.stable else BAD) + text(
        f"Sampling period {1000 * found.period:.3g} ms, {period}; integration step {1000 * found.step:.3g} ms, {step}."
    )


def put(slider: Any, value: float) -> None:
    """Move a slider, unless it is there already."""
    inside = min(max(value, slider.min), slider.max)
    if abs(slider.value - inside) > 0.51 * slider.step:
        slider.value = float(inside)
