"""Operations and FLOPs of PyTorch models: what FlopCounterMode does not count, and what a fingerprint identifies."""

from __future__ import annotations

from collections.abc import Callable
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
    @torch.compile(backend="eager")
    def last(each: Any) -> Any:
        return torch.relu(each)

    found = traced(lambda net, batch: last(net.layer(batch)))
    assert found.flops == 2 * WIDTH * WIDTH


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
        return torch.fft.rfft(batch).real + torch.cdist(batch, batch, compute_mode="donot_use_mm_for_euclid_dist")

    assert traced(forward).uncounted == ("_cdist_forward", "_fft_r2c", "mkldnn_rnn_layer")


def test_a_recurrent_module_has_a_formula() -> None:
    found = traced(lambda net, batch: net.lstm(batch[None])[0])
    assert (found.flops, found.uncounted) == (2 * 4 * 2 * (WIDTH + 2), ())
