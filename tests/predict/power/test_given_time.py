"""Times from another model, with or without launches."""

import numpy as np
import pandas as pd

from hpcbench.predict.power.given_time import LAUNCHES, GivenTime

TIMES = pd.DataFrame({"predicted": [1.0, 2.0], "lower": [0.5, 1.0], "upper": [2.0, 2.0 * np.e]}, index=[7, 3])


def test_predicted_times_have_launches_if_their_model_predicts_them() -> None:
    found = GivenTime.of(TIMES.assign(**{LAUNCHES: [0.5, np.nan]}))
    assert found.seconds.tolist() == [1.0, 2.0]
    assert found.half_width.round(9).tolist() == [round(float(np.log(2.0)), 9), 1.0]
    assert found.launches[0] == 0.5
    assert np.isnan(found.launches[1])
    assert np.isnan(GivenTime.of(TIMES).launches).all()


def test_times_at_places_keep_their_launches() -> None:
    found = GivenTime.of(TIMES.assign(**{LAUNCHES: [0.5, 3.0]})).at(np.array([1]))
    assert (found.seconds.tolist(), found.launches.tolist()) == ([2.0], [3.0])
