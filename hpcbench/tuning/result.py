"""What a search has found out, in the quantity that was tuned."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hpcbench.analysis.stats.intervals import Interval
from hpcbench.tuning.how_to_apply import Usage


@dataclass(frozen=True)
class Setting:
    """One setting with its parameters by name, the median of its full measurements, and their 95 % interval."""

    case: str
    parameters: Mapping[str, Any]
    value: Interval | None  # None where it was not measured as the experiment asks


@dataclass(frozen=True)
class Grid:
    """What the full grid says: `slower` is how many times as much the setting that was found costs as what the grid
    chooses, told by measurements that did not choose it, and None where it has `failed` or each was measured once;
    `best` is what all of them choose.
    """

    best: Setting
    slower: Interval | None
    beats: int
    of: int
    failed: bool = False


@dataclass(frozen=True)
class Answer:
    """`best` is the default unless another setting is certainly better; `gain` is that of `winner` over the default.

    The gain is known from so many `pairs`. `beats` counts the other settings of the `of` measured ones that seem worse:
    most were measured briefly, and what seemed good was measured again. `usage` is how the best is used outside
    hpcbench. `differs` is in what the work of the best is another than the default's: both, by name. `inherited` are
    variables of threads that the default had from the environment, though nobody set them in the experiment: all
    settings had them, but for those that they set themselves.
    """

    best: Setting
    default: Setting
    winner: Setting
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
        """The part of the other settings that are worse; None where there is no other."""
        return self.beats / self.of if self.of else None


@dataclass(frozen=True)
class AtShape:
    """What a schedule gains over the best fixed setting at another shape than the one that it was made at; where one of
    both could not be measured there, `why`."""

    shape: Mapping[str, Any]
    gain: Interval | None
    certain: bool
    why: str | None = None


@dataclass(frozen=True)
class BySection:
    """Threads by section of the network beside the best fixed setting: `schedule` is a file in the workspace, and `why`
    says why there is none. It is to be used where its gain is `certain`; else `held_out_left` shapes were not measured.
    `seconds` is what its measurements took; `fixed_threads` the best single count of one process, if known."""

    schedule: str | None
    why: str | None
    seconds: float
    gain: Interval | None = None
    certain: bool = False
    held_out: tuple[AtShape, ...] = ()
    held_out_left: int = 0
    fixed_threads: int | None = None


@dataclass(frozen=True)
class Failure:
    """A setting that did not complete, or not each time, and why."""

    case: str
    parameters: Mapping[str, Any]
    why: str


@dataclass(frozen=True)
class Finding:
    """Of one kind of work: the `answer`, None where no setting could be measured.

    `seconds` is what all `measurements` took, of which others have `disturbed` so many; `grid_seconds` what the full
    grid takes, at the pace of the full measurements so far, None where there is none.
    """

    title: str
    settings: int
    answer: Answer | None
    failed: tuple[Failure, ...]
    seconds: float
    measurements: int
    disturbed: int
    grid_seconds: float | None
    grid: Grid | None = None
    by_section: BySection | None = None  # where the experiment asks for `threads: dynamic`
