"""Blotting secrets out of text that people or programs wrote: a diff, a configuration."""

import re
from typing import Mapping, Match, Tuple

from ..core.redaction import BLOT, is_secret, redacted

# NAME=VALUE, NAME: VALUE, "name": "value", x["NAME"] = "value"
_SIGN = r"""(?P<sign>["']?\]?[ \t]*(?:=>|[:+?]?==?|:)[ \t]*)"""
# A variable of a shell: its value may hold anything, so all to the end of the line is blotted.
_VARIABLE = re.compile(r"(?<![A-Za-z0-9_])(?P<name>[A-Z_][A-Z0-9_]*)" + _SIGN)
# Any other name: its value is quoted, or what has no blanks.
_ASSIGNED = re.compile(
    r"(?<![\w.-])(?P<name>-*[A-Za-z_][\w.-]*)" + _SIGN + r"""(?P<value>"[^"\n]+"|'[^'\n]+'|[^\s"']\S{5,})"""
)
_CODE = re.compile(r"[A-Za-z_][\w.]*[(\[{]|[(\[{]")  # is called, looked up or made there, and no value
_EMPTY = ("", '""', "''")
_KNOWN = re.compile(
    r"-----BEGIN[A-Z ]* PRIVATE KEY-----.*?(?:-----END[^\n]*|\Z)"
    r"|(?<=://)[^/\s@'\"]*:[^/\s@'\"]+(?=@)"  # a name and a password in the address of something
    r"|\b(?:gh[pousr]_|github_pat_|glpat-|hf_|sk-|xox[abprs]-|AKIA)[\w-]{16,}",
    re.DOTALL,
)


def without_secrets(text: str, environment: Mapping[str, str]) -> Tuple[str, int]:
    """The text without what looks like a secret, and how many places were blotted. Rather too much than too little:
    the values of names such as API_KEY, what variables of such names hold, and keys that are known by their looks."""
    shorter: str = _KNOWN.sub(BLOT, redacted(text, environment))
    shorter = "\n".join(map(_without_variables, shorter.split("\n")))
    shorter = _ASSIGNED.sub(_blotted, shorter)
    return shorter, max(0, shorter.count(BLOT) - text.count(BLOT))


def _without_variables(line: str) -> str:
    for found in _VARIABLE.finditer(line):
        if is_secret(found["name"]) and line[found.end() :].strip() not in _EMPTY:
            return line[: found.end()] + BLOT
    return line


def _blotted(found: Match[str]) -> str:
    quote = found["value"][0] if found["value"][0] in "\"'" else ""
    code = not quote and not found["value"].startswith(BLOT) and _CODE.match(found["value"])
    if code or not is_secret(found["name"]):
        return found[0]
    return "".join((found["name"], found["sign"], quote, BLOT, quote))
