"""A schedule of threads by section of a PyTorch model: its file, and the hooks that follow it.

This file stands alone: it needs the standard library and torch, and may be copied into a program of your own.

    from hpcbench.node.schedule import apply_schedule

    with apply_schedule(model, "schedule.json"):
        for batch in batches:
            model(batch)

A section begins when the forward of its module begins or, in training, when the gradient of the module's output is
there, which is when its backward begins; it lasts until the next section begins. Counts are set by
`torch.set_num_threads`, which reaches OpenMP, oneDNN and MKL; they hold for the thread that runs the model.
"""

import hashlib
import json
import os
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple, Union

SCHEMA = 1
SETTER = "torch.set_num_threads"
FORWARD, BACKWARD = "forward", "backward"
MOST_BYTES = 4_000_000  # of a file
_MAKE_ANEW = "make a new one with `threads: dynamic`"


class Section(NamedTuple):
    """From here on so many threads compute."""

    module: str  # its path in the model, as of named_modules()
    phase: str
    threads: int


class Schedule(NamedTuple):
    """Sections in the order of a step. `made_for` says of what it was measured, and binds nobody."""

    fingerprint: str
    sections: Tuple[Section, ...]
    made_for: Dict[str, Any]
    setter: str = SETTER

    def as_json(self) -> Dict[str, Any]:
        sections = [section._asdict() for section in self.sections]
        return {"schema": SCHEMA, **self._asdict(), "sections": [dict(each) for each in sections]}


def fingerprint(model: Any) -> str:
    """What the model is made of, not what it has learned: paths, types, and the shapes and dtypes of parameters."""
    lines = []
    for path, module in model.named_modules():
        parameters = [
            "%s %s %s" % (name, tuple(weight.shape), weight.dtype)
            for name, weight in module.named_parameters(recurse=False)
        ]
        lines.append("%s: %s(%s)" % (path, type(module).__name__, ", ".join(parameters)))
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def write(schedule: Schedule, path: str) -> None:
    with open(path, "w", encoding="utf-8") as file:
        json.dump(schedule.as_json(), file, indent=1)
        file.write("\n")


def read(path: str) -> Schedule:
    """The schedule in a file. Raises OSError, and ValueError where it is none."""
    with open(path, "rb") as file:
        text = file.read(MOST_BYTES + 1)
    if len(text) > MOST_BYTES:
        raise _refusal(path, "it has more than %d bytes" % MOST_BYTES)
    try:
        return parse(json.loads(text.decode("utf-8")))
    except (ValueError, RecursionError) as error:
        raise _refusal(path, str(error)) from error


def parse(data: Any) -> Schedule:
    """A schedule from what its file holds. Raises ValueError."""
    if not isinstance(data, dict):
        raise ValueError("it is no object")
    if data.get("schema") != SCHEMA:
        raise ValueError("its schema is %r, and this program knows %d" % (data.get("schema"), SCHEMA))
    if data.get("setter") != SETTER:
        raise ValueError("its setter is %r, and this program knows %s" % (data.get("setter"), SETTER))
    if not isinstance(data.get("fingerprint"), str) or not isinstance(data.get("made_for"), dict):
        raise ValueError("fingerprint or made_for is missing")
    sections = data.get("sections")
    if not isinstance(sections, list) or not sections:
        raise ValueError("it has no sections")
    return Schedule(data["fingerprint"], tuple(_section(each) for each in sections), data["made_for"])


def _section(data: Any) -> Section:
    named = data if isinstance(data, dict) else {}
    section = Section(*(named.get(name) for name in Section._fields))  # type: ignore[arg-type]
    threads = section.threads
    if not isinstance(section.module, str) or section.phase not in (FORWARD, BACKWARD):
        raise ValueError("a section lacks its module or its phase")
    if not isinstance(threads, int) or isinstance(threads, bool) or threads < 1:
        raise ValueError("the section %s has %r threads" % (section.module, threads))
    return section


