"""The worker: one rank of one run, in a process of its own. Its result is a dictionary."""

import os
import re
import sys
import time
import traceback
import zlib
from dataclasses import replace
from importlib import metadata
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Optional, Tuple

from ...core import status
from ...core.frameworks import ALWAYS, BACKWARD, DYNAMIC, IF_KNOWN, INPUT_PIPELINE, SETTINGS, TIME_TO_ACCURACY
from ...core.run_spec import PlannedRun
from ...core.samples import Samples
from ...core.typed_json import to_json
from ...core.variables.worker import RETAIN, RETAINING
from .. import frameworks
from ..errors import BadData, BadModel, Invalid, Missed, Unsupported
from ..host import hardware, topology
from ..host.sysfs import System
from ..launch import dynamic_linker, feasibility, preload
from ..launch.rank_files import NO_FILES, Files
from ..launch.ranks import Ranks
from ..launch.rendezvous import Group
from ..measurement import stopping_rules, timing
from . import later_parts
from .communication import Meter

if TYPE_CHECKING:
    from ..frameworks.adapter import Adapter, Network
    from ..frameworks.computation import Computation

_NO_AVERAGING = "%d steps (averaging_period) take longer than max_time_s: the step time does not include the averaging"


def run(
    planned: PlannedRun,
    ranks: Ranks,
    found: Optional[Dict[str, Any]] = None,
    files: Files = NO_FILES,
    save: later_parts.Save = lambda facts: None,
) -> Dict[str, Any]:
    """Run one rank of a run, and return its facts. An error of the framework is an outcome, and is not raised.

    `found` is the result of `search_threads`, for a case that needs one. `save` stores the facts before each part that
    follows the measurement.
    """
    outlet = later_parts.Outlet(files, save)
    return _outcome(planned, lambda adapter, facts: _measure(adapter, planned, Group(ranks), found, outlet, facts))


def needs_thread_search(planned: PlannedRun) -> bool:
    """Return whether the run has to search for a per-layer thread plan."""
    return bool(planned.parameters["threads"] == DYNAMIC and planned.parameters["schedule"] is None)


def search_threads(planned: PlannedRun, ranks: Ranks) -> Dict[str, Any]:
    """Search for a per-layer thread plan, for `run` in a new process. An error is an outcome, and is not raised.

    The new process is necessary because the search changes the heap: users' programs follow a plan from their start.
    """
    return _outcome(planned, lambda adapter, facts: _search_threads(adapter, planned, Group(ranks), facts))


def _outcome(planned: PlannedRun, work: "Callable[[Adapter, Dict[str, Any]], None]") -> Dict[str, Any]:
    facts: Dict[str, Any] = {"python": sys.version.split()[0], "executable": sys.executable, "warnings": []}
    adapter: "Optional[Adapter]" = None
    try:
        missing = feasibility.what_is_missing(planned)
        if missing:
            raise Unsupported(missing)
        adapter = _framework(planned, facts)
        work(adapter, facts)
        facts["status"] = status.COMPLETED
    except Unsupported as error:
        facts["status"] = status.UNSUPPORTED
        facts["error"] = {"type": "unsupported", "message": str(error)}
    except Missed as error:
        facts["status"] = status.FAILED
        facts["learning"] = error.learning
        facts["error"] = {"type": status.MISSED, "message": str(error)}
    except Invalid as error:
        facts["status"] = status.FAILED
        facts["error"] = {"type": "validation", "message": str(error)}
    except BadData as error:
        facts["status"] = status.FAILED
        facts["error"] = {"type": "data", "message": str(error)}
    except BadModel as error:
        cause = error.__cause__
        exhausted = bool(adapter and cause and adapter.is_out_of_memory(cause))
        facts["status"] = status.OUT_OF_MEMORY if exhausted else status.FAILED
        facts["error"] = {"type": error.type, "message": str(error), "last_lines": error.last_lines}
        sys.stderr.write("".join(line + "\n" for line in error.last_lines))
    except Exception as error:
        exhausted = adapter.is_out_of_memory(error) if adapter else isinstance(error, MemoryError)
        facts["status"] = status.OUT_OF_MEMORY if exhausted else status.FAILED
        facts["error"] = _described(error, planned.parameters["framework"])
        traceback.print_exc()
    facts.setdefault("peak_memory_bytes", hardware.peak_resident_bytes())
    return facts


