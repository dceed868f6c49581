"""JAX, and Keras on JAX: what is special to them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hpcbench.node.host import cpuinfo, hardware

pytestmark = pytest.mark.parametrize("framework", ["jax", pytest.param("keras-jax", marks=pytest.mark.long)])


@pytest.fixture
def found(ask):
    """What the script finds in the environment of a framework."""
    return lambda framework, what: ask("jax_networks", framework, what, framework=framework)


def test_a_step_keeps_its_state_on_the_device_and_changes_all_of_it(framework, found):
    network = found(framework, "state")
    assert network["old_weights_are_gone"], "a training step writes its weights where the old ones were"
    assert network["programs"] == 1, "the step is compiled once"
    assert len(set(network["losses"])) == 3, "dropout draws anew in each step"
    assert network["statistics_moved"], "batch norm learns its running statistics"
    assert network["an_item_is_inferred_alone"], "inference neither draws nor takes the batch's statistics"
    assert network["logits_of_no_weights"] == 0, "the weights are arguments of the compiled program, not part of it"


def test_the_time_is_read_after_every_result_is_ready_with_mock_results(framework, found):
    timed = found(framework, "synchronized")
    assert list(timed) == ["forward", "both", "inference", "training"]
    for what, of in timed.items():
        assert of["late"] == 0, what
        assert of["results"] > 3, what


def test_two_ranks_take_the_step_that_one_takes_with_both_their_batches(framework, found, ask_ranks, monkeypatch):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")  # a site's, and the ranks meet past it
    first, second = ask_ranks("jax_networks", framework, "ranks", "data_parallel", framework=framework)
    alone = found(framework, "ranks")
    assert first["weights"] == second["weights"]
    for together, whole in zip(first["weights"], alone["weights"], strict=True):
        np.testing.assert_allclose(together, whole, rtol=1e-4, atol=1e-6)
    assert (first["logits"], alone["logits"]) == ([4, 3], [8, 3])


def test_threads_are_cpus_and_are_counted_in_the_running_process(framework, with_environments):
    if len(hardware.usable_cpus()) < 2:
        pytest.skip("needs two CPUs; not run: that JAX takes as many threads as it is given CPUs")
    axes = {"matrix": {"intra_op_threads": [1, 2]}}
    for record in run_cases(with_environments(framework), framework, cpus_per_task=2, axes=axes):
        assert record["threads"]["intra_op"] == record["parameters"]["intra_op_threads"]
        assert record["threads"]["inter_op"] is None
        assert "CPU affinity" in record["threads"]["by"]
        assert len(record["affinity"][0]) == record["parameters"]["intra_op_threads"]


@pytest.mark.skipif(len(hardware.usable_cpus()) < 2, reason="needs two CPUs; not run: images decoded beside JAX")
def test_images_are_decoded_on_the_cpus_of_the_task_by_all_but_one_of_them(framework, found):
    said = found(framework, "loaders")
    assert said["task"] == hardware.usable_cpus()
    assert len(said["main"]) == 1
    assert said["threads"] == [said["task"]] * (len(said["task"]) - 1)


def test_what_jax_cannot_do_is_unsupported_and_says_why(framework, with_environments):
    cases = {
        "intra_op_threads": [1000, None, None],
        "inter_op_threads": [None, 2, None],
        "dtype": ["float32", "float32", "float16"],
    }
    axes = {"zip": [cases]}
    records = run_cases(with_environments(framework), framework, expect=1, axes=axes, oversubscribe=True)
    assert {record["status"] for record in records} == {"unsupported"}
    for words in ("it cannot use 1000 on", "no setting for inter_op_threads", "float32 or bfloat16 here"):
        assert [record for record in records if words in record["error"]["message"]], words


@pytest.mark.skipif(Path("/dev/nvidiactl").exists(), reason="not run: what is said without a GPU; there is one")
def test_a_gpu_that_is_not_there_is_unsupported(framework, with_environments):
    parameters = {"device": "gpu", "gpus_per_task": 1}
    (record,) = run_cases(with_environments(framework), framework, expect=1, **parameters)
    assert record["status"] == "unsupported"
    assert "a GPU is requested, but JAX" in record["error"]["message"]


def test_bfloat16_that_xla_computes_in_float32_is_remarked(framework, with_environments):
    if not cpuinfo.computes_in("bfloat16"):
        pytest.skip("this CPU has no bfloat16 arithmetic; not run: bfloat16 on JAX")
    options = {"input_size": 8, "hidden_size": 16, "sequence_length": 4}
    axes = {"matrix": {"task": ["inference", "training"]}}
    parameters = {"dtype": "bfloat16", "model": "lstm", "model_options": options}
    records = run_cases(with_environments(framework), framework, axes=axes, **parameters)
    assert {record["work"]["math_mode"] for record in records} == {"pure", "autocast"}
    for record in records:
        assert [words for words in record["warnings"] if "into float32" in words]


def test_a_lack_of_memory_is_recognised(framework, found):
    others = dict.fromkeys(("another", "another_resource", "of_another_kind"), False)
    assert found(framework, "memory") == {"real": True, **others}


def test_the_free_memory_is_that_of_a_fake_gpu(framework, found):
    assert found(framework, "free_memory") == [[6, None], [None, None], [None, None]]


def test_a_machine_that_gloo_could_not_be_reached_at_is_told(framework, found):
    said = found(framework, "names")
    assert said["one machine"] is None
    assert said["two machines"] is None
    assert "the node's name: n2 is 127.0.1.1 there" in said["loopback"]
    assert "the node's name: n2 is unknown there" in said["unknown"]


def run_cases(command_line, framework, expect=0, axes=None, **parameters):
    """The records of a sweep of tiny networks; `axes` are an experiment's `matrix` or `zip`."""
    experiment = command_line.experiment(parameters={"framework": framework, **parameters}, **(axes or {}))
    command_line("sweep", experiment, "--local", "--site", command_line.site(environments={}), expect=expect)
    return command_line.records()
