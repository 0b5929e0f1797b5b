"""Reports: a result as one self-contained HTML page, with robot, settings, figures, tables, warnings and provenance."""

from ..tables import Table as Table
from .content import Content as Content, content as content
from .detections import detection_content as detection_content
from .linear_models import linear_content as linear_content
from .motor_tables import motor_content as motor_content
from .rotor_models import rotor_content as rotor_content
from .simulations import run_content as run_content
from .studies import study_content as study_content
from .write import check_report_path as check_report_path, write_report as write_report
