"""The one compiled part, optional: without a C compiler flexjoint installs and calls its kernels through ctypes.

FLEXJOINT_EXTENSION=required makes a failed build an error, as released wheels need it.
"""

import os

import numpy
from setuptools import Extension, setup

setup(
    ext_modules=[
        Extension(
            "flexjoint.compiler.runtime._call",
            ["src/flexjoint/compiler/runtime/_call.c"],
            depends=[f"src/flexjoint/compiler/runtime/{name}" for name in ("_kernel.h", "_stack.h", "_batch.h")],
            include_dirs=[numpy.get_include()],
            define_macros=[("NPY_NO_DEPRECATED_API", "NPY_2_0_API_VERSION")],
            optional=os.environ.get("FLEXJOINT_EXTENSION") != "required",
        )
    ]
)
