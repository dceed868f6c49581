"""Every framework with each of its strategies across two nodes of a real Slurm."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest

from hpcbench.core.frameworks import FRAMEWORKS, TRAINING_FRAMEWORKS

DYING = Path(__file__).parent / "dying"
SOON_S = 30
STRATEGIES = [
    (framework, strategy)
    for framework, known in FRAMEWORKS.items()
    for strategy in known.strategies
    if strategy != "single"
]
LONG = {("mxnet", "horovod"), ("tensorflow", "horovod")}  # their environments take long to build
QUICK = [pair for pair in STRATEGIES if pair not in LONG]
OF_KERAS = [pair for pair in QUICK if pair[0].startswith("keras")]  # the ranks are those of the framework beneath
OWN = [pair for pair in QUICK if pair not in OF_KERAS]


def environment_of(framework: str, strategy: str) -> str:
    return f"horovod-{framework}" if strategy == "horovod" else framework


@pytest.fixture
def cluster_with(cluster, with_environments):
    """The command line on the cluster, where every environment is one that was built."""

    def use(pairs):
        names = {environment_of(*pair) for pair in pairs}
        with_environments(*names)
        site = cluster.site("cluster", scheduler="slurm", environments={})
        cluster.environment["HPCBENCH_SITE"] = str(cluster.workspace / site)
        return cluster

    return use


@pytest.mark.long
def test_every_framework_infers_and_trains_on_one_node(cluster_with):
    cluster = cluster_with([(framework, "single") for framework in TRAINING_FRAMEWORKS])
    experiment = cluster.experiment(
        parameters={"intra_op_threads": 1, "batch_size": 4},
        matrix={"framework": list(TRAINING_FRAMEWORKS), "task": ["inference", "training"]},
        slurm={"mem": "3G"},
    )
    cluster("sweep", experiment, "--wait")
    records = cluster.records()
    assert len(records) == 2 * len(TRAINING_FRAMEWORKS)
    assert {record["threads"]["intra_op"] for record in records} == {1}
    assert len({record["work"]["parameter_count"] for record in records}) == 1
    assert len({(r["parameters"]["task"], r["work"]["flops_per_item"]) for r in records}) == 2
    assert all(record["framework_version"] for record in records)


@pytest.mark.parametrize(
    "pairs",
    [
        pytest.param(QUICK, id="quick"),
        *(pytest.param([pair], id="-".join(pair), marks=pytest.mark.long) for pair in sorted(LONG)),
    ],
)
def test_every_strategy_trains_equal_weights_across_two_nodes(cluster_with, pairs):
    cluster = cluster_with(pairs)
    frameworks, strategies = zip(*pairs, strict=True)
    experiment = cluster.experiment(
        parameters={"intra_op_threads": 1, "batch_size": 4, "nodes": 2},
        zip=[{"framework": list(frameworks), "strategy": list(strategies)}],
        slurm={"mem": "3G", "time": "00:05:00"},
    )
    cluster("sweep", experiment, "--wait", expect=None)
    records = {(r["parameters"]["framework"], r["parameters"]["strategy"]): r for r in cluster.records()}
    assert {pair: record["error"] for pair, record in records.items()} == dict.fromkeys(pairs)
    for record in records.values():
        assert [rank["status"] for rank in record["ranks"]] == ["completed", "completed"]
        assert len({rank["host"] for rank in record["ranks"]}) == 2
        assert record["work"]["items_per_step"] == 8
        assert record["threads"]["intra_op"] == 1
        assert record["framework_version"]
        # The node code compares it over the ranks after the last step, and fails where it differs.
        assert record["weights_crc32"] is not None
    assert len({(r["work"]["parameter_count"], r["work"]["flops_per_item"]) for r in records.values()}) == 1


@pytest.mark.parametrize(
    "pairs", [pytest.param(OWN, id="own"), pytest.param(OF_KERAS, id="of Keras", marks=pytest.mark.long)]
)
def test_when_one_rank_dies_the_other_ends_and_the_record_names_the_dead_one(cluster_with, pairs):
    cluster = cluster_with(pairs)
    names = {environment_of(*pair) for pair in pairs}
    environments = {name: {"env": {"PYTHONPATH": str(DYING)}} for name in names}
    cluster.site("cluster", scheduler="slurm", environments=environments)
    frameworks, strategies = zip(*pairs, strict=True)
    experiment = cluster.experiment(
        parameters={"intra_op_threads": 1, "batch_size": 4, "nodes": 2},
        zip=[{"framework": list(frameworks), "strategy": list(strategies)}],
        measure={"min_time_s": 600, "max_time_s": 600},
        slurm={"mem": "3G", "time": "00:05:00"},
    )
    cluster("sweep", experiment, "--wait", expect=1)
    records = {(r["parameters"]["framework"], r["parameters"]["strategy"]): r for r in cluster.records()}
    assert set(records) == set(pairs)
    for case, record in records.items():
        assert record["status"] == "failed", case
        assert (record["error"]["rank"], record["error"]["signal"]) == (1, "SIGKILL"), (case, record["error"])
        ended = [datetime.fromisoformat(rank["ended_at"]) for rank in record["ranks"]]
        assert len(ended) == 2
        assert (max(ended) - min(ended)).total_seconds() < SOON_S, case


OWN_NETWORK = """
from torch import nn

def build(width):
    return nn.Sequential(nn.Flatten(), nn.Linear(192, width), nn.ReLU(), nn.Linear(width, 10))
"""
SMALL_BERT = {"num_hidden_layers": 2, "hidden_size": 32, "num_attention_heads": 2, "intermediate_size": 64}
EXTERNAL = {
    "torchvision/resnet18": {"input": {"shape": [3, 32, 32]}, "model_options": {}},
    "timm/convnext_atto": {"input": {"shape": [3, 32, 32]}, "model_options": {}},
    "transformers/bert": {"input": {"shape": [16]}, "model_options": SMALL_BERT},
    "nets:build": {"input": {"shape": [3, 8, 8]}, "model_options": {"width": 16}},
}


@pytest.mark.long
def test_models_of_libraries_and_of_the_user_train_across_two_nodes(cluster, with_environments):
    with_environments("pytorch-zoo")
    cluster.environment["HPCBENCH_SITE"] = str(
        cluster.workspace / cluster.site("cluster", scheduler="slurm", environments={})
    )
    (cluster.workspace / "nets.py").write_text(OWN_NETWORK)
    experiment = cluster.experiment(
        parameters={"environment": "pytorch-zoo", "intra_op_threads": 1, "batch_size": 4, "nodes": 2},
        matrix={"strategy": ["ddp", "fsdp"]},
        zip=[
            {
                "model": list(EXTERNAL),
                **{name: [each[name] for each in EXTERNAL.values()] for name in ("input", "model_options")},
            }
        ],
        slurm={"mem": "3G", "time": "00:10:00"},
    )
    cluster("sweep", experiment, "--wait", expect=None)
    records = cluster.records()
    cases = {(record["parameters"]["model"], record["parameters"]["strategy"]) for record in records}
    assert cases == {(model, strategy) for model in EXTERNAL for strategy in ("ddp", "fsdp")}
    assert {record["parameters"]["model"]: record["error"] for record in records} == dict.fromkeys(EXTERNAL)
    for record in records:
        assert [rank["status"] for rank in record["ranks"]] == ["completed", "completed"]
        assert record["slurm"]["job_num_nodes"] == "2"
        assert record["weights_crc32"] is not None
