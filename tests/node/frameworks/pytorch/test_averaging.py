"""Ranks of PyTorch that average their weights, compared with the same steps in NumPy.

A rank of the simulation takes a step of its own with a network of one rank. The means are NumPy's, in float64.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.node.frameworks.pytorch.tiny import TINY

pytestmark = pytest.mark.torch
pytest.importorskip("torch", reason="PyTorch is not installed; not run: ranks of PyTorch that average their weights")

PERIOD = 2
STEPS = 5
TRAIN = """
import json, os, sys
zipapp, cases, out, steps = sys.argv[1:]
sys.path.insert(0, zipapp)
import numpy, torch
from hpcbench_carried.core.typed_json import to_json
from hpcbench_carried.node.frameworks import load
from hpcbench_carried.node.launch.rendezvous import Group
from hpcbench_carried.node.launch.ranks import Ranks, from_environment
from hpcbench_carried.node.worker.communication import Meter
from hpcbench_carried.node.workload import problem
group = Group(from_environment(os.environ))
torch.set_num_threads(1)
adapter = load("pytorch")

def trained(network):
    return [weight for weight in network.model.parameters() if weight.requires_grad]

def values(network):
    return [weight.detach().double().numpy().tolist() for weight in trained(network)]

def of_others(network):  # each rank's weights, in the order of the ranks
    return [[numpy.array(each) for each in rank] for rank in group.gather(values(network))]

def mean(ranks):
    return [sum(each) / len(ranks) for each in zip(*ranks)]

def simulated(parameters, ranks, step):
    if parameters["strategy"] == "local_sgd":
        return mean(ranks) if step % parameters["averaging_period"] == 0 else ranks[group.rank]
    around = {(group.rank + change) % group.size for change in (-1, 0, 1)}
    return mean([ranks[rank] for rank in sorted(around)])

said = []
for parameters in json.loads(cases):
    network = adapter.build(problem.of_case(parameters, group))
    alone = adapter.build(problem.of_case({**parameters, "strategy": "single"}, Group(Ranks(0, 1))))
    alone._batches = network._batches  # the same share of the batch
    distance = apart = 0.0
    meter = Meter(network)
    meter.begin()
    for step in range(1, int(steps) + 1):
        network.train()
        alone.train()
        expected = simulated(parameters, of_others(alone), step)
        with torch.no_grad():
            for weight, value in zip(trained(alone), expected):
                weight.copy_(torch.from_numpy(value))
        ranks = of_others(network)
        distance = max(distance, *(abs(a - b).max() for a, b in zip(expected, ranks[group.rank])))
        apart = max(apart, *(abs(a - b).max() for a, b in zip(ranks[0], ranks[-1])))
    communication = meter.end(0, int(steps))
    own, common = values(network), [weight.tolist() for weight in network.weights()]
    middle = max(abs(a - b).max() for a, b in zip(mean(of_others(network)), map(numpy.array, common)))
    said.append({
        "distance": float(distance),
        "apart": float(apart),
        "of mean": float(middle),
        "equal": all(each == common for each in group.gather(common)),
        "kept": own == values(network),
        "expected": communication.expected_bytes_per_step / (4 * network.parameter_count),
    })
    group.gather(None)
    network.close()
with open(os.path.join(out, str(group.rank)), "w") as file:
    json.dump(said, file)
group.gather(None)
sys.stdout.flush()
os._exit(0)
"""


@pytest.mark.parametrize("ranks", [4, *(pytest.param(few, marks=pytest.mark.long) for few in (2, 3))])
def test_ranks_average_their_weights_as_in_numpy(
    tmp_path: Path,
    make_folder: Callable[..., Any],
    make_parameters: Callable[..., dict[str, Any]],
    clean_environment: dict[str, str],
    ranks: int,
) -> None:
    given = {"model": "mlp", "model_options": TINY["mlp"], "task": "training", "tasks_per_node": ranks}
    folder = make_folder(**given, strategy="local_sgd", oversubscribe=True)
    cases = [
        make_parameters(**given, strategy=strategy, averaging_period=PERIOD) for strategy in ("local_sgd", "neighbors")
    ]
    command = [sys.executable, "-c", TRAIN, str(folder.zipapp), json.dumps(cases), str(tmp_path), str(STEPS)]
    words = folder.spawn_words(ranks, 1, command)
    done = subprocess.run(words, env=clean_environment, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr
    volumes = {"local_sgd": 2 * (ranks - 1) / ranks * (STEPS // PERIOD) / STEPS, "neighbors": min(2, ranks - 1)}
    for rank in range(ranks):
        said = dict(zip(volumes, json.loads((tmp_path / str(rank)).read_text()), strict=True))
        for strategy, found in said.items():
            assert found["distance"] < 1e-6, strategy
            assert found["of mean"] < 1e-6, strategy
            assert found["equal"], f"{strategy}: an evaluation has the same weights on all ranks"
            assert found["kept"], f"{strategy}: the training continues with the rank's own weights"
            assert found["expected"] == pytest.approx(volumes[strategy])
        assert said["local_sgd"]["apart"] > 1e-4
        assert (said["neighbors"]["apart"] > 1e-4) == (ranks > 3), "with three ranks, all are neighbors"
