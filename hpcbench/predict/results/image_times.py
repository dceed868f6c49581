"""The time of cases whose network the catalog of image networks has, in addition to the list of their operators.

Such a network has two predictions of its time: from the list of its operators, and from the model of image networks,
which was fitted on whole networks. The model of image networks is used, with two exceptions:

- The list is used for a device on which operators were measured in a stream, which is the most accurate measurement.
- The list is used for conditions that the model of image networks was not fitted on, unless there are no measurements
  at all: the priors of this model are from image networks, and those of lists from transformers.

The choice does not depend on the other devices that are asked for, nor does the prediction.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from hpcbench.predict.devices.device import Device
from hpcbench.predict.networks.images.versions import LATEST
from hpcbench.predict.power.activity import COLUMNS as ACTIVITY
from hpcbench.predict.power.given_time import LAUNCHES, GivenTime
from hpcbench.predict.power.image_networks import of_images
from hpcbench.predict.results.table import (
    COVERED,
    DEVICES,
    DISTANCE,
    MEASURED,
    OF_LIST,
    OF_NAME,
    OWN_ROWS,
    ROWS,
    SOURCE,
    TIME,
)
from hpcbench.predict.tables.network_kinds import IMAGE
from hpcbench.predict.tables.prediction import VALUES

if TYPE_CHECKING:
    from hpcbench.predict.fleet import Fleet

_KEPT = (*VALUES, "reason")


def default_times(fleet: Fleet, rows: pd.DataFrame, lists: pd.DataFrame, devices: Mapping[str, Device]) -> pd.DataFrame:
    """Return the times of rows in the default state of their devices, each from the model that is used.

    The table has the columns of predictions, `table.SOURCE`, and for rows from the model of image networks, what this
    is based on: the columns `table.OF_TIME`, NaN for other rows. All networks with a list have `given_time.LAUNCHES`.
    """
    by_list = fleet.predict_networks(rows, lists, devices)[TIME]
    launches, by_list = by_list[LAUNCHES], by_list[list(_KEPT)]
    if (rows["image_network"] == "").all():
        return by_list.assign(**{SOURCE: OF_LIST}).join(launches)
    by_name = fleet.images.predict(_by_name(rows), devices)[list(_KEPT)]
    has_list = rows["list_id"] != ""
    knows = fleet.images.knows(_by_name(rows), devices)
    profiled = rows["device"].isin(list(fleet.listed.operator_time.devices))
    counts = (rows["image_network"] != "") & (~has_list | _no_data(fleet) | (knows & ~profiled))
    basis = _basis(fleet, rows["device"]).where(counts)
    found = by_list.where(~counts, by_name).assign(**{SOURCE: np.where(counts, OF_NAME, OF_LIST)}, **basis)
    return found.join(launches)


def in_state(
    fleet: Fleet, rows: pd.DataFrame, lists: pd.DataFrame, devices: Mapping[str, Device], given: GivenTime
) -> dict[str, pd.DataFrame]:
    """Return time, power and energy in the states of rows, from their times in the default state.

    Image networks without a list have the activity of the catalog.
    """
    found = fleet.power.predict_networks(rows, lists, devices, given)
    unlisted = (rows["list_id"] == "") & (rows["image_network"] != "")
    if not unlisted.any():
        return found
    activity = pd.DataFrame(np.nan, index=rows.index, columns=list(ACTIVITY))
    activity[unlisted.to_numpy()] = of_images(_by_name(rows[unlisted]), fleet.images.catalog, devices)
    by_name = fleet.power.predict_activity(rows, activity, devices, given)
    return {name: each.where(~unlisted, by_name[name]) for name, each in found.items()}


def _no_data(fleet: Fleet) -> bool:
    return not any(fleet.basis.rows.values())


def _basis(fleet: Fleet, names: pd.Series) -> pd.DataFrame:
    """Return what the model of image networks is based on, for rows on these devices."""
    counts = fleet.basis.rows.get(IMAGE, {})
    return pd.DataFrame(
        {
            ROWS: float(sum(counts.values())),
            DEVICES: float(len(counts)),
            OWN_ROWS: names.map(counts).fillna(0.0),
            COVERED: float(bool(counts)),
            MEASURED: 0.0,
            DISTANCE: 0.0,
        },
        index=names.index,
    )


def _by_name(rows: pd.DataFrame) -> pd.DataFrame:
    """Return rows as the model of image networks takes them."""
    return rows.assign(network=rows["image_network"], list_id="", library=LATEST)
