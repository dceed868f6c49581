"""Branches side by side compute what the module computes, and leave nothing behind."""

from __future__ import annotations

import copy
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch", reason="PyTorch is not installed; not run: branches side by side")
from torch import nn  # noqa: E402
from torch.fx.experimental.proxy_tensor import make_fx  # noqa: E402
from torch.nn.utils import prune  # noqa: E402
from torch.utils.flop_counter import FlopCounterMode  # noqa: E402

from hpcbench.node.thread_schedule import FORWARD, Schedule, Section, apply_schedule, cpus, fingerprint  # noqa: E402
from hpcbench.node.thread_schedule.branches import ConcurrentBranches  # noqa: E402
from hpcbench.node.thread_schedule.recurrent import DIRECTIONS, directions  # noqa: E402
from hpcbench.node.thread_schedule.thread_pools import ThreadPools  # noqa: E402
from tests.node.thread_schedule.branched import Inception, Noting, four_threads  # noqa: E402


@pytest.fixture(autouse=True)
def _four_threads(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    yield from four_threads(monkeypatch)


@pytest.fixture
def module() -> Any:
    return Inception([Noting(), Noting()])


def apart(module: Any, branches: tuple[str, ...], threads: int = 4) -> ConcurrentBranches:
    made = ConcurrentBranches(module)
    made.apply({"": (branches, threads)})
    return made


RECURRENT: list[Callable[[], Any]] = [
    lambda: nn.LSTM(3, 5, 2, batch_first=True, bidirectional=True, dropout=0.5).eval(),
    lambda: nn.LSTM(3, 5, bidirectional=True, bias=False, proj_size=2),
    lambda: nn.GRU(3, 5, 3, bidirectional=True),
    lambda: nn.RNN(3, 5, 2, nonlinearity="relu", batch_first=True, bidirectional=True),
]


def tensors(output: Any) -> list[Any]:
    return [output] if isinstance(output, torch.Tensor) else [each for part in output for each in tensors(part)]


def first_states(module: Any, batches: int | None) -> Any:
    def state(width: int) -> Any:
        shape = (2 * module.num_layers, *(() if batches is None else (batches,)), width)
        return torch.randn(shape)

    if isinstance(module, nn.LSTM):
        return state(module.proj_size or module.hidden_size), state(module.hidden_size)
    return state(module.hidden_size)


@pytest.mark.parametrize("make", RECURRENT)
@pytest.mark.parametrize("batched", [True, False])
@pytest.mark.parametrize("given", [True, False])
def test_both_directions_give_what_the_layer_gives(make: Callable[[], Any], batched: bool, given: bool) -> None:
    torch.manual_seed(1)
    module = make()
    shape = ((6, 7) if module.batch_first else (7, 6)) if batched else (7,)
    batch = torch.randn(*shape, 3)
    inputs = (batch, first_states(module, 6 if batched else None)) if given else (batch,)
    with torch.no_grad():
        own = module(*inputs)
        side_by_side = apart(module, DIRECTIONS)
        ours = module(*inputs)
    side_by_side.apply({})
    for one, other in zip(tensors(own), tensors(ours), strict=True):
        torch.testing.assert_close(one, other)
    assert "forward" not in module.__dict__


def test_the_directions_have_the_weights_of_the_layer_also_when_these_change() -> None:
    module = nn.LSTM(3, 5, bidirectional=True)
    side_by_side, batch = apart(module, DIRECTIONS), torch.randn(4, 2, 3)
    with torch.no_grad():
        module.load_state_dict({name: torch.randn(each.shape) for name, each in module.state_dict().items()})
        ours = module(batch)[0]
        side_by_side.apply({})
        torch.testing.assert_close(module(batch)[0], ours)


def test_where_other_weights_were_put_in_their_place_the_layer_does_it_itself() -> None:
    module = nn.LSTM(3, 5, bidirectional=True)
    side_by_side, batch = apart(module, DIRECTIONS), torch.randn(4, 2, 3)
    others = {name: torch.randn(each.shape) for name, each in module.state_dict().items()}
    with torch.no_grad():
        module.load_state_dict(others, assign=True)
        ours = module(batch)[0]
        side_by_side.apply({})
        torch.testing.assert_close(ours, module(batch)[0])


def test_a_layer_whose_weights_are_computed_has_no_directions() -> None:
    module = nn.LSTM(3, 5, bidirectional=True)
    nn.utils.parametrizations.weight_norm(module, "weight_hh_l0")
    assert directions(module) is None
    pruned = nn.LSTM(3, 5, bidirectional=True)
    prune.l1_unstructured(pruned, "weight_ih_l0", 0.5)
    assert directions(pruned) is None


def test_only_recurrent_layers_as_they_are_have_directions() -> None:
    class Own(nn.LSTM):
        def forward(self, batch: Any) -> Any:
            return super().forward(batch)[0]

    assert directions(nn.GRU(1, 1, bidirectional=True)) == DIRECTIONS
    assert directions(nn.GRU(1, 1)) is None
    assert directions(Own(1, 1, bidirectional=True)) is None
    assert directions(nn.Linear(1, 1)) is None


def test_each_branch_has_a_thread_of_its_own_with_its_part_of_the_threads(module: Any) -> None:
    batch = torch.randn(2, 4)
    with torch.no_grad():
        own = module(batch)
        for branch in module:
            branch.called.clear()
        side_by_side = apart(module, ("0", "1"))
        ours = module(batch)
    torch.testing.assert_close(ours, own)
    assert not ours.requires_grad
    callers = {thread for branch in module for thread, _ in branch.called}
    assert [len(branch.called) for branch in module] == [1, 1]
    assert len(callers) == 2
    assert threading.get_ident() not in callers
    assert {threads for branch in module for _, threads in branch.called} == {2}
    assert torch.get_num_threads() == 4
    side_by_side.apply({})
    assert not any("forward" in each.__dict__ for each in module.modules())


def test_threads_to_come_have_the_count_of_before(module: Any) -> None:
    side_by_side, seen = apart(module, ("0", "1")), []
    other = threading.Thread(target=lambda: seen.append(torch.get_num_threads()))
    other.start()
    other.join()
    side_by_side.apply({})
    assert seen == [4]


def test_the_cores_are_split(monkeypatch: pytest.MonkeyPatch) -> None:
    bound: dict[int, list[int]] = {}
    monkeypatch.setattr(os, "sched_setaffinity", lambda _, own: bound.setdefault(threading.get_ident(), own))
    ThreadPools(2, 2).close()
    assert sorted(bound.values()) == [[0, 1], [2, 3]]


def test_cores_come_before_their_second_hardware_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cpus, "usable", lambda: list(range(8)))
    monkeypatch.setattr(cpus, "_core", lambda cpu: str(cpu % 4))  # 0 and 4 are one core
    assert cpus.parts(2, 2) == [[0, 1], [2, 3]]
    assert cpus.parts(2, 4) == [[0, 4, 1, 5], [2, 6, 3, 7]]
    assert cpus.parts(3, 2) == [[0, 4], [1, 5], [2, 3]]


