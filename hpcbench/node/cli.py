"""The commands of the zipapp that a job script calls: monitor watches the node, spawn and rank run a repetition, record
writes it down, restarted tells what is left when Slurm starts the job anew. Of `hpcbench doctor --on-node`: checkup
looks at the node, peaks measures what it can do, placement tells what a task was given.

Each imports what it needs when it is called: every repetition waits for it several times.
"""

import argparse
import json
import os
import shutil
import sys
import tempfile
from typing import Any, Dict, List

from ..core.run_spec import read
from ..core.status import AGAIN, COMPLETED, CONTROLLER, GIVE_WAY, JOB_OVER, NODE_FAILURE, SIGNALLED
from .launch.ranks import from_environment

CLOCK_S = 1.0  # bash counts whole seconds
LONGER = 1.2  # than those before, that another attempt may take
NO_TURN = {JOB_OVER: "the job is being ended", CONTROLLER: "slurmctld does not answer"}


def main() -> int:
    arguments = _parser().parse_args()
    status: int = arguments.function(arguments)
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="node.pyz", description=__doc__)
    commands = parser.add_subparsers(dest="command")
    commands.required = True
    _add_before(commands)
    _add_tasks(commands)
    _add_records(commands)
    _add_doctor(commands)
    return parser


def _add_before(commands: Any) -> None:
    """What looks at the node, before a repetition and beside it."""
    looker = commands.add_parser("quiet", help="tell what others do on this node; status 1 where it is not quiet")
    looker.add_argument("--wait", type=float, default=0.0, metavar="SECONDS")
    looker.add_argument("--gpus", action="store_true", help="look at its GPUs, too")
    looker.set_defaults(function=_quiet)

    asker = commands.add_parser("monotone", help="tell why a repetition is skipped: a smaller case ran out of memory")
    _add_run(asker)
    asker.add_argument("--results", required=True)
    asker.set_defaults(function=_monotone)

    monitor = commands.add_parser("monitor", help="write down what happens on this node, until standard input ends")
    monitor.add_argument("scratch")
    monitor.add_argument("--nodes", default="", help="the folder of what is known of each node, written afterwards")
    monitor.set_defaults(function=_monitor)


def _add_tasks(commands: Any) -> None:
    """What runs a repetition."""
    launcher = commands.add_parser("spawn", help="start the tasks of a repetition on this machine")
    launcher.add_argument("--tasks", type=int, required=True)
    launcher.add_argument("--cpus-per-task", type=int, required=True)
    launcher.add_argument("rest", nargs=argparse.REMAINDER)
    launcher.set_defaults(function=_spawn)

    rank = commands.add_parser("rank", help="run one task of a repetition, and watch over it")
    _add_run(rank)
    rank.add_argument("--scratch", required=True)
    rank.add_argument("--packages", default="", help="the file of what this Python has installed, written afterwards")
    rank.add_argument("--limit", type=float, help="seconds after which it is stopped")
    rank.set_defaults(function=_rank)

    work = commands.add_parser("work", help="the task itself")
    _add_run(work)
    work.add_argument("--result-fd", type=int, required=True)
    work.add_argument("--found-fd", type=int, help="a file of the threads by section that it has found before")
    work.set_defaults(function=_work)


def _add_records(commands: Any) -> None:
    """What writes down how repetitions have ended."""
    writer = commands.add_parser("record", help="append the record of a repetition")
    _add_run(writer)
    writer.add_argument("--scratch", required=True)
    _add_files(writer)
    writer.add_argument("--log-from", type=int, default=0, help="where in the log this repetition begins")
    writer.add_argument("--shared", action="store_true", help="the job has other repetitions, too")
    writer.add_argument("--exit-status", type=int, required=True)
    writer.add_argument("--stopped", default="", help="the signal that told the script to end")
    writer.add_argument("--elapsed", type=float, required=True)
    writer.add_argument("--limit", type=float, required=True)
    writer.add_argument("--attempt", type=int, default=1, help="of this script")
    writer.add_argument("--noise", default="", help="why nothing was run: the node was not quiet")
    writer.add_argument("--too-large", default="", help="or what smaller case ran out of memory")
    writer.set_defaults(function=_record)

    restarted = commands.add_parser("restarted", help="print what a job that was started anew has still to run")
    restarted.add_argument("job_file")
    restarted.add_argument("elements", type=int, nargs="+")
    restarted.add_argument("--running", required=True, help="the folder of what runs, or ran until it was cut off")
    _add_files(restarted)
    restarted.set_defaults(function=_restarted)