def _framework(planned: PlannedRun, facts: Dict[str, Any]) -> "Adapter":
    """Import the framework, and restore the CPU affinity if the import changed it.

    `GOMP_CPU_AFFINITY` and `OMP_PROC_BIND` make some OpenMP runtimes bind the importing thread to one core.
    """
    allowed = hardware.usable_cpus()
    parameters = planned.parameters
    facts["physical_cores"] = topology.physical_cores(System(allowed))
    ignored = dynamic_linker.not_mapped(preload.found(parameters, os.environ))
    if ignored:
        raise Unsupported("LD_PRELOAD has %s, but the dynamic linker did not load it" % ignored)
    start = time.perf_counter()
    adapter = frameworks.load(parameters["framework"])
    facts["import_s"] = time.perf_counter() - start
    if hardware.usable_cpus() != allowed:
        os.sched_setaffinity(0, allowed)
        facts["warnings"].append("importing %s changed the CPU affinity; hpcbench restored it" % adapter.name)
    facts["packages"] = _versions(adapter.packages)
    facts["framework_version"] = adapter.libraries[0].version
    _check_versions(adapter)
    return adapter


def _check_versions(adapter: "Adapter") -> None:
    for name, version, first, beyond in adapter.libraries:
        if not _numbers(first) <= _numbers(version) < _numbers(beyond):
            found = "%s %s is here (%s)" % (name, version, sys.executable)
            wanted = "versions from %s and below %s are supported" % (first, beyond)
            advice = "`hpcbench env build %s` builds a suitable one" % adapter.name
            raise Unsupported("; ".join((found, wanted, advice)))


def _numbers(version: str) -> List[int]:
    """Return `2.13.0+cpu` as [2, 13, 0]."""
    return [int(number) for number in re.findall(r"\d+", version.split("+")[0])[:3]]


def _built(adapter: "Adapter", planned: PlannedRun, group: Group, facts: Dict[str, Any]) -> Any:
    from ..workload import problem  # needs numpy, which every framework requires

    parameters = planned.parameters
    adapter.set_threads(parameters["intra_op_threads"], parameters["inter_op_threads"])
    adapter.set_settings(parameters)
    facts["affinity"] = hardware.usable_cpus()
    if (planned.instances > 1 or parameters["affinity"]) and not parameters["oversubscribe"]:
        _check_apart(facts["affinity"], group)
    start = time.perf_counter()
    network = adapter.build(problem.of_case(parameters, group))
    facts["build_s"] = time.perf_counter() - start
    facts["work"] = to_json(network.work)
    facts["gpus"] = _own_gpu(adapter, network)
    return network


def _search_threads(adapter: "Adapter", planned: PlannedRun, group: Group, facts: Dict[str, Any]) -> None:
    from ..thread_schedule.search import session  # needs torch
    from .tasks import STEPS

    network = _built(adapter, planned, group, facts)
    step = STEPS[planned.parameters["task"]](network)
    facts["found"] = session.search_schedule(network, step, planned.measure["max_time_s"])


def _measure(
    adapter: "Adapter",
    planned: PlannedRun,
    group: Group,
    found: Optional[Dict[str, Any]],
    outlet: later_parts.Outlet,
    facts: Dict[str, Any],
) -> None:
    from .tasks import STEPS, time_to_accuracy

    parameters = planned.parameters
    network = _built(adapter, planned, group, facts)
    if parameters["task"] == TIME_TO_ACCURACY:
        try:
            facts["learning"], samples = time_to_accuracy.measure(network)
        except Missed:
            later_parts.skip(planned, outlet.files, group.rank, facts, "the training missed its target accuracy")
            raise
    else:
        step = STEPS[parameters["task"]](network)
        facts["dynamic"] = _by_section(network, step, planned, found)
        samples = _sampled(network, step, planned, group, facts)
        if facts["dynamic"]:  # its first step precedes those of `measure`
            samples = replace(samples, first_step_s=facts["dynamic"].pop("first_step_s"))
    facts["measurements"] = to_json(samples)
    facts["threads"] = adapter.threads()
    if facts.get("dynamic"):
        facts["threads"].update(facts["dynamic"]["threads"])
    facts["settings"] = {**dynamic_linker.in_effect(), **adapter.settings()}
    _check_in_effect(parameters, facts["settings"])
    facts["warnings"] += _thread_warnings(facts) + network.remarks()
    facts["peak_device_bytes"] = network.peak_device_bytes()
    if parameters["task"] == BACKWARD:
        facts["saved_activations"] = to_json(network.saved_activations())
    if network.problem.training:
        facts["weights_crc32"] = _agreed_weights(network, group)
    if later_parts.follow(adapter, network, planned, facts, outlet):
        _close(network, group, facts)


def _sampled(
    computation: Any, step: Callable[[], Any], planned: PlannedRun, group: Group, facts: Dict[str, Any]
) -> Samples:
    """Return the measurements of a step, with what ranks that train together exchange in it among the facts."""
    from .tasks import input_pipeline

    settings = stopping_rules.settings_of(planned.measure)
    if computation.problem.parameters["task"] == INPUT_PIPELINE:
        return input_pipeline.measure(computation, settings, group, facts)
    meter = Meter(computation, planned.owns_nodes) if computation.problem.parallel else None
    begin = meter.begin if meter else lambda: None
    period = computation.problem.averaging_period
    with computation.context():
        samples = timing.measure(
            step, computation.synchronize, settings, group.agree, after_warmup=begin, period=period
        )
    if (samples.steps_per_measurement or 1) % period:
        facts["warnings"].append(_NO_AVERAGING % period)
    if meter:
        steps = len(samples.times_s) * samples.steps_per_measurement
        facts["communication"] = to_json(meter.end(samples.warmup_steps or 0, steps))
    return samples


