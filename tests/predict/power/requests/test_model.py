"""Requests to language models."""

import json

import numpy as np
import pandas as pd
import pytest

from hpcbench.predict.power.requests import model as requests
from hpcbench.predict.tables import networks as table
from tests.predict.power.made_up_power import DEVICES


def asked(**changes: object) -> pd.DataFrame:
    rows = [
        {"device": "card", "network": name, "sequence_length": 1024.0, "new_tokens": 1024.0, "batch_size": float(batch),
         "unit": table.REQUEST, **changes}
        for name in ("some-7b", "other-3b") for batch in (1, 8, 64)
    ]  # fmt: skip
    return table.complete(pd.DataFrame(rows))


def test_demands_of_one_sequence() -> None:
    found, reason = requests.demands(asked(), DEVICES)
    first = found.iloc[0]
    assert reason[0] == ""
    assert first["weights_s"] == pytest.approx(1024 * 14e9 / 1e12)  # each token reads 14 GB at 1 TB/s
    assert first["compute_s"] == pytest.approx(2 * 7e9 * 2048 / 100e12)
    assert first["steps"] == pytest.approx(1.024)


def test_sequences_that_do_not_fit_run_one_group_after_another() -> None:
    found, _ = requests.demands(asked(), DEVICES)
    # Cache of a 7b model: 2 x 32 x 4096 elements of 2 bytes, 2,048 tokens: 1.07 GB, so that (36 - 14) / 1.07 fit.
    groups = found["steps"].to_numpy()[2] / 1.024
    assert groups == pytest.approx(64 / ((0.9 * 40 - 14) / 1.09), rel=0.1)


def test_a_cache_in_float8_is_read_in_half_the_time() -> None:
    usual, small = (requests.demands(asked(kv_dtype=name), DEVICES)[0] for name in ("", "float8"))
    assert small["cache_s"].iloc[0] == pytest.approx(usual["cache_s"].iloc[0] / 2)
    assert small["weights_s"].iloc[0] == usual["weights_s"].iloc[0]
    assert small["steps"].iloc[2] < usual["steps"].iloc[2], "more sequences fit"


def test_refusals_have_reasons() -> None:
    _, reason = requests.demands(asked(network="nameless"), DEVICES)
    assert "size of the model nameless is unknown" in reason[0]
    _, reason = requests.demands(asked(network="huge-70b"), DEVICES)
    assert "do not fit" in reason[0]
    _, reason = requests.demands(asked(devices=4.0), DEVICES)
    assert set(reason) == {"requests on several devices have no model"}
    assert set(requests.demands(asked(devices=1.0), DEVICES)[1]) == {""}
    found = requests.RequestPower().estimate(asked(device="unknown"), DEVICES)
    assert found["time_s"].reason[0] == "the device has no description"


def test_a_fit_and_its_stored_form() -> None:
    rows = asked()
    real = requests.RequestPower(np.array([1.1, 1.2, 2.0, 3.0]), np.array([0.25, 0.4, 0.8, 0.9]))
    found = real.estimate(rows, DEVICES)
    rows = rows.assign(time_s=np.exp(found["time_s"].log_value), power_w=np.exp(found["power_w"].log_value))
    model = requests.fit(rows, DEVICES)
    again = requests.RequestPower.from_json(json.loads(json.dumps(model.to_json())))
    predicted = again.estimate(rows, DEVICES)
    assert np.exp(predicted["time_s"].log_value) == pytest.approx(rows["time_s"].to_numpy(), rel=0.1)
    assert np.exp(predicted["power_w"].log_value) == pytest.approx(rows["power_w"].to_numpy(), rel=0.1)
    assert again.half_width(rows, "energy_j") == pytest.approx(model.half_width(rows, "energy_j"))


def test_libraries_have_powers_of_their_own() -> None:
    real = requests.RequestPower()
    rows = pd.concat([asked(library="calm"), asked(library="hot")], ignore_index=True)
    found = real.estimate(rows, DEVICES)
    power_w = np.exp(found["power_w"].log_value) * np.where(rows["library"] == "hot", 1.2, 1.0)
    model = requests.fit(rows.assign(time_s=np.exp(found["time_s"].log_value), power_w=power_w), DEVICES)
    # Half of the difference of 1.2 each way, shrunk by 6 / (6 + 2).
    assert model.libraries["hot"] - model.libraries["calm"] == pytest.approx(0.75 * np.log(1.2), rel=0.1)
    hot, calm = (model.estimate(asked(library=name), DEVICES)["power_w"].log_value for name in ("hot", "calm"))
    assert (hot > calm).all()


@pytest.mark.parametrize("unknown", [{"new_tokens": np.nan}, {"batch_size": 0.0}, {"batch_size": np.nan}])
def test_requests_of_unknown_size_are_refused_and_do_not_count(unknown: dict[str, float]) -> None:
    rows = asked()
    found = requests.RequestPower().estimate(rows, DEVICES)
    rows = rows.assign(time_s=np.exp(found["time_s"].log_value), power_w=np.exp(found["power_w"].log_value))
    wrong = rows.assign(**unknown).iloc[:1]
    assert list(requests.demands(wrong, DEVICES)[1]) == ["the batch size or the number of tokens is unknown or zero"]
    both = requests.fit(pd.concat([rows, wrong], ignore_index=True), DEVICES)
    alone = requests.fit(rows, DEVICES)
    assert both.time == pytest.approx(alone.time)
    assert both.libraries == alone.libraries


def test_a_request_without_any_token_is_refused() -> None:
    _, reason = requests.demands(asked(sequence_length=0.0, new_tokens=0.0), DEVICES)
    assert (reason != "").all()
