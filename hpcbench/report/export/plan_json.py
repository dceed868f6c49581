"""The plan of a sweep or a search as JSON, for programs: what `--dry-run` shows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hpcbench.config.pricing import has_prices
from hpcbench.core.typed_json import to_json
from hpcbench.plan.packing import Job
from hpcbench.plan.plan import Plan, budget
from hpcbench.plan.profiled_cases import estimate
from hpcbench.report.export.json_text import json_text
from hpcbench.store.predictions import SweepPredictions

_HOURS = ("timing_node_hours", "power_node_hours")


def plan_json(plan: Plan, name: str, warnings: Sequence[str], predictions: SweepPredictions | None = None) -> str:
    """Return cases, jobs, maximum usage, predictions and warnings of a plan as JSON; null is unknown or unset."""
    most, cost = budget(plan.jobs, plan.site), plan.site.cost
    found = estimate(plan.experiment.measure)
    document = {
        "sweep": name,
        "experiment": plan.experiment.name,
        "site": plan.site.name,
        "scheduler": plan.site.scheduler,
        "cases": [
            {"case": case.id, "parameters": case.parameters.planned(), "user_parameters": case.user_parameters}
            for case in plan.cases
        ],
        "jobs": [_job(job) for job in plan.jobs],
        "maximum": {
            "node_hours": most.node_hours,
            "core_hours": most.core_hours,
            "gpu_hours": most.gpu_hours,
            "longest_walltime_s": most.longest_s,
            "price": most.price.amount,
            "currency": cost.currency if has_prices(cost) else None,
        },
        "profile_estimate": None if found is None else dict(zip(_HOURS, found.node_hours(plan.jobs), strict=True)),
        "predictions": None if predictions is None else to_json(predictions),
        "warnings": list(warnings),
    }
    return json_text(document)


def search_json(
    plan: Plan, name: str, metric: str, searched: Sequence[dict[str, Any]], most: int, warnings: Sequence[str]
) -> str:
    """Return what a search would compare, at most `most` measurements, and warnings as JSON."""
    document = {
        "sweep": name,
        "experiment": plan.experiment.name,
        "site": plan.site.name,
        "scheduler": plan.site.scheduler,
        "metric": metric,
        "workloads": list(searched),
        "max_measurements": most,
        "warnings": list(warnings),
    }
    return json_text(document)


def _job(job: Job) -> dict[str, Any]:
    resources = job.resources
    return {
        "job": job.name,
        "runs": len(job.runs),
        "array_tasks": len(job.packs),
        "nodes": resources.nodes,
        "tasks_per_node": job.width * resources.tasks_per_node,
        "cpus_per_task": resources.cpus_per_task,
        "gpus_per_task": resources.gpus_per_task,
        "time": job.time,
        "environment": resources.environment,
    }
