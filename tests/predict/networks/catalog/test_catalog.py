"""The catalog of image networks: names of several releases and zoos, and the shipped file."""

from __future__ import annotations

import math

import pytest

from hpcbench.predict.networks.catalog.catalog import Catalog, catalog_of, shipped_catalog
from tests.predict.networks.small_catalog import CONTENT


@pytest.fixture
def small() -> Catalog:
    return catalog_of(CONTENT)


def test_parameters_choose_between_networks_of_one_name(small: Catalog) -> None:
    in_timm, in_torchvision = small.find("net", 2.0), small.find("net", 3.0)
    assert in_timm
    assert in_timm.parameters == 2_000_000
    assert in_torchvision
    assert in_torchvision.parameters == 3_000_000


def test_without_parameters_torchvision_comes_first(small: Catalog) -> None:
    found = small.find("net")
    assert found
    assert found.parameters == 3_000_000


def test_old_names_and_prefixes_of_weights_are_found(small: Catalog) -> None:
    assert small.find("old_net_name") == small.find("wide", math.nan)
    assert small.find("ig_wide", 50.0) == small.find("wide", math.nan)
    assert small.find("unknown") is None


def test_a_prefix_chooses_the_zoo(small: Catalog) -> None:
    for name, parameters in (("timm/net.weights", 2_000_000), ("torchvision/net", 3_000_000)):
        found = small.find(name, 9.0)
        assert found
        assert found.parameters == parameters
    assert small.find("timm/old_net_name") == small.find("wide")
    assert small.find("transformers/net") is None


def test_macs_of_a_network(small: Catalog) -> None:
    entry = small.find("wide")
    assert entry
    assert small.gmacs(entry) == pytest.approx((2 * 100 * 8 * 27 + 10 * 8) / 1e9)


def test_a_network_of_one_image_size_grows_with_the_pixels(small: Catalog) -> None:
    powers = small.operators[["macs_power", "elements_power"]]
    assert powers.iloc[1].tolist() == [1.0, 1.0]


@pytest.mark.parametrize(
    ("name", "gmacs", "mparams"),
    [
        ("vgg16", 15.47, 138.4),  # GFLOPS and parameters that torchvision documents for its weights
        ("wide_resnet50_2", 11.4, 68.9),
        ("densenet121", 2.83, 7.98),
        ("resnet50", 4.09, 25.6),
        ("swin_t", 4.49, 28.3),
    ],
)
def test_shipped_networks_have_the_published_macs(name: str, gmacs: float, mparams: float) -> None:
    catalog = shipped_catalog()
    entry = catalog.find(name)
    assert entry
    assert catalog.gmacs(entry) == pytest.approx(gmacs, rel=0.03)
    assert entry.parameters / 1e6 == pytest.approx(mparams, rel=0.01)


def test_a_step_of_an_lstm_is_one_product_without_pointwise_operators() -> None:
    """Sequencer2D-S (Y. Tatsunami and M. Taki, 2022) has 4 blocks with sequences of 32 images' rows, 14 with 16."""
    catalog = shipped_catalog()
    entry = catalog.find("timm/sequencer2d_s")
    assert entry
    rows = catalog.operators.iloc[entry.places].assign(calls=entry.calls)
    steps = rows[(rows["kind"] == "linear") & (rows["calls"] > 100)]
    assert sorted(steps["calls"]) == [2 * 2 * 4 * 32, 2 * 2 * 14 * 16]  # two directions, in two dimensions
    assert rows.loc[rows["kind"] == "pointwise", "calls"].sum() < 100
