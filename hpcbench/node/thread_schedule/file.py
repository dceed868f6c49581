"""The file of a schedule: the thread counts of a model's sections, and the fingerprint of the model."""

import hashlib
import json
import os
from contextlib import suppress
from typing import Any, Dict, NamedTuple, Optional, Sequence, Set, Tuple

from torch.nn.parameter import UninitializedParameter

from . import module_paths
from .hooks import BACKWARD, FORWARD

SCHEMA = 1
SETTER = "torch.set_num_threads"
MOST_BYTES = 4_000_000  # of a file


class Section(NamedTuple):
    """The part of a step that begins at a module, with its thread count."""

    module: str  # its path in the model, as of named_modules()
    phase: str
    threads: int
    branches: Optional[Tuple[str, ...]] = None  # that compute side by side


class Schedule(NamedTuple):
    """The sections in the order of a step. `made_for` describes the measured step; it is not checked."""

    fingerprint: str
    sections: Tuple[Section, ...]
    made_for: Dict[str, Any]

    def as_json(self) -> Dict[str, Any]:
        """Return the content of the schedule's file."""
        sections = [section._asdict() for section in self.sections]
        return {"schema": SCHEMA, "setter": SETTER, **self._asdict(), "sections": [dict(each) for each in sections]}


def fingerprint(model: Any) -> str:
    """Return a hash of the model's structure: paths, types, shapes and dtypes of parameters, without their values.

    Raise ValueError for a lazy module that has no shapes yet.
    """
    lines = []
    for path, module in model.named_modules():
        if any(isinstance(weight, UninitializedParameter) for weight in module.parameters(recurse=False)):
            raise ValueError("the shapes of module %s are unknown: run the model once before" % path)
        parameters = [
            "%s %s %s" % (name, tuple(weight.shape), weight.dtype)
            for name, weight in module.named_parameters(recurse=False)
        ]
        lines.append("%s: %s(%s)" % (path, type(module).__name__, ", ".join(parameters)))
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def write(schedule: Schedule, path: str) -> None:
    """Write a schedule atomically. Raise OSError, and TypeError if `made_for` cannot be written as JSON."""
    text = json.dumps(schedule.as_json(), indent=1)
    path = os.path.realpath(path)
    temporary = "%s.%d" % (path, os.getpid())
    try:
        with open(temporary, "w", encoding="utf-8") as file:
            file.write(text + "\n")
        os.replace(temporary, path)
    except OSError:
        with suppress(OSError):
            os.remove(temporary)
        raise


def read(path: str) -> Schedule:
    """Read a schedule from a file. Raise OSError, and ValueError if the file is not a schedule."""
    with open(path, "rb") as file:
        text = file.read(MOST_BYTES + 1)
    if len(text) > MOST_BYTES:
        raise refusal(path, "it is larger than %d bytes" % MOST_BYTES)
    try:
        data = json.loads(text.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise refusal(path, "it is not JSON: %s" % error) from error
    try:
        return parse(data)
    except ValueError as error:
        raise refusal(path, str(error)) from error


def parse(data: Any) -> Schedule:
    """Return the schedule in the content of a file. Raise ValueError if it is not one."""
    if not isinstance(data, dict):
        raise ValueError("it is not a JSON object")
    if data.get("schema") != SCHEMA or isinstance(data["schema"], bool):
        raise ValueError("schema %r is not supported (supported: %d)" % (data.get("schema"), SCHEMA))
    if data.get("setter") != SETTER:
        raise ValueError("setter %r is not supported (supported: %s)" % (data.get("setter"), SETTER))
    if not isinstance(data.get("fingerprint"), str) or not isinstance(data.get("made_for"), dict):
        raise ValueError("fingerprint or made_for is missing")
    sections = data.get("sections")
    if not isinstance(sections, list) or not sections:
        raise ValueError("it has no layer groups")
    found = tuple(_section(each) for each in sections)
    _refuse_contradictions(found)
    return Schedule(data["fingerprint"], found, data["made_for"])


def _section(data: Any) -> Section:
    named = data if isinstance(data, dict) else {}
    module, phase, threads, branches = (named.get(name) for name in Section._fields)
    if not isinstance(module, str) or phase not in (FORWARD, BACKWARD):
        raise ValueError("a layer group lacks `module` or `phase`")
    if not isinstance(threads, int) or isinstance(threads, bool) or threads < 1:
        raise ValueError("the layer group %s has %r threads" % (module, threads))
    if branches is None:
        return Section(module, phase, threads)
    if not _are_names(branches) or not len(branches) > 1 or threads < 2 or phase != FORWARD:
        raise ValueError("the layer group %s has the branches %r, and %d threads" % (module, branches, threads))
    return Section(module, phase, threads, tuple(branches))


def _refuse_contradictions(sections: Sequence[Section]) -> None:
    """Raise ValueError for duplicate sections, and for sections in branches, which run on other threads."""
    divided = {section.module for section in sections if section.branches}
    places: Set[Tuple[str, str]] = set()
    for section in sections:
        if (section.module, section.phase) in places:
            raise ValueError("it has the layer group %s (%s) twice" % (section.module, section.phase))
        places.add((section.module, section.phase))
        for outer in divided.intersection(module_paths.above(section.module)):
            raise ValueError("the layer group %s lies in %r, which has branches" % (section.module, outer))


def _are_names(values: Any) -> bool:
    return isinstance(values, (list, tuple)) and all(isinstance(value, str) for value in values)


def refusal(where: str, what: str) -> ValueError:
    """Return the error for a schedule that cannot be applied."""
    return ValueError("%s cannot be applied: %s" % (where, what))
