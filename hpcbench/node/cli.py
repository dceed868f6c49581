"""The commands of the zipapp that each sweep carries to its nodes.

A job script calls `job`, which starts `monitor` on each node, and `rank` for each task of a run, which starts `work`.
`hpcbench doctor --on-node` calls `checkup`, `peaks` and `placement`. Each imports what it needs when it is called: a
run waits for the start of its tasks.
"""

import importlib
import sys
from typing import Any, Callable

RANK = "rank"


def main() -> int:
    """Run the command that the command line names; return its exit status."""
    if sys.argv[1:2] == [RANK]:
        from .launch.commands import rank

        return rank(sys.argv)
    arguments = _parser().parse_args()
    status: int = arguments.function(arguments)
    return status


def _parser() -> Any:
    import argparse  # not for ranks: it takes half as long as the start of Python

    parser = argparse.ArgumentParser(prog="node.pyz", description=__doc__)
    commands = parser.add_subparsers(dest="command")
    commands.required = True
    _add_job(commands)
    _add_tasks(commands)
    _add_doctor(commands)
    return parser


def _calls(module: str, function: str) -> Callable[[Any], int]:
    """The function of a module that is imported when it is called."""

    def call(arguments: Any) -> int:
        found: Callable[[Any], int] = getattr(importlib.import_module(module, __package__), function)
        return found(arguments)

    return call


def _add_job(commands: Any) -> None:
    """What a job script starts, and what watches beside it."""
    job = commands.add_parser("job", help="run the elements of a job, each to its record")
    job.add_argument("job_file", help="jobs/SWEEP/JOB.jsonl")
    job.add_argument("elements", type=int, nargs="*", help="lines of it, from 0 [default: those of the array index]")
    job.add_argument("--serve", type=int, metavar="FD", help="take the elements from a connected socket, one by one")
    job.add_argument("--results", required=True, help="results/SWEEP")
    job.add_argument("--batch", required=True, help="the submission that this job came from")
    job.add_argument("--limit", type=float, required=True, help="seconds of wall time for each run")
    job.add_argument("--python", required=True, help="the words that start the Python of the workload")
    job.add_argument("--srun", default="", help="the words that start the tasks of a run [default: processes here]")
    job.set_defaults(function=_calls(".job.commands", "job"))

    monitor = commands.add_parser("monitor", help="write down what happens on this node, as told by standard input")
    monitor.add_argument("--nodes", default="", help="the folder of what is known of each node, written at the end")
    monitor.set_defaults(function=_calls(".monitor.commands", "monitor"))


def _add_tasks(commands: Any) -> None:
    """What runs a task of a run. The arguments of `rank` are those of RankTask."""
    commands.add_parser(RANK, help="run one task of a run, and supervise it")

    work = commands.add_parser("work", help="the task itself")
    work.add_argument("job_file")
    work.add_argument("element", type=int)
    work.add_argument("--result-fd", type=int, required=True)
    work.add_argument("--found-fd", type=int, help="a file of the threads by section that it has found before")
    work.set_defaults(function=_calls(".worker.commands", "work"))


def _add_doctor(commands: Any) -> None:
    """What `hpcbench doctor --on-node` asks for."""
    doctor = commands.add_parser("checkup", help="what makes numbers worse on this machine, as lines of JSON")
    doctor.add_argument("--seconds", type=int, required=True, help="how long to measure the noise floor")
    doctor.add_argument("--turns", required=True, help="the folder by which checkups take turns on a node")
    doctor.set_defaults(function=_calls(".checks.commands", "checkup"))

    measurer = commands.add_parser("peaks", help="the peak performance of this machine, as a line of JSON")
    measurer.add_argument("--turns", required=True, help="the folder by which checkups take turns on a node")
    measurer.add_argument("--python", action="append", default=[], help="another Python that may have numpy or torch")
    measurer.set_defaults(function=_calls(".checks.commands", "peaks"))

    task = commands.add_parser("placement", help="the CPUs and GPUs that this task was given, as a line of JSON")
    task.set_defaults(function=_calls(".checks.commands", "placement"))
