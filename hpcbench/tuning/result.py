"""The result of a search, in units of the optimized quantity."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hpcbench.analysis.stats.intervals import Interval
from hpcbench.tuning.how_to_apply import Usage


@dataclass(frozen=True)
class ConfigurationResult:
    """A configuration: its parameters by name, and the median of its full measurements with its 95 % CI."""

    case: str
    parameters: Mapping[str, Any]
    value: Interval | None  # None if it was not measured in full


@dataclass(frozen=True)
class GridResult:
    """The result of the full grid. `best` is the best configuration by all of its measurements.

    `slower` is the ratio of the cost of the recommended configuration to that of the grid's choice, by measurements
    that did not make the choice. It is None if the configuration `failed` in the grid, or with one run.
    """

    best: ConfigurationResult
    slower: Interval | None
    beats: int
    of: int
    failed: bool = False


@dataclass(frozen=True)
class Recommendation:
    """The recommended configuration: `best` is the default unless another one is significantly better.

    `gain` is the gain of `winner` over the default, from this number of `pairs`; `certain` is True if it is
    significant. `interference` of the runs of these pairs had interference; if these are more than half, no gain is
    significant. `beats` is the number of other configurations that seem worse, of all `of`; most were measured briefly.
    `usage` applies the best outside hpcbench. `differs` has both values of each difference between the work of the best
    and of the default. `inherited` are the variables from outside (core/variables) in the default's runs.
    """

    best: ConfigurationResult
    default: ConfigurationResult
    winner: ConfigurationResult
    gain: Interval | None
    certain: bool
    pairs: int
    beats: int
    of: int
    usage: Usage
    with_interference: int = 0
    differs: Mapping[str, tuple[Any, Any]] = field(default_factory=dict)
    inherited: Mapping[str, str] = field(default_factory=dict)

    @property
    def runs(self) -> int:
        """Return the number of runs of the pairs."""
        return 2 * self.pairs

    @property
    def is_mostly_with_interference(self) -> bool:
        """Return whether more than half of the runs of the pairs had interference."""
        return 2 * self.with_interference > self.runs

    @property
    def share_beaten(self) -> float | None:
        """Return the fraction of the other configurations that seem worse; None if there are no others."""
        return self.beats / self.of if self.of else None


@dataclass(frozen=True)
class HeldOutResult:
    """The gain of a thread plan over the best fixed configuration at a shape for which it was not made.

    `why` is the reason if one of them could not be measured there.
    """

    shape: Mapping[str, Any]
    gain: Interval | None
    certain: bool
    why: str | None = None


@dataclass(frozen=True)
class ScheduleResult:
    """The gain of a per-layer thread plan over the best fixed configuration.

    `schedule` is its file in the workspace; `why` is the reason if it is None. If the gain is not significant
    (`certain`), `held_out_left` shapes were not measured. `seconds` is the duration of the measurements,
    `fixed_threads` the best single thread count of one process, if known.
    """

    schedule: str | None
    why: str | None
    seconds: float
    gain: Interval | None = None
    certain: bool = False
    held_out: tuple[HeldOutResult, ...] = ()
    held_out_left: int = 0
    fixed_threads: int | None = None


@dataclass(frozen=True)
class Failure:
    """A configuration that failed at least once, and the reason."""

    case: str
    parameters: Mapping[str, Any]
    why: str


@dataclass(frozen=True)
class TuningResult:
    """The result of one context. `answer` is None if no configuration could be measured.

    `seconds` is the duration of all `measurements`; `interference` of them had interference. `grid_seconds` is the
    expected duration of the full grid by the full measurements; None without any.
    """

    title: str
    settings: int
    answer: Recommendation | None
    failed: tuple[Failure, ...]
    seconds: float
    measurements: int
    with_interference: int
    grid_seconds: float | None
    grid: GridResult | None = None
    by_section: ScheduleResult | None = None  # if the experiment requests `threads: dynamic`
    model: str | None = None  # None for commands, and for several models
