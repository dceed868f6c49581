"""What operators demand from a device."""

import numpy as np
import pandas as pd
import pytest

from hpcbench.predict.power.activity import activity, as_dtype, of_lists
from hpcbench.predict.sets.list_files import product_with_bytes
from hpcbench.predict.tables import operators as table
from tests.predict.power.made_up_power import DEVICES, lists


def one(**row: object) -> pd.DataFrame:
    return table.complete(pd.DataFrame([{"device": "card", "dtype": "bfloat16", **row}]))


def test_a_product_uses_matrix_units_if_the_device_has_them_for_its_data_type() -> None:
    size = product_with_bytes("linear", 1, 1000, 1000, 1000, 2)
    half = activity(one(**size), DEVICES).iloc[0]
    single = activity(one(**{**size, "dtype": "float32"}), DEVICES).iloc[0]
    assert half["matrix_s"] == pytest.approx(2e9 / 100e12)
    assert half["vector_s"] == 0.0
    assert single["vector_s"] == pytest.approx(2e9 / 10e12)
    assert single["matrix_s"] == 0.0
    assert half["memory_s"] == pytest.approx(6e6 / 1e12)


def test_partly_filled_waves_take_longer() -> None:
    full = activity(one(**product_with_bytes("linear", 1, 1280, 1280, 4096, 2)), DEVICES)["product_s"].iloc[0]
    partly = activity(one(**product_with_bytes("linear", 1, 1281, 1281, 4096, 2)), DEVICES)["product_s"].iloc[0]
    assert partly > 1.1 * full


def test_a_network_is_the_sum_of_its_calls() -> None:
    size = product_with_bytes("linear", 1, 512, 512, 512, 2)
    listed = pd.DataFrame([{"list_id": "net", "calls": 3.0, "dtype": "bfloat16", **size}])
    listed = listed.reindex(columns=["list_id", "fused_node", "calls", *table.WORK])
    asked = pd.DataFrame({"list_id": ["net", "none"], "device": "card", "dtype": "bfloat16"}, index=[7, 9])
    found = of_lists(listed, asked, DEVICES)
    single = activity(one(**size), DEVICES).iloc[0]
    assert found.loc[7, "matrix_s"] == pytest.approx(3 * single["matrix_s"])
    assert found.loc[7, "kernels"] == 3.0
    assert found.loc[9].isna().all()


def test_networks_have_the_same_activity_alone_and_together() -> None:
    every = pd.MultiIndex.from_product(
        [["small", "medium", "large", "none"], ["card", "other", "moon"], ["bfloat16", "float32"]],
        names=["list_id", "device", "dtype"],
    ).to_frame(index=False)
    together = of_lists(lists(), every, DEVICES)
    alone = pd.concat([of_lists(lists(), every.iloc[[place]], DEVICES) for place in range(len(every))])
    pd.testing.assert_frame_equal(together, alone, rtol=1e-12)
    is_known = (every["list_id"] != "none") & (every["device"] != "moon")
    assert together.notna().all(axis=1).tolist() == is_known.tolist()
    assert of_lists(lists(), every.head(0), DEVICES).dtypes.eq("float64").all()


def test_a_network_with_a_product_of_unknown_rate_is_unknown() -> None:
    product, other = product_with_bytes("linear", 1, 512, 512, 512, 8), {"kind": table.POINTWISE, "bytes": 1e6}
    rows = [{"list_id": "net", **product}, {"list_id": "net", **other}, {"list_id": "sums", **other}]
    listed = pd.DataFrame(rows).assign(calls=1.0, dtype="float64").reindex(columns=["list_id", "calls", *table.WORK])
    asked = pd.DataFrame({"list_id": ["net", "sums"], "device": "card", "dtype": "float64"})
    found = of_lists(listed, asked, DEVICES)
    assert list(found.isna().all(axis=1)) == [True, False]
    assert list(found.isna().any(axis=1)) == [True, False]


def test_bytes_follow_the_data_type() -> None:
    rows = lists()
    assert as_dtype(rows, "float32")["bytes"].to_numpy() == pytest.approx(2 * rows["bytes"].to_numpy())
    assert np.array_equal(as_dtype(rows, "float32")["flops"], rows["flops"])
