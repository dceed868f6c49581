"""The limits that the accuracy of the predictor has to meet, and which of them a benchmark meets."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hpcbench.predict.evaluation.choices import BEST, Choice
from hpcbench.predict.evaluation.scores import ALL, Score


@dataclass(frozen=True)
class Limit:
    """The largest MAPE, and median, of the tests with this beginning of a file, quantity, part and devices."""

    name: str
    file: str
    quantity: str
    devices: str  # a beginning
    mape: float
    median: float = math.inf
    part: str = ALL

    def applies_to(self, score: Score) -> bool:
        """Return whether this is the limit of a score, and the score has rows."""
        of_test = score.file.startswith(self.file) and score.quantity == self.quantity and score.part == self.part
        return of_test and score.devices.startswith(self.devices) and score.rows > 0


LIMITS = (
    Limit("operators, seen NVIDIA GPU", "operators_time.", "latency_ms", "seen NVIDIA", 11, 7),
    Limit("operators, seen AMD GPU", "operators_time.", "latency_ms", "seen AMD", 11, 7),
    Limit("operators in low precision, seen GPU", "operators_time_low", "latency_ms", "seen", 11, 7),
    Limit("operators, unseen NVIDIA GPU", "operators_time.", "latency_ms", "unseen NVIDIA", 18, 12),
    Limit("operators, unseen AMD GPU", "operators_time.", "latency_ms", "unseen AMD", 18, 12),
    Limit("operators in low precision, unseen NVIDIA GPU", "operators_time_low", "latency_ms", "unseen", 18, 12),
    Limit("operators, 20 measured, NVIDIA GPU", "operators_time.", "latency_ms", "20 rows NVIDIA", 12, 7),
    Limit("operators, 20 measured, AMD GPU", "operators_time.", "latency_ms", "20 rows AMD", 12, 7),
    Limit("transformers, seen NVIDIA GPU, unseen network", "networks_time_tr", "time_ms", "seen NVIDIA", 6.5),
    Limit("transformers, seen AMD GPU, unseen network", "networks_time_tr", "time_ms", "seen AMD", 6.5),
    Limit("transformers, unseen NVIDIA GPU", "networks_time_tr", "time_ms", "unseen NVIDIA", 8),
    Limit("transformers, unseen NVIDIA, training", "networks_time_tr", "time_ms", "unseen NVIDIA", 8, part="training"),
    Limit("transformers, unseen AMD GPU", "networks_time_tr", "time_ms", "unseen AMD", 11),
    Limit("transformers, fused", "networks_time_tr", "time_ms", "unseen NVIDIA", 13, part="compiled"),
    Limit("torchvision, unseen GPU", "networks_time_torch", "time_ms", "unseen", 20),
    Limit("timm, unseen family, GPU", "networks_time_timm", "time_ms", "seen NVIDIA", 13),
    Limit("timm, unseen family, CPU", "networks_time_timm", "time_ms", "seen Intel", 16),
    Limit("power of operators, seen GPU", "operators_power", "power_w", "seen", 10),
    Limit("power of operators, unseen GPU", "operators_power", "power_w", "unseen", 20),
    Limit("energy of operators, seen GPU", "operators_power", "energy_mj", "seen", 15),
    Limit("energy of operators, unseen GPU", "operators_power", "energy_mj", "unseen", 30),
    Limit("energy of networks, seen GPU, highest clock", "networks_energy_inf", "energy_j", "seen", 10,
          part="highest clock"),
    Limit("energy of networks, seen GPU, all clocks", "networks_energy_inf", "energy_j", "seen", 12),
    Limit("energy of networks, unseen GPU", "networks_energy_inf", "energy_j", "unseen", 22),
    Limit("power of networks, unseen GPU", "networks_energy_inf", "power_w", "unseen", 15),
)  # fmt: skip
_PAIRS, _CLOSE = 0.95, 0.85
_REGRETS = {"best clock": 2.0, "best power limit": 5.0}  # percent
_BEST, _BEST_BY_ENERGY = 0.95, 0.90
_SEEN, _UNSEEN, _WORST, _WIDTHS = (0.87, 0.95), 0.85, 0.75, {"seen": 0.6, "unseen": 1.2}


def acceptance(found: Sequence[Score], unseen: Sequence[Choice], seen: Sequence[Choice]) -> Iterator[str]:
    """Yield a line per limit that the data allow to check: the figure, the limit, and whether it is met.

    `unseen` are choices among devices that were left out, and `seen` those for networks that were.
    """
    yield "\nacceptance"
    for limit in LIMITS:
        for each in found:
            if limit.applies_to(each):
                met = each.mape <= limit.mape and each.median_ape <= limit.median
                median = f" ({limit.median:g})" if limit.median < math.inf else ""
                figure = f"{each.mape:.1f} ({each.median_ape:.1f})"
                yield _line(f"{limit.name} [{each.devices}]", figure, f"<= {limit.mape:g}{median} %", met)
    yield from _of_choices(unseen, "unseen")
    yield from _of_choices(seen, "seen")
    yield from _of_intervals(found)


def _of_choices(found: Sequence[Choice], devices: str) -> Iterator[str]:
    for each in found:
        name = f"{each.question}: {each.file} {each.quantity} [{devices}]"
        most, least = _REGRETS.get(each.question), _least_right(each)
        if most is not None:
            yield _line(name, f"regret {each.regret:.1f}", f"<= {most:g} %", each.regret <= most)
        elif least is not None:
            yield _line(name, f"{each.right:.1%} of {each.choices}", f">= {least:.0%}", each.right >= least)


def _least_right(choice: Choice) -> float | None:
    """Return the least fraction of right choices; None for a question without a limit."""
    if choice.question == BEST:
        return _BEST_BY_ENERGY if choice.quantity.startswith("energy") else _BEST
    if choice.question.startswith("order") and choice.file.startswith("networks_time_torch"):
        return _CLOSE if "within" in choice.question else _PAIRS
    return None


def _of_intervals(found: Sequence[Score]) -> Iterator[str]:
    for each in found:
        kind = each.devices.split()[0]
        if each.part != ALL or kind not in _WIDTHS or math.isnan(each.coverage):
            continue
        lowest, highest = _SEEN if kind == "seen" else (_UNSEEN, 1.0)
        worst = math.isnan(each.worst_coverage) or each.worst_coverage >= _WORST
        met = lowest <= each.coverage <= highest and worst and each.width <= _WIDTHS[kind]
        figure = f"{each.coverage:.2f}, worst {each.worst_coverage:.2f}, width {each.width:.2f}"
        limit = f"{lowest}-{highest}, >= {_WORST}, <= {_WIDTHS[kind]}"
        yield _line(f"intervals: {each.file} {each.quantity} [{each.devices}]", figure, limit, met)


def _line(name: str, figure: str, limit: str, met: bool) -> str:
    return f"  {name:76} {figure:32} {limit:26} {'met' if met else 'MISSED'}"
