"""Environment variables in configuration files, such as `env: {OMP_NUM_THREADS: 4}`."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, WithJsonSchema

from hpcbench.core.redaction import is_secret

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
# Variables that bash computes or makes read-only, and those that job scripts set or that identify their job.
_TAKEN = re.compile(
    r"BASH.*|SHELLOPTS|FUNCNAME|FUNCNEST|GROUPS|DIRSTACK|PIPESTATUS|COPROC|WATCH|REPLY|IFS|OPT(ARG|ERR|IND)|E?UID|PPID|"
    r"LINENO|SECONDS|S?RANDOM|EPOCH(REALTIME|SECONDS)|HISTCMD|POSIXLY_CORRECT|ENV|PS4|_|"
    r"(SLURM_(ARRAY|JOB|STEP)_|HPCBENCH_).*|SLURM_(EXPORT_ENV|JOBID|NODEID|LOCALID|PROCID|NTASKS|RESTART_COUNT|"
    r"MEM_PER_CPU|MEM_PER_NODE)|"
    r"file|module|old|path|python|shell_variables|sweep"
)
# About half of the limits of Linux for one variable and for all of a program, since some are written twice.
_MOST_EACH, _MOST_BYTES = 60_000, 500_000
# An assignment in a shell line, except of numbers and substitutions: max_tokens=512 and --key=column are arguments.
_ASSIGNED = re.compile(
    r"""(?:^|[\s;&|(])([A-Z_][A-Z0-9_]*)=(?!["']?[$`]|\d+\b)["']?[^"';&|)\s][^"';&|)]{5}""", re.MULTILINE
)
# An assignment in an option that no shell parses: HF_TOKEN=hf_abc, --env=HF_TOKEN=hf_abc, ALL,HF_TOKEN=hf_abc.
_GIVEN = re.compile(r"(?:^(?:-e)?|[=,\s])([A-Z_][A-Z0-9_]*)=[^$\s]")
_ADVICE = "export it in your shell instead: Slurm passes it on to the job; podman also needs `options: [--env=NAME]`"


def check_no_secret(line: str) -> str:
    """Return a shell line. Raise ValueError for a secret such as `HF_TOKEN=hf_abc`, but not `HF_TOKEN=$(cat FILE)`."""
    for found in _ASSIGNED.finditer(line):
        if is_secret(found.group(1)):
            raise ValueError(f"{found.group(1)} looks like a secret, which would be visible in scripts: {_ADVICE}")
    return line


def check_no_given_secret(word: str) -> str:
    """Return an option. Raise ValueError if it sets a secret, such as `--env=HF_TOKEN=hf_abc`, unlike
    `--env=HF_TOKEN`."""
    for found in _GIVEN.finditer(word):
        if is_secret(found.group(1)):
            raise ValueError(f"{found.group(1)} looks like a secret, which would be visible in scripts: {_ADVICE}")
    return word


def _as_text(value: object) -> object:
    """Return a mapping with its values as text of YAML: `1` as "1", `true` as "true"."""
    return {key: _text(item) for key, item in value.items()} if isinstance(value, dict) else value


def _check(variables: dict[str, str]) -> dict[str, str]:
    """Return the variables. Raise ValueError for an invalid or reserved name, a secret or too large values."""
    total = 0
    for name, value in variables.items():
        if not _NAME.match(name):
            raise ValueError(f"'{name}' is not the name of an environment variable")
        if _TAKEN.fullmatch(name):
            raise ValueError(f"{name} is set by Slurm, bash or the job script itself")
        if is_secret(name):
            raise ValueError(f"{name} looks like a secret, which would be visible in scripts: {_ADVICE}")
        size = len(name) + len(value.encode())
        total += size
        if size > _MOST_EACH or total > _MOST_BYTES:
            limits = f"{_MOST_EACH:,} bytes for one variable, or {_MOST_BYTES:,} for all"
            raise ValueError(f"{name} exceeds the limit of {limits}")
    return variables


def _text(value: object) -> object:
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int | float) else value


_SCHEMA = {"type": "object", "additionalProperties": {"type": ["string", "number", "boolean"]}}
Variables = Annotated[
    dict[str, str], BeforeValidator(_as_text), AfterValidator(_check), WithJsonSchema(_SCHEMA, mode="validation")
]
