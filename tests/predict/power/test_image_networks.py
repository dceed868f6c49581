"""The activity of image networks."""

from dataclasses import replace

import pandas as pd
import pytest

from hpcbench.predict.networks.catalog.catalog import catalog_of
from hpcbench.predict.power.image_networks import of_images
from hpcbench.predict.tables import networks as table
from tests.predict.networks.small_catalog import CONTENT
from tests.predict.power.made_up_power import DEVICES, unfitted

CATALOG = catalog_of(CONTENT)


def rows(**changes: object) -> pd.DataFrame:
    row = {"device": "card", "network": "net", "mparams": 2.0, "batch_size": 10, "dtype": "float16",
           "phase": table.INFERENCE, "unit": table.STEP}  # fmt: skip
    return table.complete(pd.DataFrame([{**row, **changes}], index=[5]))


def test_products_are_on_matrix_units_in_half_precision() -> None:
    found = of_images(rows(), CATALOG, DEVICES).loc[5]
    # Of one image: a convolution of 100 x 8 x 27 MACs and a linear layer of 10 x 8 MACs.
    assert found["matrix_s"] == pytest.approx(10 * 2 * (100 * 8 * 27 + 10 * 8) / 100e12)
    assert found["vector_s"] == 0.0
    # Three pointwise operators of 1,600 elements of 2 bytes.
    assert found["row_wise_s"] == pytest.approx(10 * 3 * 1600 * 2 / 1e12)
    assert found["kernels"] == 5.0
    assert of_images(rows(dtype="float32"), CATALOG, DEVICES).loc[5, "vector_s"] > 0.0


def test_bfloat16_without_matrix_units_is_on_vector_units() -> None:
    older = {"card": replace(DEVICES["card"], matrix_flops_per_s={"float16": 100e12})}
    half, full = (of_images(rows(dtype=name), CATALOG, older).loc[5] for name in ("bfloat16", "float32"))
    assert half.to_list() == full.to_list()


def test_training_has_three_passes_and_an_optimizer_but_no_gradient_of_the_image() -> None:
    forward = of_images(rows(), CATALOG, DEVICES).loc[5]
    training = of_images(rows(phase=table.TRAINING, optimizer="adam"), CATALOG, DEVICES).loc[5]
    first = 10 * 2 * 100 * 8 * 27 / 100e12  # seconds of the convolution, which is the first layer
    assert training["matrix_s"] == pytest.approx(3 * forward["matrix_s"] - first)
    optimizer = 2e6 * 4 * 7 / 1e12  # 2 million weights: 7 values of 4 bytes each
    assert training["row_wise_s"] == pytest.approx(3 * forward["row_wise_s"] + optimizer)
    assert training["kernels"] == 14.0


def test_unknown_networks_and_devices_are_refused() -> None:
    asked = pd.concat([rows(network="unheard"), rows(device="moon")], ignore_index=True)
    work = of_images(asked, CATALOG, DEVICES)
    found = unfitted().predict_activity(asked, work, DEVICES)["power_w"]
    assert list(found["reason"]) == [
        "the operators of the network, or their rates, are unknown",
        "the device has no description",
    ]
