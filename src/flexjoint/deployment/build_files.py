"""Build files of an exported component: Makefile, CMakeLists.txt, pkg-config."""

from __future__ import annotations

from ..compiler.c.export import FMA_FLAGS
from .c_code import filled

MAKEFILE = """\
CC ?= cc
CFLAGS ?= -O2

@FMA@
.PHONY: check stack instructions clean

check: check_program
\t./check_program

check_program: check.c @NAME@.h @NAME@.o
\t$(CC) $(CFLAGS) $(FLAGS) -o $@ check.c @NAME@.o@LIBRARIES@

@NAME@.o: @NAME@.c @NAME@.h
\t$(CC) $(CFLAGS) $(FLAGS)@FLAGS@ -c -o $@ @NAME@.c

# Stack of each function in bytes, as GCC computes it.
stack: @NAME@.c @NAME@.h
\t$(CC) $(CFLAGS) $(FLAGS)@FLAGS@ -fstack-usage -c -o @NAME@.o @NAME@.c
\tcut -f 1,2 @NAME@.su

# Instructions of all steps of the check, the same for every input; needs valgrind.
instructions: check_program
\tvalgrind --tool=callgrind --callgrind-out-file=callgrind.out --toggle-collect=@NAME@_step ./check_program

clean:
\trm -f check_program @NAME@.o @NAME@.su callgrind.out
"""

CMAKE = """\
cmake_minimum_required(VERSION 3.16)
project(@NAME@ VERSION 1.0 LANGUAGES C)
include(CTest)
include(GNUInstallDirs)

# The multiply-add is one instruction with FMA and a slow library function without; results have the same bits.
option(FMA "Use multiply-add instructions of x86-64" ON)

add_library(@NAME@ @NAME@.c)
target_include_directories(@NAME@ PUBLIC $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}>
  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
set_target_properties(@NAME@ PROPERTIES C_STANDARD 99 C_EXTENSIONS OFF POSITION_INDEPENDENT_CODE ON)
# No multiply-adds beyond those in the code: each would round once where the code rounds twice.
target_compile_options(@NAME@ PRIVATE $<$<NOT:$<C_COMPILER_ID:MSVC>>:-ffp-contract=off>@FLAGS@)
if(FMA AND CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64" AND NOT MSVC)
  target_compile_options(@NAME@ PRIVATE -mfma)
endif()
if(UNIX)
  target_link_libraries(@NAME@ PUBLIC m)
endif()

if(BUILD_TESTING)
  add_executable(@NAME@_check check.c)
  target_link_libraries(@NAME@_check PRIVATE @NAME@)
  add_test(NAME @NAME@_check COMMAND @NAME@_check)
endif()

configure_file(@NAME@.pc.in @NAME@.pc @ONLY)
install(TARGETS @NAME@)
install(FILES @NAME@.h @NAME@.hpp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/@NAME@.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
"""

PKG_CONFIG = """\
prefix=@CMAKE_INSTALL_PREFIX@
libdir=${prefix}/@CMAKE_INSTALL_LIBDIR@
includedir=${prefix}/@CMAKE_INSTALL_INCLUDEDIR@

Name: @NAME@
Description: @ABOUT@
Version: 1.0
Libs: -L${libdir} -l@NAME@ -lm
Cflags: -I${includedir}
"""


def makefile(name: str, freestanding: bool) -> str:
    """The text of the Makefile."""
    flags = " -ffreestanding -fno-math-errno" if freestanding else ""
    libraries = "" if freestanding else " -lm"
    return filled(MAKEFILE, {"FMA": FMA_FLAGS, "NAME": name, "LIBRARIES": libraries, "FLAGS": flags})


def cmake_lists(name: str, freestanding: bool) -> str:
    """The text of CMakeLists.txt."""
    flags = "\n  -ffreestanding -fno-math-errno" if freestanding else ""
    return CMAKE.replace("@NAME@", name).replace("@FLAGS@", flags)


def pkg_config(name: str, about: str) -> str:
    """The text of NAME.pc.in, which CMake fills."""
    plain = "".join(x if x.isascii() and x.isprintable() and x not in "@$" else " " for x in about)[:200]
    return PKG_CONFIG.replace("@NAME@", name).replace("@ABOUT@", plain)
