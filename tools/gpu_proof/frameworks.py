"""Strategies on one device, and the same workload in JAX and in PyTorch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .bench import Bench, Record
from .models import SMALL, dtypes, of_models, options, problems_of
from .steps import Outcome, judged, not_run

STRATEGIES = ("single", "ddp", "fsdp")
JAX_NEEDS = ("jax", "flax", "optax")
SAME = ("parameter_count", "flops_per_item", "items_per_step", "dtype", "math_mode")
MODELS = ("mlp", "resnet50")


def sharded(bench: Bench, deadline_s: float) -> Outcome:
    """Train a transformer with each strategy on one device."""
    parameters = {"model": "transformer", "task": "training", "dtype": dtypes(bench)[0], "batch_size": 8}
    experiment = {
        "parameters": {**parameters, "model_options": SMALL["transformer"]},
        "matrix": {"strategy": list(STRATEGIES)},
    }
    records, done = bench.sweep("strategies", experiment, deadline_s)
    return of_strategies(records, bench.is_rehearsal, done.last_line)


def of_strategies(records: Sequence[Record], on_cpu: bool, last_line: str) -> Outcome:
    """Return whether all strategies completed with the same workload."""
    ended = [record for record in records if record["status"] != "cancelled"]
    found = {record["parameters"]["strategy"]: record for record in ended}
    wanted = [(record["parameters"]["model"], record["parameters"]["dtype"]) for record in ended]
    outcome = of_models(ended, wanted, on_cpu, last_line)
    missing = [name for name in STRATEGIES if name not in found]
    works = {name: _work(record) for name, record in found.items() if record["work"]}
    usual = works.get("single")
    differing = [f"{name} has another workload than single" for name in works if usual and works[name] != usual]
    checksums = {name: record["weights_crc32"] for name, record in found.items()}
    evidence = [*outcome.evidence, f"checksums of the trained weights: {checksums}"]
    whole = judged(evidence, [*outcome.problems, *differing])
    return whole.cut_short(f"not run for lack of time: {', '.join(missing)}") if missing else whole


def jax_and_pytorch(bench: Bench, deadline_s: float) -> Outcome:
    """Train the same models in both frameworks, in float32."""
    missing = [name for name in JAX_NEEDS if name not in bench.modules]
    if missing:
        return not_run(f"not installed: {', '.join(missing)}")
    parameters: dict[str, Any] = {"task": "training", "batch_size": 4 if bench.is_rehearsal else 32}
    axes = {"model": list(MODELS), "model_options": [options(bench, model) for model in MODELS]}
    experiment = {"parameters": parameters, "matrix": {"framework": ["pytorch", "jax"]}, "zip": [axes]}
    records, done = bench.sweep("frameworks", experiment, deadline_s)
    return of_pairs(records, bench.is_rehearsal, done.last_line)


def of_pairs(records: Sequence[Record], on_cpu: bool, last_line: str) -> Outcome:
    """Return whether both frameworks had the same workload for each model, on the same GPU."""
    ended = [record for record in records if record["status"] != "cancelled"]
    if not ended:
        return judged([], [f"no record: {last_line}"])
    problems = problems_of(ended, on_cpu)
    wanted = [(model, record["parameters"]["dtype"]) for model in MODELS for record in ended[:1]]
    evidence = list(of_models(ended, wanted, on_cpu, last_line).evidence)
    missing = []
    for model in MODELS:
        pair = {each["parameters"]["framework"]: each for each in ended if each["parameters"]["model"] == model}
        if len(pair) < 2:
            missing.append(f"{model} in {', '.join(pair) or 'no framework'}")
            continue
        one, other = pair["pytorch"], pair["jax"]
        for name, values in {**_both(one, other), "gpus": (one["gpus"], other["gpus"])}.items():
            if values[0] != values[1]:
                problems.append(f"{model}: {name} is {values[0]} in PyTorch and {values[1]} in JAX")
        evidence.append(f"{model}: workload in PyTorch: {_work(one)}")
    outcome = judged(evidence, problems)
    return outcome.cut_short(f"not enough time; run only: {'; '.join(missing)}") if missing else outcome


def _both(one: Record, other: Record) -> dict[str, tuple[Any, Any]]:
    return {name: (_work(one).get(name), _work(other).get(name)) for name in SAME}


def _work(record: Record) -> dict[str, Any]:
    return {name: (record["work"] or {}).get(name) for name in SAME}
