"""Tables of the fixed limits: their values are read from the code."""

from __future__ import annotations

from typing import NamedTuple

from hpcbench.analysis.studies import best_case
from hpcbench.collect import found_metrics
from hpcbench.collect.profiles import lines as profile_lines
from hpcbench.commands.shared import planning
from hpcbench.config import environment_variables, expressions, metrics, yaml_document
from hpcbench.config.experiment import Measure
from hpcbench.config.matrix import axes, csv_file, row_filter
from hpcbench.config.retry import Retry
from hpcbench.core import status
from hpcbench.core.metrics import kept_output, value
from hpcbench.core.profiling.operator_row import MOST_CLOCKS
from hpcbench.doctor import each_node
from hpcbench.environments import packages, wheel_cache
from hpcbench.node.checks import peaks
from hpcbench.node.launch import local_launcher, rendezvous, supervisor
from hpcbench.node.measurement import stopping_rules, timing
from hpcbench.node.monitor import monitor, timeline
from hpcbench.node.thread_schedule import file as plan_file
from hpcbench.plan import case, packing, plan
from hpcbench.report.charts import encoding, parallel
from hpcbench.report.html import build_page, large_sweeps
from hpcbench.slurm import client
from hpcbench.store import logs
from hpcbench.store.archive import unpack
from hpcbench.store.provenance import git
from hpcbench.submit import continuation_job, local_executor, slurm_executor, template
from hpcbench.util.locking import lease
from reference_parts.tables import markdown_table


class Limit(NamedTuple):
    """A limit: what it is of, its value with its unit, and what happens at it."""

    of: str
    size: str
    effect: str


def input_limits() -> list[str]:
    """Return the limits of files, cases and expressions."""
    too_large = "error before anything is submitted"
    return _table(
        Limit("size of a YAML file", _bytes(yaml_document.MAX_FILE_BYTES), too_large),
        Limit("values in a YAML file, with expanded aliases", _count(yaml_document.MAX_VALUES), too_large),
        Limit("depth of a YAML file", _count(yaml_document.MAX_DEPTH), too_large),
        Limit("values of an axis", _count(axes.MAX_AXIS_VALUES), too_large),
        Limit("size of a CSV file", _bytes(yaml_document.MAX_FILE_BYTES), too_large),
        Limit("rows of a CSV file", _count(csv_file.MAX_ROWS), too_large),
        Limit("time for `where` of a CSV file", _seconds(row_filter.MAX_S), too_large),
        Limit("cases of a sweep", _count(planning.MOST_POINTS), "error, unless you pass `--yes`"),
        Limit("jobs of a sweep without a warning", _count(plan.MANY_JOBS), "warning: Slurm's default MaxJobCount"),
        Limit("size of an expression, of its operands and results", _count(expressions.MAX_SIZE), too_large),
        Limit("bits of an integer in an expression", _count(expressions.MAX_BITS), too_large),
        Limit("time for all expressions of a case", _seconds(case.MAX_S), too_large),
        Limit("`measure.repetitions`", _bound(Measure, "repetitions"), too_large),
        Limit("`measure.retries`", _bound(Measure, "retries"), too_large),
        Limit("`retry.max`", _bound(Retry, "max"), too_large),
        Limit("characters of a `regex` of a metric", _count(metrics._MOST_PATTERN), too_large),
        Limit("bytes of one variable in `env`", _count(environment_variables._MOST_EACH), too_large),
        Limit("bytes of all variables in `env`", _count(environment_variables._MOST_BYTES), too_large),
        Limit("size of a per-layer thread plan", _bytes(plan_file.MOST_BYTES), "the run fails"),
    )


def script_limits() -> list[str]:
    """Return the limits of scripts and of Slurm commands."""
    return _table(
        Limit("size of a job script", _bytes(template.MAX_TEXT), "error: Slurm's default max_script_size"),
        Limit("time to render a script", _seconds(template.MAX_S), "error"),
        Limit("memory to render a script", _bytes(template.MAX_MEMORY), "error"),
        Limit("job bundles in an array", _count(packing.MAX_PACKS), "another array"),
        Limit("time for a Slurm command", _seconds(client.TIMEOUT_S), "error: Slurm does not respond"),
        Limit("time for an optional query", _seconds(client.QUERY_TIMEOUT_S), "unknown"),
        Limit("time for `sbatch`", _seconds(slurm_executor.SBATCH_LIMIT_S), "`sbatch` is terminated"),
        Limit("time limit of a continuation job", _seconds(continuation_job._MAX_S), "Slurm ends the job"),
        Limit("heartbeat of the lock of a sweep", _seconds(lease.BEAT_S), "-"),
        Limit("heartbeat timeout of a lock", _seconds(lease.WATCH_S), "another process takes the lock"),
    )


