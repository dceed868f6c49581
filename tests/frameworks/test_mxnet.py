"""MXNet's adapter, in MXNet's own environment."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from hpcbench.core.frameworks import FRAMEWORKS
from hpcbench.node.host import cpuinfo
from hpcbench.node.worker.worker import _described

EXECUTIONS = FRAMEWORKS["mxnet"].executions


@pytest.fixture
def found(answers):
    """The answer of a probe's first rank."""
    return lambda *words, **settings: answers("mxnet_probe.py", *words, framework="mxnet", **settings)[0]


QUESTIONS = {"graph": "modes,evaluation,embedding,refusals,memory,free_memory", "eager": "modes,evaluation"}


@pytest.fixture(scope="module")
def known():
    """What one process for each way of execution has answered: to start MXNet takes a second."""
    return {}


@pytest.fixture
def told(found, known):
    """The answers of one process. The last questions change what it sees of CPU and GPUs, and limit its memory."""

    def told(execution):
        if execution not in known:
            known[execution] = found(QUESTIONS[execution], execution)
        return known[execution]

    return told


def test_as_many_threads_run_as_were_asked_for_and_are_said(found):
    one = found("threads", "graph", threads=(1, 1), INTRA=1, INTER=1)
    wide = found("threads", "graph", threads=(4, 1), INTRA=4, INTER=1)
    many = found("threads", "graph", threads=(1, 4), INTRA=1, INTER=4)
    by = "OMP_NUM_THREADS, MXNET_CPU_WORKER_NTHREADS"
    assert one["said"] == {"intra_op": 1, "inter_op": 1, "by": by}
    assert wide["said"] == {"intra_op": 4, "inter_op": 1, "by": by}
    assert many["said"] == {"intra_op": 1, "inter_op": 4, "by": by}
    assert wide["all"] - one["all"] >= 3, "OpenMP may have a team for the main thread, too"
    assert many["all"] - one["all"] == 3


def test_threads_that_nobody_asked_for_are_read_back(found):
    assert found("threads", "graph", threads=(3, None), INTRA=0, INTER=0)["said"]["intra_op"] == 3


def test_threads_are_refused_once_mxnet_has_started_with_others(start):
    (process,) = start("mxnet_probe.py", "threads", "graph", framework="mxnet", INTRA=2, INTER=0)
    _, error = process.communicate(timeout=100)
    assert process.returncode
    assert "MXNet reads its number of threads from OMP_NUM_THREADS, which must be set before it starts" in error


@pytest.mark.parametrize(("execution", "calls"), [("eager", 3), ("graph", 1)])
def test_the_ways_of_execution_are_what_they_are_called(told, execution, calls):
    assert told(execution)["modes"] == calls


def test_the_free_memory_is_that_of_the_fake_gpu_of_the_rank(told):
    assert told("graph")["free_memory"] == [6, None]


def test_what_it_cannot_do_here_it_refuses_with_a_reason(told):
    said = told("graph")["refusals"]
    assert said["float16"] == "this framework computes in float32 or bfloat16 here, not in float16"
    assert "has no bfloat16 arithmetic" in said["bfloat16"]
    kvstore, horovod = (f"cannot be used with MXNet and strategy: {name}" for name in ("kvstore", "horovod"))
    assert said["adam on servers"] == f"optimizer adam {kvstore}; use one of: sgd, momentum, nesterov"
    assert said["schedule on servers"] == f"a learning-rate schedule {kvstore}"
    assert said["adam on asynchronous servers"].startswith(
        "optimizer adam cannot be used with MXNet and strategy: kvstore_async"
    )
    assert said["clipping on servers"] == f"clip_norm and clip_value {kvstore}"
    assert said["clipping with Horovod"] == f"clip_norm and clip_value {horovod} (it averages within the update)"
    assert said["lstm"] == said["transformer"] == "MXNet's LSTM and attention have no bfloat16 arithmetic"
    assert "built for the CPU only" in said["gpu"]


def test_a_numpy_without_the_names_that_mxnet_asks_for_is_named_with_the_one_to_install(zipapp, environment_python):
    newer = "import numpy; numpy.__deprecated_attrs__.clear(); numpy.__version__ = '1.24.0'"  # what 1.24 has done
    load = "from hpcbench_carried.node import frameworks; frameworks.load('mxnet')"
    command = [environment_python("mxnet"), "-c", f"{newer}; {load}"]
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": str(zipapp)}, capture_output=True, text=True)
    last = done.stderr.splitlines()[-1]
    assert last.startswith("hpcbench_carried.node.errors.Unsupported: MXNet does not import with NumPy 1.24.0 (")
    assert last.endswith("install numpy 1.23.5 there, as `hpcbench env build mxnet` does")


