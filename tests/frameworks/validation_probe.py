"""Run in a framework's own environment: the validation of small networks in inference and backward.

A question to answering.py: validation_probe FRAMEWORK EXECUTION MODELS SEEDS
"""

from hpcbench_carried.node.worker.validation.networks import validate_network
from probing import adapter_of, case

OPTIONS = {"lstm_stack": {"batch_size": 3}, "resnet50": {"batch_size": 4}}
MODELS = {
    "lstm_stack": {
        "input_size": 3,
        "hidden_size": 8,
        "narrow_size": 4,
        "layers": 2,
        "sequence_length": 5,
        "classes": 3,
    },
    "gpt": {
        "hidden_size": 8,
        "layers": 2,
        "heads": 2,
        "feed_forward_size": 8,
        "vocabulary": 9,
        "positions": 6,
        "sequence_length": 5,
    },
}


def main(framework, execution, models, seeds):
    adapter = adapter_of(framework)
    answers = []
    for model in models.split(","):
        for task in ("inference", "backward"):
            for seed in range(int(seeds)):
                asked = {"execution": execution, "task": task, "seed": seed, **OPTIONS.get(model, {})}
                if model in MODELS:
                    asked["model_options"] = MODELS[model]
                network = adapter.build(case(model, **asked))
                found = validate_network(adapter, network, None, [])
                worst = found.worst and [found.worst.array, found.worst.ratio]
                answers.append([model, task, seed, found.verdict, found.reason, worst])
    return answers
