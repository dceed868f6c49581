"""The result of a search, in the quantity that was tuned."""

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
    """What the full grid shows. `best` is the configuration that all of its measurements choose.

    `slower` is the cost of the recommended configuration over that of the grid's choice, by measurements that did not
    make the choice. It is None if the configuration `failed` in the grid, or if each was measured once.
    """

    best: ConfigurationResult
    slower: Interval | None
    beats: int
    of: int
    failed: bool = False


@dataclass(frozen=True)
class Recommendation:
    """The recommended configuration: `best` is the default unless another one is significantly better.

    `gain` is that of `winner` over the default, from so many `pairs`. `beats` counts the other configurations, `of`
    those measured, that seem worse; most were measured briefly. `usage` is how to use the best outside hpcbench.
    `differs` has what differs between the work of the best and of the default: both values, by name. `inherited` are
    variables of threads that the default had from the environment, though the experiment does not set them.
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
    differs: Mapping[str, tuple[Any, Any]] = field(default_factory=dict)
    inherited: Mapping[str, str] = field(default_factory=dict)

    @property
    def share_beaten(self) -> float | None:
        """The fraction of the other configurations that are worse; None if there are no others."""
        return self.beats / self.of if self.of else None


@dataclass(frozen=True)
class HeldOutResult:
    """The gain of a thread plan over the best fixed configuration at a shape that it was not made for.

    `why` says why one of them could not be measured there.
    """

    shape: Mapping[str, Any]
    gain: Interval | None
    certain: bool
    why: str | None = None


@dataclass(frozen=True)
class ScheduleResult:
    """The gain of a per-layer thread plan over the best fixed configuration.

    `schedule` is its file in the workspace; `why` says why there is none. If its gain is not `certain`,
    `held_out_left` shapes were not measured. `seconds` is the time of its measurements, `fixed_threads` the best
    single count of one process, if known.
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
    """A configuration that failed at least once, and why."""

    case: str
    parameters: Mapping[str, Any]
    why: str


@dataclass(frozen=True)
class TuningResult:
    """The result of one context. `answer` is None if no configuration could be measured.

    `seconds` is the time of all `measurements`, of which so many were `disturbed` by interference. `grid_seconds` is
    the time of the full grid, by the full measurements so far; None without any.
    """

    title: str
    settings: int
    answer: Recommendation | None
    failed: tuple[Failure, ...]
    seconds: float
    measurements: int
    disturbed: int
    grid_seconds: float | None
    grid: GridResult | None = None
    by_section: ScheduleResult | None = None  # if the experiment asks for `threads: dynamic`
