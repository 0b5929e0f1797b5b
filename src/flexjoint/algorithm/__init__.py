"""`@algorithm`: what a public function takes and gives, and how a call finds its kernel."""

from .algorithm import Algorithm as Algorithm
from .compile import compile as compile
from .configuration import show_config as show_config
from .export import export_c as export_c
