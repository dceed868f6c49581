"""Profiles of operators as JSON, for programs. docs/reference/report-json.md describes the structure."""

from __future__ import annotations

from typing import Any

from hpcbench.analysis.profiles.step_profile import StepProfile
from hpcbench.analysis.results import Results

_COLUMNS = (
    *("kind", "operator", "phase", "arguments", "calls_per_step", "call_s", "timed", "step_s", "share", "hot_s"),
    *("cold_s", "stream_s", "in_network_s", "host_s", "flops_per_s", "intensity_flops_per_byte", "joules_per_step"),
    "reason",
)


def profiles_json(results: Results) -> list[dict[str, Any]]:
    """Return the profile of each case: sums, overhead, energy, and its operators, also by kind; null is unknown."""
    return [_profile(profile) for profile in results.profiles]


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