def test_where_there_are_too_few_cpus_all_share_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cpus, "usable", lambda: [0, 1, 2])
    assert cpus.parts(2, 2) == [[0, 1, 2], [0, 1, 2]]


def with_gradients(module: Any, batch: Any) -> Any:
    return module(batch)


def under_autocast(module: Any, batch: Any) -> Any:
    with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
        return module(batch)


def traced(module: Any, batch: Any) -> Any:
    with torch.no_grad():
        return torch.jit.trace(module, torch.zeros(2, 4), check_trace=False)(batch)


def made_a_graph(module: Any, batch: Any) -> Any:
    with torch.no_grad():
        return make_fx(module)(torch.zeros(2, 4))(batch)


def exported(module: Any, batch: Any) -> Any:
    with torch.no_grad():
        return torch.export.export(nn.Sequential(module), (torch.zeros(2, 4),)).module()(batch)


def batched(module: Any, batch: Any) -> Any:
    with torch.no_grad():
        return torch.func.vmap(module)(batch[None])[0]


def counted(module: Any, batch: Any) -> Any:
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        module(batch)
    return torch.tensor(counter.get_total_flops())


@pytest.mark.parametrize("call", [with_gradients, under_autocast, traced, made_a_graph, exported, batched, counted])
def test_where_a_thread_would_not_inherit_the_mode_the_module_does_it_itself(module: Any, call: Any) -> None:
    batch = torch.randn(2, 4)
    expected = call(module, batch)
    side_by_side = apart(module, ("0", "1"))
    for branch in module:
        branch.called.clear()
    found = call(module, batch)
    side_by_side.apply({})
    torch.testing.assert_close(found, expected)
    assert found.dtype == expected.dtype
    assert found.requires_grad == expected.requires_grad
    assert {thread for branch in module for thread, _ in branch.called} <= {threading.get_ident()}


