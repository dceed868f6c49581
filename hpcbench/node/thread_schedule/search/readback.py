"""Read back the thread counts of the sections in the first step that follows a schedule."""

from functools import partial
from typing import Any, Callable, List, NamedTuple, Optional, Sequence

from .. import Applied, Section
from ..hooks import on_begin
from .sections import Refused, Step, read_back


class Followed(NamedTuple):
    """The applied schedule, and the count that was read back at the end of each section."""

    applied: Applied
    counts: List[int]  # at the end of each section that has run


def follow(model: Any, sections: Sequence[Section], apply: Callable[[], Applied], step: Step) -> Followed:
    """Apply a schedule of these sections by `apply`, and take a step.

    Raise Refused if the step does not follow the schedule, and the exceptions of `apply`; then the schedule is removed.
    """
    reader = _Reader(model, sections)  # before the schedule, so that a section ends before the next one sets its count
    try:
        applied = apply()
        try:
            step()
            reader.end()
        except BaseException:
            applied.remove()
            raise
    finally:
        reader.close()
    return Followed(applied, reader.counts)


class _Reader:
    """Read the count back at the end of every section of a step."""

    def __init__(self, model: Any, sections: Sequence[Section]) -> None:
        self._sections = sections
        self._running: Optional[int] = None  # the section
        self.counts: List[int] = []
        modules = dict(model.named_modules())
        self._hooks: List[Any] = []
        for number, section in enumerate(sections):
            if section.module in modules:  # otherwise the schedule is for another model, and will be refused
                self._hooks += on_begin(modules[section.module], section.phase, partial(self._enter, number))

    def _enter(self, number: int) -> None:
        self._leave()
        if self._running is not None and number < self._running:
            values = (_named(self._sections[number]), _named(self._sections[self._running]))
            raise Refused("its blocks run in another order than in the schedule: %s came after %s" % values)
        self._running = number

    def _leave(self) -> None:
        if self._running is not None:
            section = self._sections[self._running]
            self.counts.append(read_back(section.module, section.threads))

    def end(self) -> None:
        """End a step."""
        self._leave()
        if not self.counts:
            raise Refused("none of the layer groups of the schedule has run")

    def close(self) -> None:
        for hook in self._hooks:
            hook.remove()


def _named(section: Section) -> str:
    return "%s of %s" % (section.phase, section.module)
