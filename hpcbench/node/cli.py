"""The commands of the zipapp that each sweep carries to its nodes.

A job script calls `job`, which starts `monitor` on each node, and `rank` for each task of a run, which starts `work`.
The jobs of `hpcbench doctor` call `checkup`, `peaks`, `speed` and `placement`; `hpcbench predict` calls
`list-operators`. Each imports what it needs when it is
called: a run waits for the start of its tasks.
"""

import importlib
import sys
from typing import Any, Callable

RANK = "rank"


def main() -> int:
    """Run the command that the command line names; return its exit status."""
    if sys.argv[1:2] == [RANK] and "--help" not in sys.argv:
        from .launch.commands import rank

        return rank(sys.argv)
    arguments = _parser().parse_args()
    status: int = arguments.function(arguments)
    return status


def _parser() -> Any:
    import argparse  # not for ranks: the import takes half as long as the start of Python

    parser = argparse.ArgumentParser(prog="node.pyz", description=__doc__)
    commands = parser.add_subparsers(dest="command")
    commands.required = True
    _add_job(commands)
    _add_tasks(commands)
    _add_list(commands)
    _add_doctor(commands)
    return parser


def _calls(module: str, function: str) -> Callable[[Any], int]:
    """Return a function that imports a module and calls its function."""

    def call(arguments: Any) -> int:
        found: Callable[[Any], int] = getattr(importlib.import_module(module, __package__), function)
        return found(arguments)

    return call


def _add_job(commands: Any) -> None:
    """Add the commands that a job script starts, and the monitor."""
    job = commands.add_parser("job", help="run the elements of a job, and write their records")
    job.add_argument("job_file", help="jobs/SWEEP/JOB.jsonl")
    job.add_argument("elements", type=int, nargs="*", help="lines of JOB.jsonl, from 0 [default: by array index]")
    job.add_argument("--serve", type=int, metavar="FD", help="read the elements from a connected socket, one by one")
    job.add_argument("--results", required=True, help="results/SWEEP")
    job.add_argument("--batch", required=True, help="the submission of this job")
    job.add_argument("--limit", type=float, required=True, help="time limit per run, in seconds")
    job.add_argument("--python", required=True, help="command that starts the Python of the workload")
    job.add_argument("--srun", help="command that starts the tasks of a run in a Slurm job [default: local processes]")
    job.add_argument("--launcher", default="", help="torchrun or mpirun, with arguments, which starts a command")
    job.set_defaults(function=_calls(".job.commands", "job"))

    monitor = commands.add_parser("monitor", help="monitor this node; commands come from standard input")
    monitor.add_argument("--nodes", default="", help="folder for the description of each node, written at the end")
    monitor.set_defaults(function=_calls(".monitor.commands", "monitor"))


def _add_tasks(commands: Any) -> None:
    """Add the commands that run a task of a run. The arguments of `rank` are those of RankTask."""
    commands.add_parser(RANK, help="run one task of a run, and supervise it")

    work = commands.add_parser("work", help="run the workload of a task")
    work.add_argument("job_file")
    work.add_argument("element", type=int)
    work.add_argument("--result-fd", type=int, required=True)
    work.add_argument("--found-fd", type=int, help="file with a per-layer thread plan that was found before")
    work.add_argument("--profile", metavar="FILE", help="profile the operators, and write their rows to FILE")
    work.add_argument("--trajectory", metavar="FILE", help="train again, and write weights of this training to FILE")
    work.set_defaults(function=_calls(".worker.commands", "work"))

    guard = commands.add_parser("restore-clocks", help="wait for the end of standard input, then restore a clock")
    guard.add_argument("saved", help="the state as JSON, by the methods of clocks/")
    guard.add_argument("folder", help="folder for a note, by which the next task restores the clock if this one cannot")
    guard.set_defaults(function=_calls(".clocks.guard", "restore_clocks"))


def _add_list(commands: Any) -> None:
    """Add the command that lists what cases compute."""
    lists = commands.add_parser("list-operators", help="list the operators of a step of each case, without running it")
    lists.add_argument("job_file", help="file with a planned run of each case, one JSON object per line")
    lists.add_argument("result_file", help="file for the operators, one JSON object per case")
    lists.set_defaults(function=_calls(".worker.listing", "list_operators"))


def _add_doctor(commands: Any) -> None:
    """Add the commands that the jobs of `hpcbench doctor` call."""
    doctor = commands.add_parser("checkup", help="check this machine, and print the results as lines of JSON")
    doctor.add_argument("--seconds", type=int, required=True, help="duration of the noise measurement, in seconds")
    doctor.add_argument("--turns", required=True, help="folder with the lock by which checkups take turns on a node")
    doctor.set_defaults(function=_calls(".checks.commands", "checkup"))

    measured = {"peaks": "the peak performance of this machine", "speed": "the speed of this node, to compare nodes"}
    for name, what in measured.items():
        measurer = commands.add_parser(name, help="measure %s, and print it as a line of JSON" % what)
        measurer.add_argument("--turns", required=True, help="folder with the lock by which jobs take turns on a node")
        measurer.add_argument("--python", action="append", default=[], help="another Python to try for numpy or torch")
        measurer.set_defaults(function=_calls(".checks.commands", name))

    task = commands.add_parser("placement", help="print the CPUs and GPUs of this task as a line of JSON")
    task.set_defaults(function=_calls(".checks.commands", "placement"))