def _add_doctor(commands: Any) -> None:
    """What `hpcbench doctor --on-node` asks for."""
    doctor = commands.add_parser("checkup", help="what makes numbers worse on this machine, as lines of JSON")
    doctor.add_argument("--seconds", type=int, required=True, help="how long to look at the noise floor")
    doctor.add_argument("--turns", required=True, help="the folder by which checkups take turns on a node")
    doctor.set_defaults(function=_checkup)

    measurer = commands.add_parser("peaks", help="the most that this machine does in a second, as a line of JSON")
    measurer.add_argument("--turns", required=True, help="the folder by which checkups take turns on a node")
    measurer.add_argument("--python", action="append", default=[], help="another Python that may have numpy or torch")
    measurer.set_defaults(function=_peaks)

    task = commands.add_parser("placement", help="the CPUs and GPUs that this task was given, as a line of JSON")
    task.set_defaults(function=_placement)


def _add_run(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("job_file")
    parser.add_argument("element", type=int)


def _add_files(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--records", required=True, help="the file of the job's records")
    parser.add_argument("--batch", required=True)
    parser.add_argument("--log", default="")


def _spawn(arguments: Any) -> int:
    from .launch.local_launcher import spawn

    return spawn(arguments.tasks, arguments.cpus_per_task, _after_dashes(arguments.rest))


def _monitor(arguments: Any) -> int:
    from .monitor.monitor import watch

    status = watch(arguments.scratch, os.path.basename(arguments.scratch))
    if arguments.nodes:  # its standard input has ended, and so has the measurement on all nodes
        _keep_node(arguments.nodes)
    return status


def _keep_node(folder: str) -> None:
    """What this node is made of, if nobody has told it yet."""
    from .host import hostname, inventory_file

    if os.path.exists(inventory_file.path_of(folder, hostname.name(os.environ))):
        return
    from .host import inventory
    from .host.sysfs import this_system

    places = [os.path.dirname(os.path.abspath(path)) for path in (sys.argv[0], folder)]
    inventory.keep(folder, this_system(), places, os.environ)


def _rank(arguments: Any) -> int:
    from ..core.files import make_folder
    from .launch import instances
    from .launch.supervisor import supervise

    make_folder(arguments.scratch)
    planned = read(arguments.job_file, arguments.element)
    ranks = from_environment(os.environ)
    instances.bind(planned, os.environ)
    if ranks.size < planned.instances:
        return instances.start(planned, [sys.executable, *sys.argv])
    worker = [sys.executable, sys.argv[0], "work", arguments.job_file, str(arguments.element)]
    workspace = os.path.abspath(os.path.join(arguments.job_file, "..", "..", ".."))  # of jobs/SWEEP/JOB.jsonl
    status = supervise(planned, ranks, worker, workspace, arguments.scratch, arguments.limit)
    if arguments.packages and ranks.rank == 0 and status < SIGNALLED:
        _keep_packages(arguments.packages, arguments.scratch, planned.ranks)
    return status


def _keep_packages(path: str, scratch: str, ranks: int) -> None:
    """What is installed here, if nobody has told it yet: this is the one place that is surely inside a container."""
    from ..core import packages
    from ..core.files import keep_once
    from .host import hostname
    from .launch import rank_files

    if not os.path.exists(path) and rank_files.all_have_ended(scratch, ranks):
        keep_once(path, lambda: {"told_by": hostname.name(os.environ), **packages.installed()})


def _work(arguments: Any) -> int:
    from .worker.worker import find, looks_for_threads, run

    planned = read(arguments.job_file, arguments.element)
    ranks, environment = from_environment(os.environ), dict(os.environ)
    if arguments.found_fd is not None:
        with os.fdopen(arguments.found_fd, encoding="utf-8") as file:
            facts = run(planned, ranks, json.load(file))
    elif looks_for_threads(planned):
        facts = find(planned, ranks)
        if facts["status"] == COMPLETED:
            _start_anew(facts["found"], environment)
    else:
        facts = run(planned, ranks)
    with os.fdopen(arguments.result_fd, "w", encoding="utf-8") as pipe:
        json.dump(facts, pipe, separators=(",", ":"))
    sys.stdout.flush()
    sys.stderr.flush()
    # The result is out. Taking the interpreter down would let C++ destructors race with the framework's threads:
    # one DDP run in five on gloo aborted there, after all its work was done.
    os._exit(0 if facts["status"] == COMPLETED else 1)


def _start_anew(found: Dict[str, Any], environment: Dict[str, str]) -> None:
    """Become the same task from its beginning, with what was found and the environment that it had. Does not return."""
    with tempfile.TemporaryFile("w", encoding="utf-8") as file:
        json.dump(found, file)
        file.flush()
        file.seek(0)
        os.set_inheritable(file.fileno(), True)
        sys.stdout.flush()
        sys.stderr.flush()
        os.execve(sys.executable, [sys.executable, *sys.argv, "--found-fd", str(file.fileno())], environment)


def _record(arguments: Any) -> int:
    from .results import outcome, record_writer

    sweep = _sweep_of(arguments.job_file)
    ranks = record_writer.read_ranks(arguments.scratch)
    ending = outcome.Ending(
        exit_status=arguments.exit_status,
        stopped=bool(arguments.stopped),
        elapsed_s=arguments.elapsed,
        limit_s=arguments.limit,
        margin_s=0.0 if "SLURM_JOB_ID" in os.environ else CLOCK_S,
        log=arguments.log,
        log_from=arguments.log_from,
        shared=arguments.shared,
        preempted=_gives_way(ranks, arguments.stopped),
        noise=arguments.noise,
        too_large=arguments.too_large,
    )
    no_turn = outcome.why_no_turn(ranks, ending)
    if no_turn is not None:
        print("hpcbench: %s; this repetition has not had its turn" % NO_TURN[no_turn])
        shutil.rmtree(arguments.scratch, ignore_errors=True)
        return no_turn
    place = record_writer.Place(_job_of(arguments.job_file), arguments.element, arguments.batch, arguments.attempt)
    planned = read(arguments.job_file, arguments.element)
    written = record_writer.write(planned, sweep, place, ending, arguments.scratch, arguments.records)
    reason = ": %s" % written["error"]["message"] if written["error"] else ""
    named = (written["case_id"], written["repetition"], written["status"], reason)
    print("hpcbench: case %s repetition %d %s%s" % named)
    if ending.preempted:
        return GIVE_WAY
    if written["status"] == NODE_FAILURE:
        return JOB_OVER
    if _another(written, sweep["experiment"]["retry"], arguments):
        return AGAIN
    return 0 if written["status"] == COMPLETED else 1


def _gives_way(ranks: List[Dict[str, Any]], stopped: str) -> bool:
    """Whether tasks were told to end, and the script was not, because Slurm preempts the job and gives them a time of
    grace (GraceTime of slurm.conf(5)): a person may have ended the step as well."""
    from .job import preemption

    told = any(rank["stopped_by"] == "SIGTERM" for rank in ranks)
    return told and not stopped and preemption.is_preempted(os.environ)


def _another(written: Dict[str, Any], retry: Dict[str, Any], arguments: Any) -> bool:
    """Whether to run again what was disturbed, or ended in a way that is to be retried: as often as asked, as the wall
    time allows, unless told to end."""
    from ..core.samples import DISTURBED

    disturbed = (written["interference"] or {}).get("verdict") == DISTURBED
    most = written["measure"]["retries"] if disturbed else retry["max"] if written["status"] in retry["on"] else 0
    if arguments.stopped or arguments.attempt > most:
        return False
    each_s = arguments.elapsed / arguments.attempt
    enough: bool = arguments.elapsed + LONGER * each_s <= arguments.limit
    what = "disturbed" if disturbed else written["status"]
    print("hpcbench: %s; %s" % (what, "once more" if enough else "no time is left to try again"))
    return enough


def _restarted(arguments: Any) -> int:
    from .job import requeue

    sweep = _sweep_of(arguments.job_file)
    count = int(os.environ.get("SLURM_RESTART_COUNT", 1))
    started = requeue.Start(count, arguments.batch, arguments.running, arguments.records, arguments.log)
    requeue.record_cut_off(arguments.job_file, sweep, started)
    left = requeue.still_to_run(arguments.elements, started, sweep["experiment"]["retry"])
    print(" ".join(map(str, left)))
    return 0


def _sweep_of(job_file: str) -> Dict[str, Any]:
    with open(os.path.join(os.path.dirname(os.path.abspath(job_file)), "sweep.json"), encoding="utf-8") as file:
        sweep: Dict[str, Any] = json.load(file)
    return sweep


def _job_of(job_file: str) -> str:
    return os.path.splitext(os.path.basename(job_file))[0]


def _quiet(arguments: Any) -> int:
    from .host import hostname
    from .monitor import idle_check

    noise = idle_check.wait(arguments.wait, arguments.gpus)
    if noise:
        print("%s: %s" % (hostname.name(os.environ), noise))
    return 1 if noise else 0


def _monotone(arguments: Any) -> int:
    from ..core import oom_pruning

    planned = read(arguments.job_file, arguments.element)
    print(oom_pruning.too_large(planned, oom_pruning.notes(planned, arguments.results)) or "")
    return 0


def _checkup(arguments: Any) -> int:
    from .checks import run_checks, take_turns
    from .host import hardware, sysfs

    with take_turns.turn(arguments.turns):
        print(json.dumps(hardware.describe()))
        for group, finding in run_checks.look(sysfs.this_system(), arguments.seconds):
            print(json.dumps({"group": group, **finding._asdict()}))
    return 0


def _peaks(arguments: Any) -> int:
    from .checks import peaks, take_turns
    from .host import sysfs

    with take_turns.turn(arguments.turns):
        looked = peaks.look(sysfs.this_system(), [sys.executable, *arguments.python])
    findings = [finding._asdict() for finding in looked.findings]
    print(json.dumps({"machine": looked.machine.as_data(), "findings": findings}))
    return 0


def _placement(arguments: Any) -> int:
    from .checks import placement
    from .host import sysfs

    print(json.dumps(placement.placement(sysfs.this_system(), os.environ)))
    return 0


def _after_dashes(words: List[str]) -> List[str]:
    return words[1:] if words[:1] == ["--"] else words
