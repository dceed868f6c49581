"""Run in a framework's own environment: the check of the updates of some optimizers.

A question to answering.py: update_probe FRAMEWORK EXECUTION
"""

from hpcbench_carried.node.worker.validation.update_check import check_updates
from probing import adapter_of, case

CASES = [("mlp", "adamw"), ("mlp", "adagrad"), ("mlp", "lamb"), ("lstm", "momentum")]


def main(framework, execution):
    adapter, answers = adapter_of(framework), []
    for model, optimizer in CASES:
        problem = case(model, execution=execution, task="training", optimizer=optimizer)
        found = check_updates(adapter, problem)
        answers.append([f"{model} {optimizer}", found.steps, found.reason, found.bound_ratio])
    return answers
