"""The experiment file that `hpcbench init --command` writes for a program."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hpcbench.config.options.command_experiment import IN_BRACES, RESOURCES, Invocation, document_of
from hpcbench.config.options.parameter_values import Axis, plain_name
from hpcbench.config.yaml_writer import yaml_text
from hpcbench.errors import UserError

_EMPTY = re.compile(r"^( +\w+): \[\]$", re.MULTILINE)
_MORE = """\
measure: {repetitions: 6}       # runs of each case
# metrics:                      # numbers to read from the output of the command
#   rate: {regex: 'samples/s=([0-9.]+)', unit: samples/s}
# slurm: {time: "00:30:00"}     # time limit per run
"""


@dataclass(frozen=True)
class Scaffold:
    """An experiment file: its name, text, the parameters that lack values, and the words of the command."""

    name: str
    text: str
    missing: Sequence[str]
    words: Sequence[str]


def scaffold(command: str, axes: Mapping[str, Axis]) -> Scaffold:
    """Return the experiment file of a command.

    `{NAME}` in the command is a parameter; `axes` are the values of some of them. Raise UserError if the command is
    empty, or does not use a parameter of `axes`.
    """
    if not command.strip():
        raise UserError("the command is empty", where="--command", hint='e.g. --command "python3 train.py"')
    named = dict.fromkeys(map(plain_name, IN_BRACES.findall(command)))
    used = [name for name in named if name not in {*axes, *RESOURCES}]
    document = document_of(Invocation((command,), {**axes, **{name: [] for name in used}}, {}, {}))
    text = _EMPTY.sub(r"\1: []  # add the values to compare", yaml_text(document.data))
    return Scaffold(document.data["name"], text + _MORE, used, command.split())
