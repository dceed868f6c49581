"""Operations and FLOPs of PyTorch models: what FlopCounterMode does not count, and what a fingerprint identifies."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402
from torch.nn import functional  # noqa: E402

from hpcbench.node.frameworks.external.trace import Trace  # noqa: E402
from hpcbench.node.frameworks.pytorch.external.trace import trace  # noqa: E402

pytestmark = pytest.mark.torch
ITEMS, WIDTH = 1, 8
Forward = Callable[[Any, Any], Any]


class Net(nn.Module):
    """Two layers, and a forward pass of the test."""

    def __init__(self, forward: Forward) -> None:
        super().__init__()
        self.layer, self.lstm, self.compute = nn.Linear(WIDTH, WIDTH), nn.LSTM(WIDTH, 2), forward

    def forward(self, batch: Any) -> Any:
        return self.compute(self, batch)


class Last(nn.Module):
    """A module of a single function, without children."""

    def __init__(self, function: Any) -> None:
        super().__init__()
        self.function = function

    def forward(self, batch: Any) -> Any:
        return self.function(batch)


def traced(forward: Forward) -> Trace:
    torch.manual_seed(0)
    module, batch = Net(forward), torch.rand(ITEMS, WIDTH)
    return trace("input", module, lambda: module(batch), with_gradients=False)


def test_a_fingerprint_depends_on_functions_that_the_program_calls() -> None:
    functions = (torch.relu, functional.gelu, torch.tanh, lambda each: each, lambda each: each.relu().tanh())
    found = [traced(lambda net, batch, last=last: last(net.layer(batch))).fingerprint for last in functions]
    assert len(set(found)) == len(functions)


def test_forms_of_one_function_have_the_same_fingerprint() -> None:
    forms = (torch.relu, functional.relu, torch.Tensor.relu, torch.Tensor.relu_)
    assert len({traced(lambda net, batch, form=form: form(net.layer(batch))).fingerprint for form in forms}) == 1


def test_the_shape_of_a_function_belongs_to_the_fingerprint() -> None:
    sizes = [traced(lambda net, batch, n=n: net.layer(batch)[:, :n].exp().mean(1)).fingerprint for n in (2, 3)]
    assert len(set(sizes)) == 2


def test_a_compiled_function_is_traced() -> None:
    functions = [torch.compile(last, backend="eager") for last in (lambda each: each.relu(), lambda each: each.tanh())]
    one, other = (traced(lambda net, batch, last=last: last(net.layer(batch))) for last in functions)
    assert one.flops == other.flops == 2 * WIDTH * WIDTH
    assert one.fingerprint != other.fingerprint


def test_operations_of_modules_that_pytorch_generates_belong_to_the_fingerprint() -> None:
    nets = [torch.fx.symbolic_trace(last) for last in (Last(torch.relu), Last(torch.tanh))]
    assert len({traced(lambda net, batch, each=each: each(batch)).fingerprint for each in nets}) == 2


def test_functions_with_several_results_and_properties_belong_to_the_fingerprint() -> None:
    calls = (
        lambda each: each.max(1)[0],
        lambda each: each.min(1)[0],
        lambda each: each.T,
        lambda each: each.mT,
        lambda each: each.chunk(2, 1)[0],
        lambda each: each.chunk(4, 1)[0],
    )
    found = {traced(lambda net, batch, last=last: last(net.layer(batch))).fingerprint for last in calls}
    assert len(found) == len(calls)


def test_functions_after_a_layer_that_failed_belong_to_the_fingerprint() -> None:
    def forward(net: Any, batch: Any, last: Any) -> Any:
        with suppress(RuntimeError):
            net.layer(batch[:, 1:])
        return last(batch)

    found = {
        traced(lambda net, batch, last=last: forward(net, batch, last)).fingerprint for last in (torch.relu, torch.tanh)
    }
    assert len(found) == 2


@pytest.mark.parametrize(
    ("product", "products"),
    [
        (lambda batch: batch @ torch.ones(WIDTH), WIDTH),
        (lambda batch: torch.addmv(torch.ones(ITEMS), batch, torch.ones(WIDTH)), WIDTH),
        (lambda batch: torch.dot(batch[0], batch[0]), WIDTH),
        (lambda batch: torch.vdot(batch[0], batch[0]), WIDTH),
        (lambda batch: torch.addbmm(torch.ones(2, 3), torch.ones(4, 2, 5), torch.ones(4, 5, 3)), 4 * 2 * 5 * 3),
        (lambda batch: nn.Bilinear(WIDTH, 3, 5)(batch, torch.ones(ITEMS, 3)), 5 * WIDTH * 3 + 5 * 3),
        (lambda batch: torch.einsum("bi,bi->b", batch, batch), WIDTH),
    ],
    ids=["mv", "addmv", "dot", "vdot", "addbmm", "bilinear", "einsum"],
)
def test_products_that_pytorchs_counter_misses_are_counted(product: Callable[[Any], Any], products: int) -> None:
    found = traced(lambda net, batch: product(net.layer(batch)))
    assert found.flops == 2 * WIDTH * WIDTH + 2 * products
    assert found.uncounted == ()


def test_operators_without_a_formula_are_named() -> None:
    def forward(net: Any, batch: Any) -> Any:
        state = (torch.zeros(1, 1, 2),) * 2
        torch.lstm(batch[None], state, net.lstm._flat_weights, True, 1, 0.0, False, False, False)
        torch.conv_tbc(torch.ones(3, 1, 2), torch.ones(2, 2, 4), torch.ones(4))
        torch.cdist(torch.ones(30, 2), torch.ones(30, 2))
        return torch.fft.rfft(batch).real + torch.cdist(batch, batch)

    names = ("_cdist_forward", "_euclidean_dist", "_fft_r2c", "conv_tbc", "mkldnn_rnn_layer")
    assert traced(forward).uncounted == names
    assert traced(lambda net, batch: functional.normalize(net.layer(batch)).norm()).uncounted == ()


def test_a_recurrent_module_has_a_formula() -> None:
    found = traced(lambda net, batch: net.lstm(batch[None])[0])
    assert (found.flops, found.uncounted) == (2 * 4 * 2 * (WIDTH + 2), ())