@pytest.mark.parametrize("execution", EXECUTIONS)
def test_a_prediction_in_the_midst_of_training_is_one_of_inference(told, execution):
    assert all(distance < 1e-3 for distance in told(execution)["evaluation"].values())


def test_momentum_moves_the_rows_of_an_embedding_that_a_batch_lacks(told):
    assert told("graph")["embedding"] > 1e-5


@pytest.mark.skipif(not cpuinfo.computes_in("bfloat16"), reason="not run: this CPU has no bfloat16 arithmetic")
@pytest.mark.parametrize("task", ["inference", "training"])
@pytest.mark.parametrize("execution", EXECUTIONS)
def test_bfloat16_is_what_the_processor_multiplies(outputs, execution, task):
    asked = {"framework": "mxnet", "TASK": task, "MKLDNN_VERBOSE": 1}
    *lines, answer = outputs("mxnet_probe.py", "bfloat16", execution, **asked)[0].splitlines()
    found = json.loads(answer)
    assert 1e-4 < found["distance"] < 0.05
    assert found["mode"] == "autocast"
    told = lines[lines.index('"bfloat16 from here on"') :]
    products = [line for line in told if "convolution" in line or "inner_product" in line]
    assert len(products) >= 8
    assert all("wei_bf16" in line for line in products)


def test_a_step_that_wants_too_much_memory_fails_where_it_is_waited_for(told):
    assert told("graph")["memory"] == {"out_of_memory": True, "type": "MXNetError"}


def test_an_error_is_told_by_its_message_not_by_where_it_was():
    lines = 'Traceback (most recent call last):\n  File "../src/c_api.cc", line 3\nMXNetError: Check failed: a == b\n'
    assert _described(RuntimeError("\n" + lines), "mxnet")["message"] == "MXNetError: Check failed: a == b"


@pytest.mark.parametrize("execution", EXECUTIONS)
def test_two_ranks_with_a_parameter_server_take_the_mean_of_their_gradients(found, execution):
    averaged = found("averaging", execution, "kvstore", ranks=2)
    assert averaged["alone_they_differ"]
    assert averaged["distance"] < 1e-6
    assert averaged["equal"], "weights are equal bit by bit"
    assert averaged["children"] == [2, 0], "rank 0's server and the scheduler end when the ranks leave"


@pytest.mark.parametrize("ranks", [2, pytest.param(3, marks=pytest.mark.long)])
def test_asynchronous_servers_apply_the_gradients_of_each_rank_at_once(found, ranks):
    simulated = found("turns", "graph", "kvstore_async", ranks=ranks)
    assert simulated["distance"] < 1e-5
    assert simulated["of servers"] < 1e-5
    assert simulated["equal"], "an evaluation has the servers' weights on all ranks"
    assert simulated["apart"] == ranks, "each rank has the weights that it has pulled"


def test_one_rank_with_a_parameter_server_trains_as_if_alone(found):
    assert found("averaging", "graph", "kvstore")["distance"] < 1e-6


@pytest.mark.long
@pytest.mark.parametrize("execution", EXECUTIONS)
def test_two_ranks_of_horovod_take_the_mean_of_their_gradients(found, execution):
    averaged = found("averaging", execution, "horovod", ranks=2, environment="horovod-mxnet")
    assert averaged["alone_they_differ"]
    assert averaged["distance"] < 1e-6
    assert averaged["equal"]


def test_servers_die_with_the_rank_that_started_them(start, wait_until):
    processes = start("mxnet_probe.py", "forever", "graph", "kvstore", framework="mxnet", ranks=2)
    servers = [json.loads(process.stdout.readline()) for process in processes]
    assert [len(children) for children in servers] == [2, 1]
    for process, children in zip(processes, servers, strict=True):
        assert all(runs(child) for child in children)
        process.kill()
        wait_until(lambda children=children: not any(runs(child) for child in children), 10)


@pytest.mark.parametrize("victim", [0, 1])
def test_a_rank_ends_when_its_server_or_the_scheduler_has(start, victim):
    first, _ = processes = start("mxnet_probe.py", "forever", "graph", "kvstore", framework="mxnet", ranks=2)
    servers = [json.loads(process.stdout.readline()) for process in processes]
    os.kill(servers[0][victim], signal.SIGKILL)
    _, error = first.communicate(timeout=30)
    assert first.returncode == 1
    assert f"MXNet's {('server', 'scheduler')[victim]} has ended with exit status -9, so this rank ends" in error


def runs(process: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{process}/status").read_text()
    except FileNotFoundError:
        return False
