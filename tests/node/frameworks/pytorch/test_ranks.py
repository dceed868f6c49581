"""Two ranks of PyTorch on the CPU: one set of weights, data of their own, one record."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hpcbench.models import blocks, catalog
from hpcbench.models.catalog import resolved_options
from hpcbench.node.host import hardware
from tests.node.frameworks.pytorch.tiny import TINY

pytestmark = pytest.mark.torch
pytest.importorskip("torch", reason="PyTorch is not installed; not run: two ranks of PyTorch")

# A task of its own that the launcher starts: it trains models through the adapter and says what their weights became.
TRAIN = """
import json, os, sys
zipapp, cases, out = sys.argv[1:]
sys.path.insert(0, zipapp)
from hpcbench_carried.node.frameworks import load
from hpcbench_carried.node.launch.rendezvous import Group
from hpcbench_carried.node.launch.ranks import from_environment
from hpcbench_carried.node.workload import problem
import torch
group = Group(from_environment(os.environ))
torch.set_num_threads(1)
said = []
for parameters in json.loads(cases):
    network = load("pytorch").build(problem.of_case(parameters, group))
    sums = [[float(w.astype("float64").sum()) for w in network.weights()]]
    for _ in range(3):
        network.train()
    sums.append([float(w.astype("float64").sum()) for w in network.weights()])
    said.append({
        "before": sums[0],
        "after": sums[1],
        "input": float(next(network._batches)[0].double().sum()),
        "items": network.work.items_per_step,
        "parameters": network.work.parameter_count,
    })
    group.gather(None)
    network.close()
with open(os.path.join(out, str(group.rank)), "w") as file:
    json.dump(said, file)
group.gather(None)
sys.stdout.flush()
os._exit(0)
"""


@pytest.mark.parametrize("strategy", ["ddp", "fsdp"])
def test_two_ranks_train_one_set_of_weights_on_data_of_their_own(
    tmp_path: Path,
    make_folder: Callable[..., Any],
    make_parameters: Callable[..., dict[str, Any]],
    clean_environment: dict[str, str],
    strategy: str,
) -> None:
    models = ["mlp", "lstm", "resnet50", "transformer"]
    given = {"task": "training", "strategy": strategy, "tasks_per_node": 2}
    folder = make_folder(**given)
    cases = [make_parameters(model=model, model_options=TINY[model], **given) for model in models]
    command = [sys.executable, "-c", TRAIN, str(folder.zipapp), json.dumps(cases), str(tmp_path)]
    words = folder.spawn_words(2, 1, command)
    done = subprocess.run(words, env=clean_environment, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr
    ranks = [json.loads((tmp_path / rank).read_text()) for rank in ("0", "1")]
    for model, first, second in zip(models, *ranks, strict=True):
        assert first["after"] == second["after"], model
        assert first["before"] == second["before"] != first["after"], model
        assert first["input"] != second["input"], model
        assert first["items"] == 2 * 4
        network = catalog.network(model, resolved_options(model, TINY[model]))
        assert first["parameters"] == second["parameters"] == blocks.parameter_count(*network), model


def test_two_ranks_leave_one_record_with_the_samples_of_both(
    make_folder: Callable[..., Any], clean_environment: dict[str, str]
) -> None:
    if len(hardware.usable_cpus()) < 2:
        pytest.skip("needs two CPUs; not run: a DDP run through the zipapp")
    folder = make_folder(model_options=TINY["mlp"], task="training", strategy="ddp", tasks_per_node=2)
    words = folder.spawn_words(2, 1, folder.words("rank"))
    done = subprocess.run(words, env=clean_environment, capture_output=True, text=True, timeout=120, check=False)
    record = folder.record(done.returncode, clean_environment)
    assert record["status"] == "completed", done.stderr
    assert [rank["status"] for rank in record["ranks"]] == ["completed"] * 2
    assert len(record["measurements"]["times_s"]) >= 2
    assert record["work"]["items_per_step"] == 2 * 4
    assert record["weights_crc32"] is not None
    samples, communication = record["measurements"], record["communication"]
    assert communication["steps"] == len(samples["times_s"]) * samples["steps_per_measurement"]
    assert [count > 0 for count in communication["sent_bytes"]] == [True, True]
    assert communication["sent_bytes"] == communication["received_bytes"][::-1], (
        "of two ranks, one receives what the other sends"
    )
    assert record["affinity"][0] != record["affinity"][1]
