"""Apply a schedule to a model."""

import os
import threading
import warnings
from functools import partial
from typing import Any, ClassVar, List, Optional, Tuple, Union

import torch

from . import cpus
from .branches import ConcurrentBranches, why_not
from .compiled import compiled_in, refuse_compiled
from .file import Schedule, Section, fingerprint, read, refusal
from .hooks import on_begin
from .module_paths import is_in

_MAKE_ANEW = "find one for this model: by find_schedule, or a case with `threads: dynamic` and no `schedule`"


def apply_schedule(
    model: Any, schedule: "Union[str, os.PathLike[str], Schedule]", *, oversubscribe: bool = False
) -> "Applied":
    """Follow a schedule, or the one in a file, from the next step until `remove()` or the end of a `with` block.

    Raise OSError if the file cannot be read. Raise ValueError if the schedule is damaged or made for another model, if
    the model, or a module in which a section begins, is compiled (a compiled graph has no sections), and, unless
    `oversubscribe`, if it has more threads than this process has CPUs or CPU quota.
    """
    where = "the schedule"
    if not isinstance(schedule, Schedule):
        where = os.fspath(schedule)
        schedule = read(where)
    refuse_compiled(model, "%s cannot be applied" % where)
    modules = dict(model.named_modules())
    if fingerprint(model) != schedule.fingerprint:
        raise refusal(where, "it belongs to another model: modules or shapes differ; %s" % _MAKE_ANEW)
    over = None if oversubscribe else cpus.too_few_for(max(section.threads for section in schedule.sections))
    if over:
        raise refusal(where, "it requires %s" % over)
    closed = compiled_in(modules)
    for section in schedule.sections:
        if section.module not in modules:
            raise refusal(where, "the model has no module %s" % section.module)
        for path in closed:
            if section.module == path or is_in(section.module, path):
                raise refusal(where, "the module %s is compiled, and a compiled graph has no layer groups" % path)
        missing = why_not(modules[section.module], section.branches) if section.branches else None
        if missing:
            raise refusal(where, "the module %s %s" % (section.module, missing))
    return Applied(model, schedule)


class Applied:
    """A schedule applied to a model. It warns once if other code sets thread counts, too."""

    _of_thread: ClassVar[Any] = threading.local()  # schedules in force that this thread has applied, the newest last
    _last: ClassVar[Any] = threading.local()  # per thread, as thread counts are: the section that set it

    def __init__(self, model: Any, schedule: Schedule) -> None:
        self._before = torch.get_num_threads()
        self._together: List[Applied] = Applied._of_thread.__dict__.setdefault("applied", [])
        self._together.append(self)
        self._in_force, self._warned = True, False
        Applied._last = threading.local()
        modules = dict(model.named_modules())
        self._hooks: List[Any] = []
        self._concurrent = ConcurrentBranches(model)
        try:
            for section in _changing(schedule.sections):
                self._hooks += on_begin(modules[section.module], section.phase, partial(self._begin, section))
            self._concurrent.apply(
                {each.module: (each.branches, each.threads) for each in schedule.sections if each.branches}
            )
        except BaseException:  # for example, if no more threads can start
            self.remove()
            raise

    def remove(self) -> None:
        """Restore the model, and the thread count of the calling thread if that thread applied the schedule.

        Further calls have no effect.
        """
        if not self._in_force:
            return
        self._in_force = False
        Applied._last = threading.local()
        for hook in self._hooks:
            hook.remove()
        self._concurrent.apply({})
        place = self._together.index(self)
        del self._together[place]
        if place < len(self._together):  # a later one is in force: it will restore the count of this one
            self._together[place]._before = self._before
        elif Applied._of_thread.__dict__.get("applied") is self._together:  # this thread has applied it
            torch.set_num_threads(self._before)

    def _begin(self, section: Section) -> None:
        if not self._in_force:  # copies of the model have its hooks, too
            return
        effective = torch.get_num_threads()
        last: Optional[Section] = getattr(Applied._last, "section", None)
        if last is not None and effective != last.threads and not self._warned:
            self._warned = True
            _warn(last, section, effective)
        if effective != section.threads:  # setting it empties oneDNN's cache, even if the count is the same
            torch.set_num_threads(section.threads)
        Applied._last.section = section

    def __enter__(self) -> "Applied":
        return self

    def __exit__(self, *error: Any) -> None:
        self.remove()


def _warn(last: Section, begins: Section, effective: int) -> None:
    values = (last.threads, last.module, last.phase, effective, begins.module, begins.phase)
    what = "the schedule set %d threads for %r (%s), and there are %d when %r (%s) begins" % values
    advice = "other code sets threads: remove its torch.set_num_threads, or do not apply the schedule"
    warnings.warn("%s: %s" % (what, advice), RuntimeWarning, stacklevel=3)


def _changing(sections: Tuple[Section, ...]) -> List[Section]:
    """Return the sections that need hooks: those that change the count, and the first of each phase.

    The first one sets the count at every step, so that a step that ended by an exception does not affect the next.
    """
    kept = []
    for place, section in enumerate(sections):
        before = sections[place - 1]
        if place == 0 or before.threads != section.threads or before.phase != section.phase:
            kept.append(section)
    return kept
