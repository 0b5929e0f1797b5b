"""Reports: a result as one self-contained HTML page, with robot, settings, figures, tables, warnings and provenance."""

from ..boundary import public
from ..tables import Table as Table
from . import (
    detections as detections,
    identifications as identifications,
    linear_models as linear_models,
    motor_tables as motor_tables,
    records as records,
    robustness as robustness,
    rotor_models as rotor_models,
    simulations as simulations,
    studies as studies,
    vibrations as vibrations,
)
from .content import Content as Content, content_of as content_of
from .write import check_report_path as check_report_path, write_report as write_report

public(__name__)
