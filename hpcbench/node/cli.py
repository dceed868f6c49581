"""The commands of the zipapp that a job script calls: monitor watches the node, spawn and rank run a repetition, record
writes it down. Of `hpcbench doctor --on-node`: checkup looks at the node, placement at what a task was given."""

import argparse
import json
import os
import sys
from typing import Any, Dict, List

from ..monitor import host, quiet
from ..monitor.interference import DISTURBED
from ..monitor.watch import watch
from . import hardware, outcomes, record, verdict
from .planned import read
from .ranks import from_environment
from .spawn import spawn
from .supervise import supervise

CLOCK_S = 1.0  # bash counts whole seconds
LONGER = 1.2  # than those before, that another attempt may take


def main() -> int:
    arguments = _parser().parse_args()
    status: int = arguments.function(arguments)
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="node.pyz", description=__doc__)
    commands = parser.add_subparsers(dest="command")
    commands.required = True

    launcher = commands.add_parser("spawn", help="start the tasks of a repetition on this machine")
    launcher.add_argument("--tasks", type=int, required=True)
    launcher.add_argument("--cpus-per-task", type=int, required=True)
    launcher.add_argument("rest", nargs=argparse.REMAINDER)
    launcher.set_defaults(function=lambda a: spawn(a.tasks, a.cpus_per_task, _after_dashes(a.rest)))

    monitor = commands.add_parser("monitor", help="write down what happens on this node, until standard input ends")
    monitor.add_argument("scratch")
    monitor.set_defaults(function=lambda a: watch(a.scratch, os.path.basename(a.scratch)))

    looker = commands.add_parser("quiet", help="tell what others do on this node; status 1 where it is not quiet")
    looker.add_argument("--wait", type=float, default=0.0, metavar="SECONDS")
    looker.add_argument("--gpus", action="store_true", help="look at its GPUs, too")
    looker.set_defaults(function=_quiet)

    rank = commands.add_parser("rank", help="run one task of a repetition, and watch over it")
    _add_run(rank)
    rank.add_argument("--scratch", required=True)
    rank.set_defaults(function=_rank)

    work = commands.add_parser("work", help="the task itself")
    _add_run(work)
    work.add_argument("--result-fd", type=int, required=True)
    work.set_defaults(function=_work)

    writer = commands.add_parser("record", help="append the record of a repetition")
    _add_run(writer)
    writer.add_argument("--scratch", required=True)
    writer.add_argument("--records", required=True)
    writer.add_argument("--log", default="")
    writer.add_argument("--exit-status", type=int, required=True)
    writer.add_argument("--stopped", default="", help="the signal that told the script to end")
    writer.add_argument("--elapsed", type=float, required=True)
    writer.add_argument("--limit", type=float, required=True)
    writer.add_argument("--attempt", type=int, default=1, help="of this script")
    writer.add_argument("--noise", default="", help="why nothing was run: the node was not quiet")
    writer.set_defaults(function=_record)

    doctor = commands.add_parser("checkup", help="what makes numbers worse on this machine, as lines of JSON")
    doctor.add_argument("--seconds", type=int, required=True, help="how long to look at the noise floor")
    doctor.add_argument("--turns", required=True, help="the folder by which checkups take turns on a node")
    doctor.set_defaults(function=_checkup)

    task = commands.add_parser("placement", help="the CPUs and GPUs that this task was given, as a line of JSON")
    task.set_defaults(function=_placement)
    return parser


def _add_run(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("job_file")
    parser.add_argument("element", type=int)


def _rank(arguments: Any) -> int:
    os.makedirs(arguments.scratch, exist_ok=True)
    planned = read(arguments.job_file, arguments.element)
    worker = [sys.executable, sys.argv[0], "work", arguments.job_file, str(arguments.element)]
    workspace = os.path.abspath(os.path.join(arguments.job_file, "..", "..", ".."))  # of jobs/SWEEP/JOB.jsonl
    return supervise(planned, from_environment(os.environ), worker, workspace, arguments.scratch)


def _work(arguments: Any) -> int:
    from .run import run  # the launcher and the supervisor need none of the workload

    planned = read(arguments.job_file, arguments.element)
    facts = run(planned, from_environment(os.environ))
    with os.fdopen(arguments.result_fd, "w", encoding="utf-8") as pipe:
        json.dump(facts, pipe, separators=(",", ":"))
    sys.stdout.flush()
    sys.stderr.flush()
    # The result is out. Taking the interpreter down would let C++ destructors race with the framework's threads:
    # one DDP run in five on gloo aborted there, after all its work was done.
    os._exit(0 if facts["status"] == outcomes.COMPLETED else 1)


def _record(arguments: Any) -> int:
    sweep_directory = os.path.dirname(os.path.abspath(arguments.job_file))
    with open(os.path.join(sweep_directory, "sweep.json"), encoding="utf-8") as file:
        sweep = json.load(file)
    ending = verdict.Ending(
        exit_status=arguments.exit_status,
        stopped=bool(arguments.stopped),
        elapsed_s=arguments.elapsed,
        limit_s=arguments.limit,
        margin_s=0.0 if "SLURM_JOB_ID" in os.environ else CLOCK_S,
        log=arguments.log,
        noise=arguments.noise,
    )
    written = record.write(
        read(arguments.job_file, arguments.element),
        sweep,
        os.path.splitext(os.path.basename(arguments.job_file))[0],
        arguments.element,
        ending,
        arguments.scratch,
        arguments.records,
    )
    reason = ": %s" % written["error"]["message"] if written["error"] else ""
    named = (written["case_id"], written["repetition"], written["status"], reason)
    print("hpcbench: case %s repetition %d %s%s" % named)
    if written["status"] != outcomes.COMPLETED:
        return 1
    return outcomes.MEASURE_AGAIN if _another(written, arguments) else 0


def _another(written: Dict[str, Any], arguments: Any) -> bool:
    """Whether to measure again what was disturbed: as often as asked, as the wall time allows, unless told to end."""
    disturbed = (written["interference"] or {}).get("verdict") == DISTURBED
    if not disturbed or arguments.stopped or arguments.attempt > written["measure"]["retries"]:
        return False
    each_s = arguments.elapsed / arguments.attempt
    enough: bool = arguments.elapsed + LONGER * each_s <= arguments.limit
    print("hpcbench: disturbed; %s" % ("measuring again" if enough else "no time is left to measure again"))
    return enough


def _quiet(arguments: Any) -> int:
    noise = quiet.wait(arguments.wait, arguments.gpus)
    if noise:
        print("%s: %s" % (host.name(os.environ), noise))
    return 1 if noise else 0


def _checkup(arguments: Any) -> int:
    from .checkup import look, system, turn

    with turn.turn(arguments.turns):
        print(json.dumps(hardware.describe()))
        for group, finding in look.look(system.this_system(), arguments.seconds):
            print(json.dumps({"group": group, **finding._asdict()}))
    return 0


def _placement(arguments: Any) -> int:
    from .checkup import placement, system

    print(json.dumps(placement.placement(system.this_system(), os.environ)))
    return 0


def _after_dashes(words: List[str]) -> List[str]:
    return words[1:] if words[:1] == ["--"] else words
