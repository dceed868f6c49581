"""The operators of image networks for a batch and an image size."""

from __future__ import annotations

import math

import pandas as pd
import pytest

from hpcbench.predict.networks.catalog.catalog import Catalog, catalog_of
from hpcbench.predict.networks.images.workload import workload
from hpcbench.predict.tables.networks import complete
from tests.predict.networks.small_catalog import CONTENT


@pytest.fixture
def small() -> Catalog:
    return catalog_of(CONTENT)


def _rows(*rows: dict[str, object]) -> pd.DataFrame:
    return complete(pd.DataFrame([{"batch_size": 10, "image_size": 32, **row} for row in rows]))


def test_counts_grow_with_the_batch(small: Catalog) -> None:
    found = workload(_rows({"network": "wide"}), small).operators.set_index("kind")
    assert found.loc["conv", ["calls", "macs", "elements", "weights", "rows"]].tolist() == [
        *(2, 10 * 100 * 8 * 27, 10 * 1100, 8 * 27, 10 * 100)
    ]
    assert found.loc["batch_norm", "elements"] == 432  # of weights, once per step


def test_attention_grows_with_the_square_of_the_pixels(small: Catalog) -> None:
    rows = _rows({"network": "net", "mparams": 3.0}, {"network": "net", "mparams": 3.0, "image_size": 64})
    found = workload(rows, small).operators
    macs = found[found["kind"] == "attention"]["macs"].tolist()
    assert macs == [10 * 4 * 50 * 50 * 16, 16 * 10 * 4 * 50 * 50 * 16]


def test_a_network_that_is_not_in_the_catalog_resembles_one_with_its_name_and_macs(small: Catalog) -> None:
    gmacs = 2 * (2 * 100 * 8 * 27 + 80) / 1e9
    found = workload(_rows({"network": "wide_x", "gmacs": gmacs, "mparams": 77.0}, {"network": "wide"}), small)
    macs = found.operators.assign(total=lambda rows: rows["macs"] * rows["calls"]).groupby("place")["total"].sum()
    assert macs[0] == pytest.approx(2 * macs[1])


def test_reasons_of_networks_without_operators(small: Catalog) -> None:
    found = workload(_rows({"network": "zzz"}, {"network": "net", "batch_size": math.nan}), small)
    assert "not in the catalog" in found.reason[0]
    assert "batch size" in found.reason[1]
    assert found.operators.empty


def test_a_network_without_images_resembles_none(small: Catalog) -> None:
    found = workload(_rows({"network": "wide_x", "gmacs": 1.0, "image_size": math.nan, "sequence_length": 64}), small)
    assert "not in the catalog" in found.reason[0]


@pytest.mark.parametrize("size", [0.0, -32.0, math.inf])
def test_an_image_size_that_is_not_above_zero_is_refused(small: Catalog, size: float) -> None:
    found = workload(_rows({"network": "net", "image_size": size}, {"network": "net"}), small)
    assert list(found.reason) == ["network 'net': image size zero, negative or infinite", ""]


def test_a_network_without_a_number_of_parameters_is_compared_with_the_catalog_once(
    small: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[str] = []
    monkeypatch.setattr(Catalog, "find", lambda catalog, name, mparams: found.append(name))
    workload(_rows(*[{"network": name, "gmacs": 1.0} for name in ("wide_x", "other", "wide_x")]), small)
    assert found == ["wide_x", "other"]
