"""LightGBM is imported without scikit-learn, which stays importable."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from hpcbench.predict import boosting
from hpcbench.predict.boosting import checked, lightgbm

pytest.importorskip("lightgbm")

PROGRAM = """
import sys
from hpcbench.predict.boosting import lightgbm
assert lightgbm().Booster
assert not any(name.partition(".")[0] == "sklearn" for name in sys.modules), "lightgbm imported it"
import sklearn.base
assert lightgbm() is sys.modules["lightgbm"]
"""


def test_scikit_learn_is_not_imported_and_can_be() -> None:
    pytest.importorskip("sklearn")
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_number_of_features_of_a_model_is_checked() -> None:
    data = lightgbm().Dataset(np.arange(120.0).reshape(60, 2), np.arange(60.0))
    text = lightgbm().train({"verbose": -1}, data, 2).model_to_string()
    assert checked(text, 2) == checked(text) == text
    with pytest.raises(ValueError, match="2 features instead of 3"):
        checked(text, 3)


def test_without_lightgbm_models_are_not_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> None:
        raise ModuleNotFoundError("lightgbm")

    monkeypatch.setattr(boosting, "lightgbm", missing)
    assert checked("no model") == "no model"
