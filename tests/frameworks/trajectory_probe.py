"""Run in a framework's own environment: the trajectories of small networks, with the weights in files of a folder.

A question to answering.py: trajectory_probe FRAMEWORK EXECUTION STEPS FOLDER
"""

from pathlib import Path

from hpcbench_carried.core.run_spec import PlannedRun
from hpcbench_carried.core.typed_json import to_json
from hpcbench_carried.node.worker import trajectory
from probing import adapter_of, case

MODELS = ("mlp", "lstm", "transformer")
OPTIMIZERS = ("momentum", "adam")


def main(framework, execution, steps, folder):
    adapter = adapter_of(framework)
    answers = {}
    for model in MODELS:
        for optimizer in OPTIMIZERS:
            asked = {"execution": execution, "threads": None, "optimizer": {"name": optimizer, "learning_rate": 0.01}}
            problem = case(model, **asked)
            measure = {"trajectory": {"steps": int(steps)}}
            planned = PlannedRun("case", 0, 1, 0, problem.parameters, {}, measure)
            name = f"{framework}-{model}-{optimizer}.npy"
            found = trajectory.record(adapter, adapter.build(problem), planned, str(Path(folder) / name))
            answers[f"{model} {optimizer}"] = [name, to_json(found)]
    return answers
