"""Find the message in an output that explains a failure: of Slurm, of an MPI launcher, or of the program itself.

The last lines of srun, slurmstepd and mpirun often only repeat that a task failed. Earlier lines give the reason.
"""

import itertools
import re
from typing import Iterator, List, Sequence

# Errors of srun and slurmstepd, with a name or number in brackets after the program; errors on options of srun.
_OF_SLURM = re.compile(
    r"(?:srun|slurmstepd)(?:\[[^\]]*\]|-\S+)?: (?:error|fatal): (?P<error>.*)"
    r"|srun: (?P<option>(?:unrecognized|invalid|ambiguous) option.*|option .* (?:requires|doesn't allow) an argument.*)"
)
_ANY_OF_SLURM = re.compile(r"(?:srun|slurmstepd)\S*: ")
_CONSEQUENCES = re.compile(  # messages of Slurm that follow from another failure
    r"\S+: tasks? [\d,\-\[\]]+: (?!Out Of Memory)"
    r"|\*\*\* \w+ .* (?:CANCELLED|FAILED) "
    r"|Timed out waiting for job step|get_exit_code task|Failed to send MESSAGE_TASK_EXIT"
    r"|couldn't chdir to |spank: required plugin |Failed to invoke spank plugin stack"
    r"|pyxis: (?:couldn't|printing|container start failed|if )"
)
_RULER = "-" * 74  # frames a message of Open MPI
_OF_MPI = re.compile(  # messages of Open MPI and MPICH that follow from another failure
    r"(?:\S+ )?(?:mpirun|mpiexec|prterun|prun) (?:detected|noticed|has exited)"
    r"|Primary job +terminated|MPI_ABORT was invoked"
    r"|(?:=\s*)?(?:BAD TERMINATION|PID \d+ RUNNING AT|EXIT CODE: |CLEANING UP|YOU CAN IGNORE|KILLED BY SIGNAL: )"
    r"|\[(?:proxy|mpiexec)\S* "
)
# The report of torchrun on a failed process follows the messages of the process.
_OF_TORCHRUN = re.compile(r".*torch/distributed/elastic/multiprocessing/api\.py:\d+\] (?:Sending process|failed )")
_HINTS = re.compile(r"hpcbench: |Try [\"'`].* --help")


def of_slurm(lines: Sequence[str]) -> str:
    """Return the last error of srun or slurmstepd that gives a reason, without the name of the program, or ""."""
    for line in reversed(lines):
        found = _OF_SLURM.match(line.strip())
        words = (found.group("error") or found.group("option")).strip() if found else ""
        if words and not _CONSEQUENCES.match(words):
            return words
    return ""


def last_words(lines: Sequence[str]) -> str:
    """Return the last message that is not from Slurm, and does not only repeat that something failed, or ""."""
    before = list(itertools.takewhile(lambda line: not _OF_TORCHRUN.match(line), lines))
    told = [words for words in _messages(before or lines) if any(map(str.isalnum, words))]
    own = [words for words in told if not (_ANY_OF_SLURM.match(words) or _OF_MPI.match(words) or _HINTS.match(words))]
    return own[-1] if own else ""


def _messages(lines: Sequence[str]) -> Iterator[str]:
    """Yield each line; of a framed message, yield the first paragraph as one line."""
    paragraph: List[str] = []
    framed = over = False
    for line in map(str.strip, lines):
        if line == _RULER:
            if paragraph:
                yield " ".join(paragraph)
            paragraph, framed, over = [], not framed, False
        elif not framed:
            yield line
        elif line and not over:
            paragraph.append(line)
        else:
            over = bool(paragraph)
    if paragraph:
        yield " ".join(paragraph)