def usable_cpus() -> int:
    """How many CPUs this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def apply_schedule(model: Any, schedule: "Union[str, os.PathLike[str], Schedule]") -> "Applied":
    """Follow a schedule, or the one in a file, from the next step on, until `remove()` or the end of a `with`.

    Raises OSError where the file cannot be read, and ValueError where the schedule is damaged, of another model, or of
    more threads than this process may use, and where the model is compiled: a compiled graph has no sections.
    """
    where = "the schedule"
    if not isinstance(schedule, Schedule):
        where = os.fspath(schedule)
        schedule = read(where)
    if hasattr(model, "_orig_mod") or hasattr(model, "_c"):
        raise _refusal(where, "the model is compiled: apply it to a model without torch.compile and torch.jit")
    if fingerprint(model) != schedule.fingerprint:
        raise _refusal(where, "it was made for another model: modules or shapes differ; %s" % _MAKE_ANEW)
    most, usable = max(section.threads for section in schedule.sections), usable_cpus()
    if most > usable:
        raise _refusal(where, "it asks for %d threads, and this process may use %d CPUs" % (most, usable))
    modules = dict(model.named_modules())
    unknown = [section.module for section in schedule.sections if section.module not in modules]
    if unknown:
        raise _refusal(where, "the model has no module %s" % unknown[0])
    return Applied(modules, schedule)


def _refusal(where: str, what: str) -> ValueError:
    return ValueError("%s cannot be applied: %s" % (where, what))


def on_begin(module: Any, phase: str, begin: Callable[[], None]) -> List[Any]:
    """Hooks that call `begin` when a section of this module begins. What is removed is called no more."""
    if phase == FORWARD:
        return [module.register_forward_pre_hook(lambda module, inputs: begin())]
    active = _Active()

    def of_output(module: Any, inputs: Any, output: Any) -> None:
        tensor = _with_gradient(output)
        if tensor is not None:
            tensor.register_hook(lambda gradient: begin() if active.on else None)

    return [module.register_forward_hook(of_output), active]


class _Active:
    """Stands for hooks on tensors of graphs, which may outlive those on modules."""

    on = True

    def remove(self) -> None:
        self.on = False


def _with_gradient(output: Any) -> Optional[Any]:
    """The first tensor of a module's output that gets a gradient."""
    if isinstance(output, dict):
        output = list(output.values())
    if isinstance(output, (tuple, list)):
        for each in output:
            found = _with_gradient(each)
            if found is not None:
                return found
        return None
    return output if getattr(output, "requires_grad", False) else None


class Applied:
    """A schedule in force on a model."""

    _newest: "Optional[Applied]" = None  # of those in force

    def __init__(self, modules: Dict[str, Any], schedule: Schedule) -> None:
        import torch

        self._set, self._get = torch.set_num_threads, torch.get_num_threads
        self._before = self._get()
        self._older, Applied._newest = Applied._newest, self
        self._hooks: List[Any] = []
        self._in_force = True
        for section in _changing(schedule.sections):
            self._hooks += on_begin(modules[section.module], section.phase, self._setter(section.threads))

    def _setter(self, threads: int) -> Callable[[], None]:
        def begin() -> None:
            if self._get() != threads:  # to set it anew empties oneDNN's cache, even where it stays as it is
                self._set(threads)

        return begin

    def remove(self) -> None:
        """Leave the model and torch's count of threads as they were. To remove it twice is to remove it once."""
        if not self._in_force:
            return
        self._in_force = False
        for hook in self._hooks:
            hook.remove()
        newer, each = None, Applied._newest
        while each is not self and each is not None:
            newer, each = each, each._older
        if newer is None:
            Applied._newest = self._older
            self._set(self._before)
        else:  # one that was applied later is in force still: it will set back what was before this one
            newer._older, newer._before = self._older, self._before

    def __enter__(self) -> "Applied":
        return self

    def __exit__(self, *error: Any) -> None:
        self.remove()


def _changing(sections: Tuple[Section, ...]) -> List[Section]:
    """Sections that need hooks: those with another count than the one before, and the first of each phase.

    The first one sets the count anew at every step, so that a step that an exception ended does no harm to the next.
    """
    kept = []
    for place, section in enumerate(sections):
        before = sections[place - 1]
        if place == 0 or before.threads != section.threads or before.phase != section.phase:
            kept.append(section)
    return kept
