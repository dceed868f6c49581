"""LightGBM is imported without scikit-learn, which stays importable."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytest.importorskip("lightgbm")
pytest.importorskip("sklearn")

PROGRAM = """
import sys
from hpcbench.predict.boosting import lightgbm
assert lightgbm().Booster
assert not any(name.partition(".")[0] == "sklearn" for name in sys.modules), "lightgbm imported it"
import sklearn.base
assert lightgbm() is sys.modules["lightgbm"]
"""


def test_scikit_learn_is_not_imported_and_can_be() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
