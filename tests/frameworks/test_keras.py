"""The adapters of Keras, each in its own environment."""

from __future__ import annotations

import pytest


@pytest.fixture
def probe(ask):
    return lambda framework, what: ask("keras_probe", framework, what, framework=framework)


@pytest.mark.parametrize("framework", ["keras-torch", "keras-jax", "keras-tensorflow"])
def test_a_model_takes_its_batch_in_the_format_in_which_it_comes(probe, framework):
    """Else it would be cast inside the time that is measured."""
    dtypes = ("float32", "bfloat16", "float16")
    inference = {f"inference {dtype}": dtype for dtype in dtypes}
    training = {f"training {dtype}": "float32" for dtype in dtypes}
    assert probe(framework, "inputs") == {**inference, **training, "tokens": "int32"}


@pytest.mark.parametrize("framework", ["keras-tensorflow"])
def test_xla_gets_no_lstm_of_cudnn_which_it_cannot_compile_and_that_is_remarked(probe, framework):
    remark = "the LSTM runs step by step, not in cuDNN"
    assert probe(framework, "cudnn") == {
        "eager": [["auto"], []],
        "graph": [["auto"], []],
        "compiled": [[False], [remark]],
    }


@pytest.mark.parametrize("framework", ["keras-torch"])
def test_keras_on_pytorch_trains_by_the_optimizer_of_keras_alone(probe, framework):
    assert probe(framework, "optimizers") == {"made": 0, "learned": True}
