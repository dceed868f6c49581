"""TensorFlow's adapter, in TensorFlow's own environment."""

from __future__ import annotations

import os

import pytest

from hpcbench.core.frameworks import FRAMEWORKS

EXECUTIONS = FRAMEWORKS["tensorflow"].executions


@pytest.fixture
def probe(answers):
    """What a probe's first rank answers."""
    return lambda *words, **settings: answers(
        "tensorflow_probe.py", *words, framework="tensorflow", threads=(None, None), **settings
    )[0]


@pytest.fixture(scope="session")
def known():
    """What one process has answered: to start TensorFlow takes seconds."""
    return {}


@pytest.fixture
def in_a_graph(probe, known):
    """The answers to all that one process can be asked. The last question changes what it sees of the CPU."""
    if not known:
        known.update(probe("modes,memory,evaluation,embedding,refusals", "graph"))
    return known


@pytest.mark.parametrize("execution", ["graph", "compiled"])
def test_as_many_threads_run_as_were_asked_for_and_are_said(probe, execution):
    found = probe("threads", execution, INTRA=3, INTER=5)
    assert found["said"] == {"intra_op": 3, "inter_op": 5, "by": "tf.config.threading"}
    assert (found["intra_op"], found["inter_op"]) == (3, 5)


@pytest.mark.parametrize(
    ("cpus", "own", "intra", "inter"),
    [
        ([min(os.sched_getaffinity(0))], {}, 1, 1),
        ([], {"TF_NUM_INTRAOP_THREADS": 3, "TF_NUM_INTEROP_THREADS": 4}, 3, 4),
    ],
)
def test_threads_that_nobody_asked_for_are_as_many_as_run(probe, cpus, own, intra, inter):
    found = probe("threads", "graph", cpus=cpus, INTRA=0, INTER=0, **own)
    assert (found["said"]["intra_op"], found["said"]["inter_op"]) == (intra, inter)
    assert (found["intra_op"], found["inter_op"]) == (intra, inter)


@pytest.mark.parametrize(
    ("execution", "calls", "compiled"), [("eager", 3, False), ("graph", 1, False), ("compiled", 1, True)]
)
def test_the_ways_of_execution_are_what_they_are_called(in_a_graph, execution, calls, compiled):
    assert in_a_graph["modes"][execution] == {"calls": calls, "compiled": compiled}


def test_a_lack_of_memory_is_told_from_a_full_disk_of_the_same_type(in_a_graph):
    exhausted = "ResourceExhaustedError"
    assert in_a_graph["memory"] == {
        "eager": [exhausted, True],
        "compiled": [exhausted, True],
        "disk": [exhausted, False],
        "shapes": ["InvalidArgumentError", False],
    }


def test_what_it_cannot_do_here_it_refuses_with_a_reason(in_a_graph):
    said = in_a_graph["refusals"]
    assert "has no bfloat16 arithmetic" in said["bfloat16"]
    assert "float16 needs loss scaling" in said["float16"]
    assert "built for the CPU only" in said["gpu"]


def test_nothing_of_a_case_for_a_gpu_is_on_the_cpu_but_the_data(probe):
    said = probe("places", "graph")
    assert "the case requests a GPU, but TensorFlow has arrays on /job:localhost/replica:0/task:0/" in said["weights"]
    assert (said["cpu"], said["gpu"]) == ({}, {"GPU": 1})
    assert said["data"].endswith("CPU:0")


def test_a_prediction_in_the_midst_of_training_is_one_of_inference(in_a_graph):
    assert all(distance < 1e-3 for distance in in_a_graph["evaluation"].values())


def test_momentum_moves_the_rows_of_an_embedding_that_a_batch_lacks(in_a_graph):
    assert in_a_graph["embedding"] > 1e-5


@pytest.mark.parametrize("execution", ["eager", "compiled"])  # for "graph", see test_backward.py, test_optimizers.py
def test_two_mirrored_workers_meet_past_a_proxy_and_take_the_mean_of_their_gradients(probe, execution):
    found = probe("averaging", execution, "multi_worker_mirrored", ranks=2, http_proxy="http://127.0.0.1:9")
    assert found["alone_they_differ"]
    assert found["distance"] < 1e-6


def test_one_mirrored_worker_trains_as_if_alone(probe):
    assert probe("averaging", "graph", "multi_worker_mirrored")["distance"] < 1e-6


@pytest.mark.long
@pytest.mark.parametrize("execution", EXECUTIONS)
def test_two_ranks_of_horovod_take_the_mean_of_their_gradients(probe, execution):
    found = probe("averaging", execution, "horovod", ranks=2, environment="horovod-tensorflow")
    assert found["alone_they_differ"]
    assert found["distance"] < 1e-6
