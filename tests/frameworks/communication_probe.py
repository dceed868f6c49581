"""Run as the ranks of a case, in a framework's own environment: the bytes of its steps, as the worker records them.

A question to answering.py: communication_probe FRAMEWORK STRATEGY MODEL CHANGES
"""

import json

from hpcbench_carried.core.typed_json import to_json
from hpcbench_carried.node.worker.communication import Meter
from probing import adapter_of, case, own_group

STEPS = 4
LARGE = {  # 10.6 and 11.6 MB of gradients
    "mlp": {"input_size": 1024, "hidden_size": 1200, "classes": 10},
    "transformer": {
        "hidden_size": 240,
        "layers": 4,
        "heads": 4,
        "feed_forward_size": 960,
        "vocabulary": 500,
        "positions": 8,
        "sequence_length": 8,
        "classes": 10,
    },
}


def main(framework, strategy, model, changes):
    adapter, group = adapter_of(framework), own_group()
    asked = {"strategy": strategy, "framework": framework, "model_options": LARGE[model], **json.loads(changes)}
    network = adapter.build(case(model, group, **asked))
    meter = Meter(network)
    for count in range(2 * STEPS):
        if count == STEPS:
            meter.begin()
        network.train()
        network.synchronize()
    found = {**to_json(meter.end(STEPS, STEPS)), "weight_bytes": 4 * network.parameter_count}
    group.gather(None)
    network.close()
    return found