def test_a_default_device_does_not_hinder_branches(module: Any) -> None:
    side_by_side = apart(module, ("0", "1"))
    with torch.no_grad(), torch.device("cpu"):
        module(torch.randn(2, 4))
    side_by_side.apply({})
    assert threading.get_ident() not in {thread for branch in module for thread, _ in branch.called}


def test_states_in_a_list_are_left_to_the_layer() -> None:
    module, batch = nn.LSTM(3, 5, bidirectional=True), torch.randn(4, 2, 3)
    states = [torch.zeros(2, 2, 5), torch.zeros(2, 2, 5)]
    with torch.no_grad():
        expected = module(batch, states)[0]
        side_by_side = apart(module, DIRECTIONS)
        torch.testing.assert_close(module(batch, states)[0], expected)
    side_by_side.apply({})


@pytest.mark.parametrize("states", [3, 6])
def test_states_of_another_number_of_layers_are_left_to_the_layer_which_refuses_them(states: int) -> None:
    module = nn.LSTM(3, 5, bidirectional=True)
    side_by_side = apart(module, DIRECTIONS)
    with torch.no_grad(), pytest.raises(RuntimeError, match=r"Expected hidden\[0\] size \(2, 2, 5\)"):
        module(torch.randn(4, 2, 3), (torch.zeros(states, 2, 5), torch.zeros(states, 2, 5)))
    side_by_side.apply({})


def test_packed_sequences_are_left_to_the_layer() -> None:
    module = nn.LSTM(3, 5, bidirectional=True)
    packed = nn.utils.rnn.pack_sequence([torch.randn(4, 3), torch.randn(2, 3)])
    side_by_side = apart(module, DIRECTIONS)
    with torch.no_grad():
        found = module(packed)[0].data
    side_by_side.apply({})
    torch.testing.assert_close(found, module(packed)[0].data)


def test_a_branch_that_is_called_with_something_else_computes_that() -> None:
    class Scaling(Inception):
        def forward(self, batch: Any) -> Any:
            return self[0](batch) + self[1](2 * batch)

    module, batch = Scaling([nn.Linear(4, 4), nn.Linear(4, 4)]), torch.randn(2, 4)
    side_by_side = apart(module, ("0", "1"))
    with torch.no_grad():
        found = module(batch)
    side_by_side.apply({})
    torch.testing.assert_close(found, module(batch))


def test_threads_that_share_a_model_get_each_their_own_results(module: Any) -> None:
    side_by_side = apart(module, ("0", "1"))
    wrong: list[int] = []

    def use(caller: int) -> None:
        batch = torch.empty(2, 4)  # the same tensor at each call, as of who fills a buffer
        with torch.no_grad():
            for turn in range(5):
                batch.fill_(caller + turn / 10)
                wanted = torch.cat([branch.linear(batch) for branch in module], 1)
                if not torch.allclose(module(batch), wanted):
                    wrong.append(turn)

    callers = [threading.Thread(target=use, args=(caller,)) for caller in range(3)]
    for each in callers:
        each.start()
    for each in callers:
        each.join()
    assert wrong == []
    side_by_side.apply({})
    assert not any("forward" in each.__dict__ for each in module.modules())


