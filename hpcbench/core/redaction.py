"""What a record says about where it was made. Environment variables come in by an allow-list, secrets never."""

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
# Settings that change how fast a framework runs.
_ALLOWED = re.compile(
    r"(OMP|KMP|GOMP|MKL|OPENBLAS|BLIS|VECLIB|NUMEXPR|NCCL|GLOO|CUDA|CUBLAS|CUDNN|ROCR|HIP|TORCH|PYTORCH|TF_(?:NUM|XLA|GPU|FORCE|ENABLE)|XLA|"
    r"NVIDIA|KERAS|JAX|MXNET|HOROVOD|ONEDNN|DNNL|MALLOC|GLIBC|PYTHONHASHSEED|LD_PRELOAD|LD_LIBRARY_PATH|CUDA_VISIBLE_DEVICES|"
    r"LOADEDMODULES)(_[A-Z0-9_]+)?\Z"
)
# TOKENIZERS_PARALLELISM, NCCL_IB_PKEY, GIT_AUTHOR_NAME and the like are none.
_SECRET = re.compile(
    r"TOKEN(?!IZ)|(?<!_IB_P)KEY|SECRET|(?<!BY)PASS(?!ENV)|CREDENTIAL|AUTH(?!OR)|JWT|_PWD\Z|_PAT\Z", re.IGNORECASE
)
_SHORTEST_SECRET = 6  # shorter values would blot out ordinary words
BLOT = "[redacted]"


def is_secret(name: str) -> bool:
    """Whether a variable of this name is likely to hold a secret."""
    return _SECRET.search(name) is not None


def slurm_facts(environment: Mapping[str, str]) -> Dict[str, str]:
    """`SLURM_JOB_ID` as `job_id`, and so on, as far as they are set."""
    return {name[len("SLURM_") :].lower(): environment[name] for name in SLURM_VARIABLES if name in environment}


def allowed_variables(environment: Mapping[str, str]) -> Dict[str, str]:
    """The variables that may stand in a record."""
    return {name: value for name, value in sorted(environment.items()) if _ALLOWED.match(name) and not is_secret(name)}


def secrets_in(environment: Mapping[str, str]) -> List[str]:
    """The secrets that are set, the longest first, since one may begin with another; line by line.

    A path that is there is none: SSH_AUTH_SOCK says where to ask, and a home would be blotted out of everything.
    """
    lines: Set[str] = set()
    for name, content in environment.items():
        if is_secret(name) and not (content.startswith("/") and os.path.exists(content)):
            lines.update(line for line in content.splitlines() if len(line) >= _SHORTEST_SECRET)
    return sorted(lines, key=len, reverse=True)


def redacted(value: Any, environment: Mapping[str, str]) -> Any:
    """`value` with the content of every variable that looks like a secret blotted out, wherever it appears."""
    secrets = secrets_in(environment)
    return _blotted(value, secrets) if secrets else value


class Redactor:
    """Blots secrets out of a stream that comes in parts, and costs nothing where there are none."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        secrets = [os.fsencode(secret) for secret in secrets_in(environment)]
        self._any = re.compile(b"|".join(map(re.escape, secrets))) if secrets else None
        self._longest = max(map(len, secrets), default=0)
        self._held = b""

    def fed(self, part: bytes) -> bytes:
        """What of the stream so far may be passed on: whole lines, and of a longer one all but its last bytes, in which
        a secret may have begun."""
        if self._any is None:
            return part
        text = self._held + part
        cut = len(text) if text.endswith(b"\n") else max(0, len(text) - self._longest + 1)
        done, place = [], 0
        for found in self._any.finditer(text):
            if found.start() >= cut:  # it may be the beginning of a longer one
                break
            done += [text[place : found.start()], BLOT.encode()]
            place = found.end()
        cut = max(cut, place)
        self._held = text[cut:]
        return b"".join(done) + text[place:cut]

    def rest(self) -> bytes:
        """The end of a stream whose last line has no end."""
        held, self._held = self._held, b""
        return self._any.sub(BLOT.encode(), held) if self._any else held


def _blotted(value: Any, secrets: Any) -> Any:
    if isinstance(value, str):
        for secret in secrets:
            value = value.replace(secret, BLOT)
        return value
    if isinstance(value, dict):
        return {key: _blotted(item, secrets) for key, item in value.items()}
    if isinstance(value, list):
        if value and isinstance(value[0], float):  # samples
            return value
        return [_blotted(item, secrets) for item in value]
    return value


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
    shorter = _ASSIGNED.sub(_redacted_assignment, shorter)
    return shorter, max(0, shorter.count(BLOT) - text.count(BLOT))


def _without_variables(line: str) -> str:
    for found in _VARIABLE.finditer(line):
        if is_secret(found["name"]) and line[found.end() :].strip() not in _EMPTY:
            return line[: found.end()] + BLOT
    return line


def _redacted_assignment(found: Match[str]) -> str:
    quote = found["value"][0] if found["value"][0] in "\"'" else ""
    code = not quote and not found["value"].startswith(BLOT) and _CODE.match(found["value"])
    if code or not is_secret(found["name"]):
        return found[0]
    return "".join((found["name"], found["sign"], quote, BLOT, quote))
