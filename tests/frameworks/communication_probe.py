"""Run as the ranks of a case, in a framework's own environment: the bytes of its steps, as the worker records them.

PYTHONPATH=node.pyz python communication_probe.py FRAMEWORK STRATEGY MODEL CHANGES
"""

import json
import os
import sys

from hpcbench_carried.core.typed_json import to_json
from hpcbench_carried.node import frameworks
from hpcbench_carried.node.launch.ranks import from_environment
from hpcbench_carried.node.launch.rendezvous import Group
from hpcbench_carried.node.worker.communication import Meter
from probing import case, tell

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

if __name__ == "__main__":
    framework, strategy, model, changes = sys.argv[1:]
    adapter, group = frameworks.load(framework), Group(from_environment(os.environ))
    asked = {"strategy": strategy, "framework": framework, "model_options": LARGE[model], **json.loads(changes)}
    network = adapter.build(case(model, group, **asked))
    meter = Meter(network)
    for count in range(2 * STEPS):
        if count == STEPS:
            meter.begin()
        network.train()
        network.synchronize()
    tell({**to_json(meter.end(STEPS, STEPS)), "weight_bytes": 4 * network.parameter_count})
    group.gather(None)
    os._exit(0)
