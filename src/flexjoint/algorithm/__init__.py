"""`@algorithm`: what a public function takes and gives, and how a call finds its kernel."""

from ..boundary import public
from .algorithm import Algorithm as Algorithm
from .casadi_function import casadi_function as casadi_function, casadi_search as casadi_search
from .compile import compile as compile
from .configuration import show_config as show_config
from .export import export_c as export_c

public(__name__)
