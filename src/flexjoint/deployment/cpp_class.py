"""The C++17 class around an exported component."""

from __future__ import annotations

from .c_code import filled

TEXT = """\
#pragma once

#include "@NAME@.h"

/* A component with its state; a copy goes on independently. */
namespace @NAME@_component {

using State = @NAME@_state;
using Parameters = @NAME@_parameters;
using Input = @NAME@_input;
using Output = @NAME@_output;

class Component {
public:
    static constexpr double period = @MACRO@_PERIOD;

    Component() noexcept { @NAME@_defaults(&parameters); reset(); }

    /* Forgets all samples; parameters stay. */
    void reset() noexcept { @NAME@_init(&state_); flags_ = 0; }

    /* One step; flags() then tells what happened. */
    [[nodiscard]] Output step(const Input &input) noexcept
    {
        Output output{};
        flags_ = @NAME@_step(&state_, &parameters, &input, &output);
        return output;
    }

    [[nodiscard]] int flags() const noexcept { return flags_; }
    [[nodiscard]] const State &state() const noexcept { return state_; }

    Parameters parameters{}; /* may change between two steps */

private:
    State state_{};
    int flags_ = 0;
};

}  /* namespace @NAME@_component */
"""


def cpp_header(name: str) -> str:
    """The text of NAME.hpp."""
    return filled(TEXT, {"NAME": name, "MACRO": name.upper()})