def run_limits() -> list[str]:
    """Return the limits of runs."""
    ends = "hpcbench kills the processes"
    return _table(
        Limit("measurements of a run", _count(stopping_rules.MAX_SAMPLES_KEPT), "measuring stops"),
        Limit("steps in one measurement", _count(timing.MAX_STEPS), "the measurement ends"),
        Limit("interval between checks of the stopping rules", _seconds(timing.WINDOW_S), "-"),
        Limit("shortest warm-up, unless `max_warmup_s` is shorter", _seconds(timing.SHORTEST_WARMUP_S), "-"),
        Limit("time until all ranks have connected", _seconds(rendezvous.MEETING_TIMEOUT_S), "the run fails"),
        Limit("ports that rank 0 tries", _count(rendezvous.CANDIDATES), "the run fails"),
        Limit("time from SIGTERM to SIGKILL for a rank", _seconds(supervisor.TERMINATE_GRACE_S), ends),
        Limit("the same for the supervisor of a local run", _seconds(local_launcher.KILL_AFTER_S), ends),
        Limit("time from Ctrl-C to SIGKILL for a local run", _seconds(local_executor.STOP_GRACE_S), ends),
        Limit("interval of the monitor", _seconds(timeline.INTERVAL_S), "longer if a reading takes long"),
        Limit("CPU time of the monitor per node", f"{_percent(monitor.MOST)} of a core", "longer interval"),
    )


def output_limits() -> list[str]:
    """Return the limits of output, records and archives."""
    kept = kept_output.SEGMENT_BYTES
    ends = f"the first {_bytes(kept)}, and the last {_bytes(kept)} to {_bytes(kept * kept_output.LAST)}, are kept"
    return _table(
        Limit("output of a task, per stream", _bytes(kept * (1 + kept_output.LAST)), ends),
        Limit("kept output of a run", _bytes(kept_output.MOST_BYTES), "the rest is not kept"),
        Limit("size of a `file` with a metric", _bytes(kept_output.MOST_OF_FILE), "the metric is not found"),
        Limit("numbers of a metric in a record", _count(value.KEPT), "the first ones are kept"),
        Limit("metrics found in output without a definition", _count(found_metrics.MOST), "the most informative ones"),
        Limit("output that is searched for them", f"{_count(found_metrics.MOST_SEARCHED)} characters", "both ends"),
        Limit("size of a line of an operator profile", _bytes(profile_lines.MAX_LINE), "the line is left out"),
        Limit("lines of operator profiles of a sweep", _count(profile_lines.MAX_ROWS), "later ones are left out"),
        Limit("clocks of a profile", _count(MOST_CLOCKS), "the experiment is refused"),
        Limit("last lines of the output of a failed run in its record", _count(status.LAST_LINES), "-"),
        Limit("log that `logs` and `show` read", _bytes(logs.MOST_BYTES), "only the end is read"),
        Limit("characters of a line that they print", _count(logs.LONGEST), "only the end is printed"),
        Limit("diff of the checkout", _bytes(git.MAX_BYTES), "the beginning is kept"),
        Limit("untracked files that are listed", _count(git.MAX_NAMES), "the rest is counted"),
        Limit("files and folders in an archive", _count(unpack.MAX_ENTRIES), "the archive is refused"),
        Limit("unpacked size of an archive", _bytes(unpack.MAX_BYTES), "the archive is refused"),
        Limit("the same, without logs, timelines and output", _bytes(unpack.MAX_READ), "the archive is refused"),
        Limit("fraction of the free disk space that stays free", _percent(unpack.SPARE), "the archive is refused"),
    )


def report_limits() -> list[str]:
    """Return the limits of reports."""
    page = "the page shows the best ones, and aggregates of all"
    return _table(
        Limit("cases in the table of a page", _count(large_sweeps.MAX_ROWS), page),
        Limit("workloads with a ranking on a page", _count(build_page.MAX_WORKS), "the table shows all"),
        Limit("points of a chart", _count(encoding.MAX_POINTS), "the best ones are drawn"),
        Limit("cases in parallel coordinates", _count(parallel.MAX_CASES), "the best ones are drawn"),
        Limit("cases that are compared with the best one", _count(best_case.MAX_COMPARED), "only the best ones"),
    )


def set_up_limits() -> list[str]:
    """Return the limits of doctor and env."""
    return _table(
        Limit("time limit of a job of `doctor --each-node`", _seconds(each_node.LIMIT_S), "Slurm ends the job"),
        Limit("time to measure the peak performance", _seconds(peaks.TIMEOUT_S), "not measured"),
        Limit("concurrent compilers of `env build`", _count(wheel_cache.MOST_COMPILERS), "-"),
        Limit("time for the version of a framework", _seconds(packages.ANSWER_S), "unknown"),
    )


def _table(*limits: Limit) -> list[str]:
    return markdown_table(("limit of", "value", "beyond it"), limits)


def _bound(model: type[Measure | Retry], key: str) -> str:
    return _count(next(each.le for each in model.model_fields[key].metadata if hasattr(each, "le")))


def _count(number: int) -> str:
    return f"{number:,}"


def _seconds(seconds: float) -> str:
    return f"{seconds:g} s"


def _percent(part: float) -> str:
    return f"{100 * part:g} %"


def _bytes(size: int) -> str:
    """Return a size in the largest unit in which it is an integer."""
    units = (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10), ("MB", 10**6), ("B", 1))
    unit, factor = next(each for each in units if size % each[1] == 0)
    return f"{size // factor:,} {unit}"
