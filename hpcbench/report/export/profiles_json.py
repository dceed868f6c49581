"""Profiles of operators as JSON, for programs. docs/reference/report-json.md describes the structure."""

from __future__ import annotations

from typing import Any

from hpcbench.analysis.profiles.clock_states import ClockState, Value
from hpcbench.analysis.profiles.step_profile import StepProfile
from hpcbench.analysis.results import Results
from hpcbench.core.typed_json import to_json

_COLUMNS = (
    *("kind", "operator", "phase", "arguments", "calls_per_step", "call_s", "timed", "step_s", "share", "hot_s"),
    *("cold_s", "stream_s", "in_network_s", "host_s", "flops_per_s", "intensity_flops_per_byte", "joules_per_step"),
    *("joules_uncertainty", "power_w", "power_uncertainty_w", "clock_moved", "reason", "power_reason"),
)


def profiles_json(results: Results) -> list[dict[str, Any]]:
    """Return the profile of each case and state: sums, overhead, energy, operators, also by kind; null is unknown."""
    return [_profile(profile) for profile in results.profiles_of_states]


def clock_states_json(results: Results) -> list[dict[str, Any]]:
    """Return the step of each case with several states of its device by state; null is unknown."""
    return [
        {
            "sweep": case.sweep,
            "case": case.case,
            "device": case.device,
            "fastest": [each.state for each in case.fastest],
            "least_energy": [each.state for each in case.most_efficient],
            "states": [_state(each) for each in case.states],
        }
        for case in results.clock_states
    ]


def _state(state: ClockState) -> dict[str, Any]:
    return {
        "state": state.state,
        **to_json(state.requested),
        "runs": state.runs,
        "clock_mhz": state.clock_mhz,
        "clock_moved": state.clock_moved,
        **_value("step_time_s", state.step_s),
        **_value("power_w", state.power_w),
        **_value("joules_per_step", state.joules_per_step),
        "energy_unknown_because": state.no_energy,
    }


def _value(name: str, value: Value | None) -> dict[str, float | None]:
    median, low, high = value or (None, None, None)
    return {name: median, f"{name}_low": low, f"{name}_high": high}


def _profile(profile: StepProfile) -> dict[str, Any]:
    return {
        "sweep": profile.sweep,
        "case": profile.case,
        "device": profile.device,
        "device_state": profile.state or None,
        "runs": profile.runs,
        "step_time_s": profile.network_s,
        "sum_of_operators_s": profile.sum_s,
        "framework_overhead": profile.overhead,
        "sums": {name: each._asdict() for name, each in profile.sums.items()},
        "joules_per_step": profile.joules_per_step,
        "energy_covers": profile.energy_covers,
        "energy_unknown_because": profile.no_energy,
        "kinds": profile.kinds.to_dict("records"),
        "not_timed_alone": profile.not_alone.to_dict("records"),
        "operators": profile.operators[list(_COLUMNS)].to_dict("records"),
    }
