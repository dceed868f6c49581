"""Query Slurm for the jobs of runs that have no outcome yet, each by its own ID, and conclude their states."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hpcbench.slurm.accounting import accounted
from hpcbench.slurm.client import NoAnswerError
from hpcbench.slurm.cluster_config import has_accounting
from hpcbench.slurm.job_entry import Element, JobEntry
from hpcbench.slurm.job_lookup import look_up
from hpcbench.slurm.queue import Queue, by_id
from hpcbench.status.evidence import Evidence, JobState, conclude

if TYPE_CHECKING:
    from hpcbench.store.journal import Journal
    from hpcbench.store.sweep import Sweep

MAX_LOOKUPS = 100  # of single elements, in one survey; the others stay unknown until the next one
NOT_ASKED = f"squeue does not list the job; hpcbench queries at most {MAX_LOOKUPS} jobs by ID at a time"


@dataclass(frozen=True)
class JobStates:
    """The state of each element that was asked for.

    `known_arrays` are those of which Slurm reports at least one task. `first_unknown` are tasks that slurmctld does not
    report, if the journal does not contain this yet.
    """

    of: Mapping[Element, JobState] = field(default_factory=dict)
    known_arrays: frozenset[str] = frozenset()
    first_unknown: frozenset[Element] = frozenset()
    warnings: tuple[str, ...] = ()


@dataclass
class _Found:
    """The answers so far."""

    controlled: dict[Element, JobEntry]
    words: dict[Element, str] = field(default_factory=dict)
    unknown: set[Element] = field(default_factory=set)
    silent: bool = False  # slurmctld did not respond in time: each further question would take as long
    arrays: set[str] = field(default_factory=set)  # that slurmctld knows, also without an index: it was cancelled


def ask_for(
    sweep: Sweep,
    journal: Journal,
    owners: Mapping[Element, int],
    changed_at: Mapping[Element, float],
    queue: Queue,
    config: Mapping[str, str],
) -> JobStates:
    """Return the state of elements, by the users who submitted them.

    `queue` is what squeue lists, `config` the configuration of the cluster. Elements that squeue does not list are
    asked for in the accounting, and one by one. `changed_at` is the latest change of the files of their runs.
    """
    cluster, now, delay_s = sweep.other_cluster, time.time(), sweep.site.limits.record_delay_s
    found = _Found({element: entry for element, entry in queue.entries.items() if element in owners})
    missing = {element for element, uid in owners.items() if element not in found.controlled and uid == os.getuid()}
    _ask_arrays(missing, found, cluster)
    missing -= found.controlled.keys()
    accounting, warning = _ask_accounting(missing, config, cluster)
    open_questions = missing - found.unknown - {element for element, entry in accounting.items() if entry.ended}
    _ask_elements(sorted(open_questions), found, cluster)
    purged_by, states, first_unknown = _purged_by(config, now), {}, set()
    for element, uid in owners.items():
        unknown_since = None
        if element in found.unknown:
            seen = journal.unknown_since.get(element[0], {}).get(element[1])
            unknown_since = min(purged_by, now if seen is None else seen)
            first_unknown |= {element} if seen is None else set()
        states[element] = conclude(
            Evidence(
                uid,
                found.controlled.get(element),
                accounting.get(element),
                unknown_since,
                changed_at.get(element),
                bool(warning),
                found.words.get(element, queue.complaint),
            ),
            os.getuid(),
            now,
            delay_s,
        )
    known = found.arrays.union(array for array, _ in (*queue.entries, *found.controlled, *accounting))
    return JobStates(states, frozenset(known), frozenset(first_unknown), (warning,) if warning else ())


def _ask_arrays(missing: set[Element], found: _Found, cluster: str | None) -> None:
    """Query slurmctld for the array of each missing element, which may be unknown, or missing in a truncated list."""
    for array_id in sorted({array for array, _ in missing}, key=int):
        elements = {element for element in missing if element[0] == array_id}
        answer = look_up(array_id, cluster)
        found.words.update(dict.fromkeys(elements, answer.words))
        if answer.has_timed_out:
            found.silent = True
            found.words.update((element, answer.words) for element in missing if element not in found.words)
            return
        if answer.is_unknown:
            found.unknown |= elements
            continue
        found.arrays |= {array_id} if answer.entry is not None else set()
        try:
            listed = by_id([array_id], cluster)
        except NoAnswerError as error:
            found.words.update(dict.fromkeys(elements, error.what))
            continue
        found.controlled.update((element, listed.entries[element]) for element in elements & listed.entries.keys())


def _ask_accounting(
    missing: set[Element], config: Mapping[str, str], cluster: str | None
) -> tuple[dict[Element, JobEntry], str]:
    """Return what the accounting has on elements, and a warning if it fails."""
    if not missing or not has_accounting(config):
        return {}, ""
    try:
        return accounted(missing, cluster), ""
    except NoAnswerError as error:
        return {}, f"{error.what}; the outcome of jobs without a record is still unknown"


def _ask_elements(elements: Sequence[Element], found: _Found, cluster: str | None) -> None:
    if found.silent:
        return
    found.words.update(dict.fromkeys(elements[MAX_LOOKUPS:], NOT_ASKED))
    for place, element in enumerate(elements[:MAX_LOOKUPS]):
        answer = look_up(f"{element[0]}_{element[1]}", cluster)
        if answer.has_timed_out:
            found.words.update(dict.fromkeys(elements[place:], answer.words))
            return
        found.words[element] = answer.words
        if answer.is_unknown:
            found.unknown.add(element)
        elif answer.entry is not None:
            found.controlled[element] = answer.entry


def _purged_by(config: Mapping[str, str], now: float) -> float:
    """Return the latest time at which a job unknown to slurmctld can have ended: slurmctld keeps jobs for MinJobAge."""
    age = config.get("MinJobAge", "").partition(" ")[0]
    return now - int(age) if age.isdecimal() else now
