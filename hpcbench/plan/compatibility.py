"""Check the settings of a case against its framework, and its threads against the requested CPUs."""

from __future__ import annotations

from typing import NamedTuple

from hpcbench.config.parameters import Parameters
from hpcbench.core.frameworks import COMPILED, SETTINGS, THREAD_COUNTS, runtime_settings
from hpcbench.core.run_spec import COMMAND


class Incompatibility(NamedTuple):
    """An invalid parameter, with the problem and a hint."""

    name: str
    what: str
    hint: str = ""


def incompatibility(parameters: Parameters) -> Incompatibility | None:
    """Return the first incompatible setting of a case; None if all are compatible."""
    return _setting(parameters) or _instances(parameters) or _threads(parameters)


def _setting(parameters: Parameters) -> Incompatibility | None:
    """Return a setting that the framework does not have, which a record would wrongly report as effective."""
    framework = parameters.framework
    if framework == COMMAND and parameters.affinity is not None:
        return Incompatibility(
            "affinity", "'affinity' cannot be used with framework: command; bind the command itself, e.g. by taskset"
        )
    for setting in SETTINGS:
        lacks = setting.frameworks is not None and framework not in setting.frameworks
        if lacks and getattr(parameters, setting.name) is not None:
            known = ", ".join(runtime_settings(framework)) or "none of these settings"
            return Incompatibility(setting.name, f"{framework} has no '{setting.name}'; it has: {known}")
    if parameters.compile_mode is not None and parameters.execution != COMPILED:
        what = f"'compile_mode' requires execution: {COMPILED}, not {parameters.execution or 'the default'}"
        return Incompatibility("compile_mode", what)
    return None


def _instances(parameters: Parameters) -> Incompatibility | None:
    if parameters.instances == 1:
        return None
    if parameters.framework == COMMAND:
        return Incompatibility("instances", "'instances' cannot be used with framework: command; use 'tasks_per_node'")
    if parameters.strategy != "single":
        what = f"'instances' cannot be used with strategy: {parameters.strategy}"
        return Incompatibility("instances", what, "remove 'strategy' or 'instances'")
    if parameters.device != "cpu":
        return Incompatibility("instances", f"'instances' cannot be used with device: {parameters.device}")
    if parameters.tasks > 1:
        return Incompatibility("instances", f"'instances' requires one task, not {parameters.tasks}")
    return None


def _threads(parameters: Parameters) -> Incompatibility | None:
    """Return a thread count above the CPUs. Counts are not added up: their concurrency depends on the network."""
    if parameters.oversubscribe:
        return None
    for name in THREAD_COUNTS:
        threads = getattr(parameters, name) or 1
        if parameters.instances * threads > parameters.cpus_per_task:
            return _too_many(parameters, name if threads > 1 else "instances", name)
    return None


def _too_many(parameters: Parameters, blamed: str, kind: str) -> Incompatibility:
    threads, instances = getattr(parameters, kind), parameters.instances
    asked = f"{kind} is {threads}" if threads is not None else ""
    if instances > 1:
        asked = f"{instances} instances, and {asked}" if asked else f"{instances} instances"
    needed = instances * (threads or 1)
    hint = f"set cpus_per_task: {needed} (--set cpus_per_task={needed}), or oversubscribe: true"
    return Incompatibility(blamed, f"{asked}: this exceeds cpus_per_task, {parameters.cpus_per_task}", hint)
