"""Resource usage of a sweep in a sentence."""

from __future__ import annotations

from hpcbench.collect.resource_usage import Used
from hpcbench.report.text.numbers import figure
from hpcbench.util.text import plural


def use_in_words(used: Used) -> str:
    """Return a sentence such as `lstm used 1.2 node-hours (38 core-hours) in 130 attempts, 0.46 EUR; ...`."""
    hours = [f"{figure(used.core_hours)} core-hours"]
    hours += [f"{figure(used.gpu_hours)} GPU-hours"] if used.gpu_hours else []
    least = "at least " if used.unknown else ""
    attempts = plural(used.attempts, "attempt")
    lines = [f"{used.sweep} used {least}{figure(used.node_hours)} node-hours ({', '.join(hours)}) in {attempts}"]
    if used.currency and used.price.amount is not None:
        lines[0] += f", {figure(used.price.amount)} {used.currency}"
    elif used.currency:
        lines.append(f"its price is unknown: {used.price.reason}")
    if used.energy_kwh is not None:
        lines.append(_energy(used))
    if used.untimed:
        lines.append(f"{used.untimed:,} more without times are not included")
    return "; ".join(lines)


def _energy(used: Used) -> str:
    emitted = "" if used.co2e_g is None else f", {figure(used.co2e_g)} g CO2e"
    metered = f"{figure(used.energy_kwh or 0.0)} kWh ({', '.join(used.energy_scopes)}){emitted}"
    return f"{metered} were measured, for {100 * used.measured_part:.3g} % of the node-hours"