def _check_apart(cpus: List[int], group: Group) -> None:
    """Raise Unsupported unless each rank of the node has CPUs of its own."""
    everyones = group.gather(cpus)
    sharing = [rank for rank in group.local_ranks if rank != group.rank and set(everyones[rank]) & set(cpus)]
    if sharing:
        message = "ranks %d and %d share CPUs" % (group.rank, sharing[0])
        why = "there are too few CPUs, or the launcher does not bind each task to its own"
        raise Unsupported("%s: %s; `oversubscribe: true` allows it" % (message, why))


def _check_in_effect(parameters: Dict[str, Any], found: Dict[str, Any]) -> None:
    """Raise Unsupported if a setting that can be read back differs from the requested one."""
    for setting in SETTINGS:
        asked, effective = parameters[setting.name], found.get(setting.name)
        is_verified = setting.verified == ALWAYS or (setting.verified == IF_KNOWN and effective is not None)
        if asked is not None and is_verified and effective != asked:
            values = (setting.name, str(asked).lower(), str(effective).lower())
            raise Unsupported("%s: %s was requested, but the value in effect is %s" % values)
    if parameters["allocator"] == RETAIN and not (found["allocator"] or "").endswith(dynamic_linker.RETAINING):
        values = (RETAIN, " ".join(RETAINING), found["allocator"])
        raise Unsupported("allocator: %s was requested by %s, but the one in effect is %s" % values)


def _by_section(
    network: "Network", step: Callable[[], Any], planned: PlannedRun, found: Optional[Dict[str, Any]]
) -> Optional[Dict[str, Any]]:
    """Apply a per-layer thread plan, if the case has one."""
    if planned.parameters["threads"] != DYNAMIC:
        return None
    from ..thread_schedule.search.session import apply_or_search  # needs torch

    return apply_or_search(network, step, found)


def _own_gpu(adapter: "Adapter", network: "Computation") -> List[str]:
    """Return the model of this rank's GPU; nothing on CPUs, where the query could open all GPUs."""
    if not network.problem.on_gpu:
        return []
    from ..frameworks import capabilities  # needs numpy

    seen = adapter.devices()
    return [seen[capabilities.own_gpu(network.problem, len(seen))]]


def _agreed_weights(network: "Network", group: Group) -> int:
    """Return a checksum of the trained weights. Raise RuntimeError if ranks that train together differ."""
    checksum = 0
    for weight in network.weights():
        checksum = zlib.crc32(weight.tobytes(), checksum)
    if not network.problem.parallel:  # each rank has trained its own
        return checksum
    checksums = group.gather(checksum)
    differing = [rank for rank, other in enumerate(checksums) if other != checksums[0]]
    if differing:
        raise RuntimeError("after training, the weights of rank %s differ from rank 0's" % differing)
    return checksum


def _close(network: "Network", group: Group, facts: Dict[str, Any]) -> None:
    """Leave the group of ranks. Not called after an error: it could wait for the other ranks for ever."""
    try:
        group.gather(None)  # rank 0 holds what the others still need
        network.close()
        group.close()
    except Exception as error:  # another rank has ended already; its own outcome has the reason
        facts["warnings"].append("closing the process group failed: %s" % error)


def _thread_warnings(facts: Dict[str, Any]) -> List[str]:
    threads, cpus = facts["threads"]["intra_op"], len(facts["affinity"])
    if threads is not None and threads > cpus:
        return ["%d intra-op threads share %d CPUs" % (threads, cpus)]
    return []


def _versions(packages: Tuple[str, ...]) -> Dict[str, str]:
    versions = {}
    for package in packages:
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return versions


def _described(error: BaseException, framework: str) -> Dict[str, Any]:
    message = str(error).strip().splitlines()
    if message[:1] == ["Traceback (most recent call last):"]:  # MXNet's message begins with the stack of its C++ code
        message = [line for line in message[1:] if not line.startswith(" ")]
    if isinstance(error, ModuleNotFoundError):
        advice = "`hpcbench env build %s` builds an environment with it" % framework
        other = "or set another Python under `environments` in the site file"
        message = ["%s in %s: %s, %s" % (error, sys.executable, advice, other)]
    lines = "".join(traceback.format_exception(type(error), error, error.__traceback__)).splitlines()
    return {
        "type": type(error).__name__,
        "message": message[0] if message else "",
        "last_lines": lines[-status.LAST_LINES :],
    }
