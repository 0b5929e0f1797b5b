"""Controllers, observers, detectors and plants for machines without Python: C, C++, FMUs, and a robot over the wire."""

from ..boundary import public
from .algorithm_component import algorithm_component as algorithm_component
from .component import Component as Component
from .export import export_component as export_component
from .fmu.export import export_fmu as export_fmu
from .online_loop import online_loop as online_loop
from .plant_component import plant_component as plant_component
from .samples import Flag as Flag
from .serve import serve as serve
from .served import MotorFault as MotorFault, Served as Served

public(__name__)
