"""The experiment of `hpcbench run`: a program, with parameters and metrics from the command line."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from hpcbench.config.expressions import RESERVED, is_expression
from hpcbench.config.names import NAME_PATTERN
from hpcbench.config.options.parameter_values import Axis, plain_name
from hpcbench.config.options.shell_quotes import is_inside_quotes
from hpcbench.config.parameters import NAMES, NOT_OF_COMMANDS, Parameters
from hpcbench.config.schema_location import KeyPath
from hpcbench.config.validation.findings import Findings
from hpcbench.config.yaml_document import Document
from hpcbench.config.yaml_writer import yaml_text
from hpcbench.core.frameworks import SETTINGS
from hpcbench.core.run_spec import COMMAND
from hpcbench.errors import UserError, nearest

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

IN_BRACES = re.compile(r"(?<!\$)\{([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)\}")  # ${NAME} is a variable of bash
RESOURCES = ("nodes", "tasks_per_node", "cpus_per_task", "gpus_per_task")
# Parameters that take effect although the command does not use them.
_EFFECTIVE = {*RESOURCES, "launch", "device", "environment", "oversubscribe", *(setting.name for setting in SETTINGS)}
# Parameters of hpcbench whose names -P cannot give to parameters of a program.
_NOT_OF_PROGRAMS = ("framework", "command", "strategy", *NOT_OF_COMMANDS)
_SCRIPT = re.compile(r"[\w./+-]+\.(?:py|sh|jl|R|lua)\Z")


@dataclass(frozen=True)
class Invocation:
    """A program and its arguments as the shell has split them, and the options of `hpcbench run`.

    `axes` are the values of each parameter, `constants` other parameters such as `nodes`, `metrics` definitions by
    name as in an experiment file.
    """

    program: Sequence[str]
    axes: Mapping[str, Axis]
    constants: Mapping[str, Any]
    metrics: Mapping[str, Mapping[str, Any]]
    repetitions: int | None = None
    rank_by: str | None = None


def document_of(invocation: Invocation) -> Document:
    """Return the experiment of an invocation. Raise UserError for a name that the command does not use or set."""
    data = _data(invocation)
    places: dict[KeyPath, str] = {("parameters", name): f"-P {name}" for name in invocation.axes}
    places |= {("matrix", name): f"-P {name}" for name in invocation.axes}
    places |= {("metrics", name): f"--extract {name}" for name in invocation.metrics}
    places |= {("rank_by",): f"--metric {invocation.rank_by}"}
    document = Document("hpcbench run", data, places, yaml_text(data))
    _check_values(document, invocation.axes)
    return document


def _check_values(document: Document, axes: Mapping[str, Axis]) -> None:
    """Raise UserError for a value that a parameter of hpcbench cannot have: the program may have its own parameter."""
    for name in (name for name in axes if name in NAMES):
        section = "parameters" if name in document.data["parameters"] else "matrix"
        axis, findings = axes[name], Findings(document)
        for value in axis if isinstance(axis, list) else axis["range"][:1]:
            for details in _refusals(name, value):
                findings.add_details(details, Parameters, (section,))
                found = findings.error()
                own = f"'{name}' is a parameter of hpcbench; for one of your program, {_use_another_name(name)}"
                hint = f"{found.hint}\n{own}" if found.hint else own
                raise UserError(found.what, where=found.where, hint=hint)


def _refusals(name: str, value: Any) -> list[ErrorDetails]:
    """Return why a parameter cannot have a value, whatever values the other parameters have."""
    if is_expression(value):
        return []
    try:
        Parameters.model_validate({"framework": COMMAND, "command": COMMAND, name: value})
    except ValidationError as error:
        return [details for details in error.errors(include_url=False) if details["loc"][:1] == (name,)]
    return []


def _data(invocation: Invocation) -> dict[str, Any]:
    names = [*invocation.axes, *invocation.constants, *RESOURCES]
    command, used = command_of(invocation.program, names)
    _check_used(invocation.axes, used)
    if _is_line(invocation.program):
        _check_quotes(invocation.program[0], invocation.axes)
    several = {name: axis for name, axis in invocation.axes.items() if isinstance(axis, dict) or len(axis) != 1}
    single = {name: axis[0] for name, axis in invocation.axes.items() if isinstance(axis, list) and len(axis) == 1}
    own = [name for name in several if name not in NAMES]
    return {
        "name": name_of(invocation.program),
        "parameters": {"framework": COMMAND, "command": command, **invocation.constants, **single},
        **({"matrix": several} if several else {}),
        **({"same_workload": own} if own else {}),
        **({"metrics": dict(invocation.metrics)} if invocation.metrics else {}),
        **({} if invocation.rank_by is None else {"rank_by": invocation.rank_by}),
        **({} if invocation.repetitions is None else {"measure": {"repetitions": invocation.repetitions}}),
    }


def _check_used(given: Iterable[str], used: set[str]) -> None:
    for name in given:
        _check_name(name)
        if name in RESERVED:
            raise _other_name(name, f"'{name}' has a meaning in expressions, so it cannot be a parameter")
        if name not in used and name not in _EFFECTIVE:
            hint = f"write {{{name}}} in the command where the program takes the value"
            raise UserError(f"the command does not use '{name}'", where=f"-P {name}", hint=hint)


def _check_quotes(line: str, axes: Mapping[str, Axis]) -> None:
    """Raise UserError for a parameter within quotes with a value that needs quotes: in quotes, these would be text."""
    for found in IN_BRACES.finditer(line):
        axis = axes.get(plain_name(found[1]), ())
        is_inside = isinstance(axis, list) and is_inside_quotes(line[: found.start()])
        for value in map(str, axis if is_inside else ()):
            if shlex.quote(value) != value and not is_expression(value):
                what = f"'{found[0]}' is inside quotes, but its value {value!r} must be quoted itself"
                hint = f"write {found[0]} without quotes: hpcbench quotes each value as one word\n"
                hint += f"""for an inner shell: bash -c 'program "$1"' _ {found[0]}"""
                raise UserError(what, where=COMMAND, hint=hint)


def _is_line(program: Sequence[str]) -> bool:
    """Return whether a program is a line of bash: a single argument with spaces."""
    return len(program) == 1 and not program[0].isspace() and len(program[0].split()) > 1


def command_of(program: Sequence[str], names: Iterable[str]) -> tuple[str, set[str]]:
    """Return the command of an experiment for a program and its arguments, and the parameters that it uses.

    `{NAME}` becomes an expression of the parameter, as one word. A single argument with spaces is a line of bash.
    Other braces remain as they are, also those of `${NAME}`. Raise UserError if a name in braces is a parameter without
    a value, or of the built-in models.
    """
    known = set(names)
    is_line = _is_line(program)
    used: set[str] = set()
    words = []
    for word in program:
        text = ""
        for index, part in enumerate(IN_BRACES.split(word)):
            if index % 2 and plain_name(part) in known:
                used.add(plain_name(part))
                text += f"{{{{ {plain_name(part)} | quote }}}}"
                continue
            if index % 2:
                _check_literal(part, known)
                part = f"{{{part}}}"
            text += _literal(part if is_line else _quoted(part))
        words.append(text or "''")
    return " ".join(words), used


def _quoted(part: str) -> str:
    return shlex.quote(part) if part else ""


def _literal(text: str) -> str:
    """Return text in which expressions begin nowhere, with carriage returns that Jinja does not change to newlines."""
    return re.sub(r"\{(?=[{%#\r]|\Z)", "{{ '{' }}", text).replace("\r", "{{ '\\r' }}")


def _check_name(name: str) -> None:
    if name in _NOT_OF_PROGRAMS:
        raise _other_name(name, f"hpcbench reserves the name '{name}'")


def _other_name(name: str, what: str) -> UserError:
    return UserError(what, where=COMMAND, hint=_use_another_name(name))


def _use_another_name(name: str) -> str:
    return f"use another name, e.g. -P my_{name}=... and {{my_{name}}} in the command"


def _check_literal(name: str, known: set[str]) -> None:
    _check_name(name)
    if name in NAMES:
        what = f"the command uses {{{name}}}, which has no value"
        raise UserError(what, where=COMMAND, hint=f"add e.g. -P {name}=1,2")
    hint = nearest(name, known)
    if hint.startswith("did you mean"):
        what, add = f"the command uses {{{name}}}, which is not a parameter", f"to add it: -P {name}=1,2"
        raise UserError(what, where=COMMAND, hint=f"{hint}\n{add}")


def name_of(program: Sequence[str]) -> str:
    """Return a name for the experiment: that of the first script among the words, otherwise of the program."""
    words = [word for text in program[:1] for word in text.split()] + list(program[1:])
    script = next((word for word in words if _SCRIPT.match(word)), words[0])
    plain = re.sub(r"[^A-Za-z0-9_-]+", "-", PurePosixPath(script).stem).strip("-_")
    return plain[:40] if NAME_PATTERN.match(plain[:40]) else COMMAND
