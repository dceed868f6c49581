"""Redact secrets, which no record or log may contain. variables/performance.py lists the recorded variables."""

import os
import re
from typing import Any, Dict, List, Mapping, Match, Set, Tuple

SLURM_VARIABLES = (
    "SLURM_JOB_ID",
    "SLURM_ARRAY_JOB_ID",
    "SLURM_ARRAY_TASK_ID",
    "SLURM_JOB_NAME",
    "SLURM_JOB_PARTITION",
    "SLURM_JOB_ACCOUNT",
    "SLURM_JOB_QOS",
    "SLURM_JOB_NODELIST",
    "SLURM_JOB_NUM_NODES",
    "SLURM_CLUSTER_NAME",
    "SLURM_RESTART_COUNT",
)
# TOKENIZERS_PARALLELISM, NCCL_IB_PKEY and GIT_AUTHOR_NAME are not secrets.
_SECRET = re.compile(
    r"TOKEN(?!IZ)|(?<!_IB_P)KEY|SECRET|(?<!BY)PASS(?!ENV)|CREDENTIAL|AUTH(?!OR)|JWT|_PWD\Z|_PAT\Z", re.IGNORECASE
)
_SHORTEST_SECRET = 6  # characters; shorter values occur in ordinary words
REDACTED = "[redacted]"


def is_secret(name: str) -> bool:
    """Return whether a variable with this name is likely to hold a secret."""
    return _SECRET.search(name) is not None


def slurm_facts(environment: Mapping[str, str]) -> Dict[str, str]:
    """Return the variables of the Slurm job that are set: `SLURM_JOB_ID` as `job_id`, and so on."""
    return {name[len("SLURM_") :].lower(): environment[name] for name in SLURM_VARIABLES if name in environment}


def secrets_in(environment: Mapping[str, str]) -> List[str]:
    """Return the lines of all secrets in the environment, the longest first, because one may begin with another.

    The path of an existing file is not a secret: SSH_AUTH_SOCK names a socket, and a home directory would be redacted
    everywhere.
    """
    lines: Set[str] = set()
    for name, content in environment.items():
        if is_secret(name) and not (content.startswith("/") and os.path.exists(content)):
            lines.update(line for line in content.splitlines() if len(line) >= _SHORTEST_SECRET)
    return sorted(lines, key=len, reverse=True)


def redacted(value: Any, environment: Mapping[str, str]) -> Any:
    """Return `value` with the content of each variable that looks like a secret replaced by REDACTED.

    `value` is a text, or lists and dicts of texts.
    """
    secrets = secrets_in(environment)
    return _blotted(value, secrets) if secrets else value


class Redactor:
    """Redacts secrets in a stream that arrives in chunks. Without secrets it has no cost."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        secrets = [os.fsencode(secret) for secret in secrets_in(environment)]
        self._any = re.compile(b"|".join(map(re.escape, secrets))) if secrets else None
        self._longest = max(map(len, secrets), default=0)
        self._held = b""

    def fed(self, part: bytes) -> bytes:
        """Take the next chunk, and return the bytes that can be passed on.

        These are whole lines. Of a longer line, the last bytes are held back, because a secret may begin there.
        """
        if self._any is None:
            return part
        text = self._held + part
        cut = len(text) if text.endswith(b"\n") else max(0, len(text) - self._longest + 1)
        done, place = [], 0
        for found in self._any.finditer(text):
            if found.start() >= cut:  # it may be the beginning of a longer secret
                break
            done += [text[place : found.start()], REDACTED.encode()]
            place = found.end()
        cut = max(cut, place)
        self._held = text[cut:]
        return b"".join(done) + text[place:cut]

    def rest(self) -> bytes:
        """Return the bytes that are held back at the end of the stream."""
        held, self._held = self._held, b""
        return self._any.sub(REDACTED.encode(), held) if self._any else held


def _blotted(value: Any, secrets: Any) -> Any:
    if isinstance(value, str):
        for secret in secrets:
            value = value.replace(secret, REDACTED)
        return value
    if isinstance(value, dict):
        return {key: _blotted(item, secrets) for key, item in value.items()}
    if isinstance(value, list):
        if value and isinstance(value[0], float):  # measurements
            return value
        return [_blotted(item, secrets) for item in value]
    return value


# Compiled by `re` when they are used first: no rank does.
# NAME=VALUE, NAME: VALUE, "name": "value", x["NAME"] = "value"
_SIGN = r"""(?P<sign>["']?\]?[ \t]*(?:=>|[:+?]?==?|:)[ \t]*)"""
# A shell variable: its value may contain any character, so the rest of the line is redacted.
_VARIABLE = r"(?<![A-Za-z0-9_])(?P<name>[A-Z_][A-Z0-9_]*)" + _SIGN
# Any other name: its value is quoted, or has no blanks.
_ASSIGNED = r"(?<![\w.-])(?P<name>-*[A-Za-z_][\w.-]*)" + _SIGN + r"""(?P<value>"[^"\n]+"|'[^'\n]+'|[^\s"']\S{5,})"""
_CODE = r"[A-Za-z_][\w.]*[(\[{]|[(\[{]"  # a call, a lookup or a literal, not a value
_EMPTY = ("", '""', "''")
_KNOWN = (
    r"(?s)-----BEGIN[A-Z ]* PRIVATE KEY-----.*?(?:-----END[^\n]*|\Z)"
    r"|(?<=://)[^/\s@'\"]*:[^/\s@'\"]+(?=@)"  # user and password in a URL
    r"|\b(?:gh[pousr]_|github_pat_|glpat-|hf_|sk-|xox[abprs]-|AKIA)[\w-]{16,}"
)


def without_secrets(text: str, environment: Mapping[str, str]) -> Tuple[str, int]:
    """Return a text without secrets, and how many places were redacted.

    Redacted are the values of names such as API_KEY, the contents of variables with such names, and keys of known
    formats. Some text that is not secret may be redacted, too.
    """
    shorter: str = re.sub(_KNOWN, REDACTED, redacted(text, environment))
    shorter = "\n".join(map(_without_variables, shorter.split("\n")))
    shorter = re.sub(_ASSIGNED, _redacted_assignment, shorter)
    return shorter, max(0, shorter.count(REDACTED) - text.count(REDACTED))


def _without_variables(line: str) -> str:
    for found in re.finditer(_VARIABLE, line):
        if is_secret(found["name"]) and line[found.end() :].strip() not in _EMPTY:
            return line[: found.end()] + REDACTED
    return line


def _redacted_assignment(found: Match[str]) -> str:
    quote = found["value"][0] if found["value"][0] in "\"'" else ""
    code = not quote and not found["value"].startswith(REDACTED) and re.match(_CODE, found["value"])
    if code or not is_secret(found["name"]):
        return found[0]
    return "".join((found["name"], found["sign"], quote, REDACTED, quote))
