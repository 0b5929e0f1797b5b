"""modelDescription.xml of a component: its scalars, their units and what depends on what."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple
from xml.etree import ElementTree as xml

import numpy as np

from ...compiler.ir.program import Array
from ...control_characters import harmless
from ..c_code import FLAGS
from ..component import Component

HIDDEN = ("t", "elapsed")  # inputs that the interface sets itself
UNITS = {
    "rad": {"rad": 1},
    "rad/s": {"rad": 1, "s": -1},
    "rad/s²": {"rad": 1, "s": -2},
    "m": {"m": 1},
    "m/s": {"m": 1, "s": -1},
    "m/s²": {"m": 1, "s": -2},
    "Nm": {"kg": 1, "m": 2, "s": -2},
    "N": {"kg": 1, "m": 1, "s": -2},
    "Nm/s": {"kg": 1, "m": 2, "s": -3},
    "N/s": {"kg": 1, "m": 1, "s": -3},
    "Nm/rad": {"kg": 1, "m": 2, "s": -2, "rad": -1},
    "N/m": {"kg": 1, "s": -2},
    "kg": {"kg": 1},
    "kg m²": {"kg": 1, "m": 2},
    "J": {"kg": 1, "m": 2, "s": -2},
    "s": {"s": 1},
}


class Scalar(NamedTuple):
    """A number of the interface."""

    name: str
    reference: int
    causality: str
    variability: str
    start: float | None
    unit: str
    about: str
    derivative_of: int | None = None  # index of the state, from 1
    integer: bool = False


def scalars(component: Component) -> list[Scalar]:
    """All numbers of the interface, in the order of the file."""
    found: list[Scalar] = []
    outputs = {x.name for x in component.outputs}
    places = dict(zip(("state", "parameters", "inputs", "outputs", "derivatives"), offsets(component)))
    for array, values, place in spread(component.state, component.initial, places["state"]):
        if component.rates is not None:  # states of laws are theirs
            shown = "output" if array.name in outputs else "local"
            found += numbered(component, array, place, shown, "continuous", values)
    for array, values, place in spread(component.parameters, component.nominal, places["parameters"]):
        found += numbered(component, array, place, "parameter", "tunable", values)
    zeros = [np.zeros(x.shape) for x in component.inputs]
    varies = "continuous" if component.rates is not None else "discrete"
    for array, values, place in spread(component.inputs, zeros, places["inputs"]):
        if array.name not in HIDDEN:
            found += numbered(component, array, place, "input", varies, values)
    states = {x.name for x in component.state} if component.rates is not None else set()
    given = [x for x in component.outputs if x.name != FLAGS]
    for array, _, place in spread(given, [None] * len(given), places["outputs"]):
        if array.name not in states:
            found += numbered(component, array, place, "output", varies, None)
    if any(x.name == FLAGS for x in component.outputs):
        found.append(Scalar(FLAGS, 0, "output", "discrete", None, "", "what happened in the step", integer=True))
    if component.rates is not None:
        for k in range(sum(x.size for x in component.state)):
            state = found[k]
            about = f"time derivative of {state.name}"
            found.append(
                Scalar(f"der({state.name})", places["derivatives"] + k, "local", "continuous", None, "", about, k + 1)
            )
    return found


def offsets(component: Component) -> list[int]:
    """The first value reference of state, parameters, inputs, outputs and derivatives."""
    given = [x for x in component.outputs if x.name != FLAGS]
    sizes = [sum(x.size for x in part) for part in (component.state, component.parameters, component.inputs, given)]
    return [sum(sizes[:k]) for k in range(5)]


def spread(arrays: object, values: object, first: int) -> Iterator[tuple[Array, object, int]]:
    """Arrays with their values and the place of their first number."""
    for array, value in zip(arrays, values):  # type: ignore[call-overload]
        yield array, value, first
        first += array.size


def numbered(
    component: Component, array: Array, place: int, causality: str, variability: str, values: object
) -> list[Scalar]:
    """The numbers of an array: q[1], q[2], ...; reference[1,2] of a matrix; a number alone has the name itself."""
    flat = None if values is None else np.ravel(np.asarray(values, dtype=float))
    found = []
    for k, index in enumerate(np.ndindex(array.shape) if array.shape else [()]):
        name = array.name + (f"[{','.join(str(i + 1) for i in index)}]" if index else "")
        label = array.labels[k] if k < len(array.labels) else ""
        start = None if flat is None else float(flat[k])
        found.append(Scalar(name, place + k, causality, variability, start, component.unit_of(array, k), label))
    return found


def model_description(component: Component, identifier: str, guid: str, sources: list[str], tool: str) -> str:
    """The text of modelDescription.xml."""
    root = xml.Element(
        "fmiModelDescription",
        fmiVersion="2.0",
        modelName=plain(component.name),
        guid=guid,
        generationTool=tool,
        variableNamingConvention="structured",
        numberOfEventIndicators="0",
    )
    able = {"canGetAndSetFMUstate": "true", "canSerializeFMUstate": "true"}
    able |= {"providesDirectionalDerivative": "true"} if component.rates is not None else {}
    kinds = {"ModelExchange": able} if component.rates is not None else {}
    kinds["CoSimulation"] = able | {"canHandleVariableCommunicationStepSize": "true", "canInterpolateInputs": "false"}
    for kind, attributes in kinds.items():
        element = xml.SubElement(root, kind, {"modelIdentifier": identifier, **attributes})
        files = xml.SubElement(element, "SourceFiles")
        for source in sources:
            xml.SubElement(files, "File", name=source)
    found = scalars(component)
    used = list(dict.fromkeys(x.unit for x in found if x.unit))
    if used:
        units = xml.SubElement(root, "UnitDefinitions")
        for unit in used:
            element = xml.SubElement(units, "Unit", name=unit)
            if unit in UNITS:
                xml.SubElement(element, "BaseUnit", {key: str(x) for key, x in UNITS[unit].items()})
    xml.SubElement(root, "DefaultExperiment", startTime="0", stepSize=repr(component.period))
    variables = xml.SubElement(root, "ModelVariables")
    for scalar in found:
        variables.append(variable(scalar, component.rates is not None))
    root.append(structure(component, found))
    xml.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + xml.tostring(root, encoding="unicode") + "\n"


def variable(scalar: Scalar, continuous: bool) -> xml.Element:
    """A ScalarVariable."""
    element = xml.Element("ScalarVariable", name=plain(scalar.name), valueReference=str(scalar.reference))
    if scalar.about:
        element.set("description", plain(scalar.about))
    element.set("causality", scalar.causality)
    element.set("variability", scalar.variability)
    if scalar.causality in ("output", "local"):
        element.set("initial", "exact" if scalar.start is not None else "calculated")
    if scalar.integer:
        xml.SubElement(element, "Integer")
        return element
    real = xml.SubElement(element, "Real")
    if scalar.unit:
        real.set("unit", scalar.unit)
    if scalar.derivative_of is not None:
        real.set("derivative", str(scalar.derivative_of))
    if scalar.start is not None:
        real.set("start", repr(scalar.start))
    return element


def structure(component: Component, found: list[Scalar]) -> xml.Element:
    """The element ModelStructure: outputs, derivatives and initial unknowns, each with all dependencies."""
    root = xml.Element("ModelStructure")
    outputs = [k for k, x in enumerate(found, 1) if x.causality == "output"]
    derivatives = [k for k, x in enumerate(found, 1) if x.derivative_of is not None]
    calculated = [k for k, x in enumerate(found, 1) if x.causality in ("output", "local") and x.start is None]
    for name, chosen in (("Outputs", outputs), ("Derivatives", derivatives), ("InitialUnknowns", calculated)):
        if chosen:
            element = xml.SubElement(root, name)
            for k in sorted(chosen):
                xml.SubElement(element, "Unknown", index=str(k))
    return root


def plain(text: str) -> str:
    """A text that XML can hold."""
    return harmless(text)[:200]