def test_the_child_of_a_fork_computes_the_branches_in_turn(module: Any) -> None:
    side_by_side, batch = apart(module, ("0", "1")), torch.ones(2, 4)
    with torch.no_grad():
        wanted = module(batch)
        child = os.fork()
        if not child:
            torch.set_num_threads(1)  # a team of threads does not survive a fork either
            os._exit(int(not torch.allclose(module(batch), wanted)))
    deadline = time.monotonic() + 30
    ended, status = os.waitpid(child, os.WNOHANG)
    while not ended and time.monotonic() < deadline:
        time.sleep(0.05)
        ended, status = os.waitpid(child, os.WNOHANG)
    if not ended:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    assert ended
    assert os.waitstatus_to_exitcode(status) == 0
    side_by_side.apply({})


def test_where_threads_cannot_be_started_nothing_is_left_on_the_model(
    module: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    start, before = threading.Thread.start, threading.active_count()

    def only_one(thread: threading.Thread) -> None:
        if threading.active_count() > before:
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", only_one)
    made = Schedule(fingerprint(module), (Section("", FORWARD, 4, ("0", "1")),), {})
    with pytest.raises(RuntimeError, match="new thread"):
        apply_schedule(module, made)
    assert threading.active_count() == before  # the one that did start waits for nobody
    assert torch.get_num_threads() == 4
    assert not any(each._forward_pre_hooks or "forward" in each.__dict__ for each in module.modules())
    monkeypatch.undo()
    apply_schedule(
        torch.nn.Linear(1, 1), Schedule(fingerprint(torch.nn.Linear(1, 1)), (Section("", FORWARD, 1),), {})
    ).remove()


def test_a_copy_of_a_model_with_branches_side_by_side_is_refused(module: Any) -> None:
    side_by_side = apart(module, ("0", "1"))
    with pytest.raises(TypeError, match=r"applied to this model: .* after remove"):
        copy.deepcopy(module)
    side_by_side.apply({})
    copy.deepcopy(module)


def test_hooks_on_branches_are_called_once(module: Any) -> None:
    called = []
    module[0].register_forward_pre_hook(lambda module, inputs: called.append("before"))
    module[0].register_forward_hook(lambda module, inputs, output: called.append("after"))
    side_by_side = apart(module, ("0", "1"))
    with torch.no_grad():
        module(torch.randn(2, 4))
    side_by_side.apply({})
    assert called == ["before", "after"]


def test_what_a_branch_raises_is_raised_when_the_others_have_ended(module: Any) -> None:
    module.append(nn.Linear(9, 9))
    side_by_side = apart(module, ("0", "1", "2"))
    with torch.no_grad(), pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
        module(torch.randn(2, 4))
    assert [len(branch.called) for branch in module[:2]] == [1, 1]
    side_by_side.apply({})
    assert not any("forward" in each.__dict__ for each in module.modules())


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_several_on_one_module_may_be_taken_off_in_any_order(module: Any, order: tuple[int, ...]) -> None:
    both, batch = [apart(module, ("0", "1")), apart(module, ("0", "1"))], torch.randn(2, 4)
    with torch.no_grad():
        own = module(batch)
        for place in order:
            both[place].apply({})
            torch.testing.assert_close(module(batch), own)
    assert "forward" not in module.__dict__


def test_inference_mode_reaches_the_branches(module: Any) -> None:
    side_by_side = apart(module, ("0", "1"))
    with torch.inference_mode():
        assert module(torch.randn(2, 4)).is_inference()
    side_by_side.apply({})
