"""Power of operators from their shapes, on a measured device."""

import numpy as np
import pandas as pd
import pytest

from hpcbench.predict.operators.features import features
from hpcbench.predict.operators.roofline import bounds
from hpcbench.predict.power import learned
from tests.predict.power.made_up_power import DEVICES, operators

pytest.importorskip("lightgbm")


def test_shapes_decide_and_unmeasured_kinds_have_no_answer() -> None:
    rows = operators(count=600)
    shapes = features(rows, DEVICES, bounds(rows, DEVICES))
    log_power = np.log(rows["power_w"].to_numpy() / 250.0)
    known = np.arange(len(rows)) % 4 < 2
    model = learned.fit(shapes[known], rows[known], log_power[known])
    again = learned.Learned.from_json(model.to_json())
    left_out = again.log_value(shapes[~known], rows[~known]) - log_power[~known]
    assert np.mean(np.abs(left_out)) < 0.05
    single = again.log_value(shapes, rows.assign(dtype="float32"))
    assert np.isnan(single).all()


def test_a_size_that_a_library_treats_differently_is_found() -> None:
    rows = operators(count=1200)
    rows = rows[rows["kind"] == "gemm"].reset_index(drop=True)
    odd = rows["m"].isin([128.0, 1024.0]).to_numpy()
    log_power = np.where(odd, -1.0, -0.5)
    shapes = features(rows, DEVICES, bounds(rows, DEVICES))[["dtype", "batch", "n"]]  # without m
    model = learned.fit(shapes, rows, log_power)
    found = learned.Learned.from_json(model.to_json()).log_value(shapes, rows)
    assert found == pytest.approx(log_power, abs=0.05)


def test_few_rows_have_no_model() -> None:
    rows = operators(count=20)
    shapes = features(rows, DEVICES, bounds(rows, DEVICES))
    model = learned.fit(shapes, rows, np.zeros(20))
    assert model.models == {}
    assert np.isnan(model.log_value(shapes, pd.DataFrame(rows))).all()
