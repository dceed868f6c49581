"""The time of cases whose network the catalog of image networks has, in addition to the list of their operators.

Such a network has two predictions of its time: from the list of its operators, and from the model of image networks,
which uses its name. The model of image networks is used, with two exceptions:

- Image networks were measured on this kind of device (CPU or GPU), but none in the execution mode of the case.
- At least half of the time is in kinds of operators that were measured on this device. In addition, operators of
  networks were measured in a stream on this device, the most accurate measurement, or no image networks were measured
  on this kind of device.

Other measurements do not change the choice, nor do the other devices that the user names.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from hpcbench.predict.devices.device import Device
from hpcbench.predict.networks.images.model import NOT_MEASURED, OTHER_MODE, REFUSED
from hpcbench.predict.networks.images.versions import LATEST
from hpcbench.predict.power.activity import COLUMNS as ACTIVITY
from hpcbench.predict.power.given_time import LAUNCHES, GivenTime
from hpcbench.predict.power.image_networks import of_images
from hpcbench.predict.results.network_basis import own_fractions
from hpcbench.predict.results.table import (
    AS_EAGER,
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
from hpcbench.predict.tables.networks import COMPILED, EAGER
from hpcbench.predict.tables.prediction import VALUES, Floats

if TYPE_CHECKING:
    from hpcbench.predict.fleet import Fleet

_KEPT = (*VALUES, "reason")
_MOST = 0.5  # of the time
_EQUAL = 1e-3  # difference of logarithms of two times up to which they are equal


def default_times(fleet: Fleet, rows: pd.DataFrame, lists: pd.DataFrame, devices: Mapping[str, Device]) -> pd.DataFrame:
    """Return the times of rows in the default state of their devices, each from the model that is used.

    The table has the columns of predictions, `given_time.LAUNCHES`, `table.SOURCE`, `table.AS_EAGER`, and for rows from
    the model of image networks, what this is based on: the columns `table.OF_TIME`, NaN for other rows.
    """
    by_name = by_name_rows(fleet, rows, lists, devices)
    found = _times(fleet, rows, lists, devices, by_name)
    found[AS_EAGER] = _as_eager(fleet, rows, lists, devices, found, by_name)
    found[SOURCE] = np.where(by_name, OF_NAME, OF_LIST)
    return found.assign(**_basis(fleet, rows, devices).where(by_name)) if by_name.any() else found


def by_name_rows(
    fleet: Fleet, rows: pd.DataFrame, lists: pd.DataFrame, devices: Mapping[str, Device]
) -> pd.Series[bool]:
    """Return which rows the model of image networks predicts."""
    found = rows["image_network"] != ""
    choices = found & (rows["list_id"] != "")
    if not choices.any():
        return found
    asked = rows[choices]
    modes, own = fleet.images.measured(as_images(asked), devices), _own_fractions(fleet, asked, lists, devices)
    profiled = asked["device"].isin(list(fleet.listed.operator_time.devices)).to_numpy()
    by_own = (own >= _MOST) & (profiled | (modes == NOT_MEASURED))
    found[choices] = ~(np.isin(modes, (OTHER_MODE, REFUSED)) | by_own)
    return found


def _own_fractions(fleet: Fleet, rows: pd.DataFrame, lists: pd.DataFrame, devices: Mapping[str, Device]) -> Floats:
    """Return the fraction of the time of each row in kinds of operators that were measured on its device."""
    if not fleet.operator_time.rows:
        return np.zeros(len(rows))
    kernels = fleet.listed.kernel_times(rows, lists, devices)
    return own_fractions(kernels, len(rows), devices, fleet.operator_time.rows)


def _as_eager(
    fleet: Fleet,
    rows: pd.DataFrame,
    lists: pd.DataFrame,
    devices: Mapping[str, Device],
    time: pd.DataFrame,
    by_name: pd.Series[bool],
) -> pd.Series[bool]:
    """Return which compiled networks have the time of the same model for eager execution."""
    found = pd.Series(False, rows.index)
    compiled = rows["execution"] == COMPILED
    if not compiled.any():
        return found
    eager = rows[compiled].assign(execution=EAGER)
    other = _times(fleet, eager, lists, devices, by_name[compiled])
    found[compiled] = np.abs(np.log(time.loc[compiled, "predicted"] / other["predicted"])) < _EQUAL
    return found


def _times(
    fleet: Fleet, rows: pd.DataFrame, lists: pd.DataFrame, devices: Mapping[str, Device], by_name: pd.Series[bool]
) -> pd.DataFrame:
    """Return the times of rows and their launches, those of `by_name` from the model of image networks."""
    by_list = fleet.predict_networks(rows, lists, devices)[TIME][[*_KEPT, LAUNCHES]]
    if not by_name.any():
        return by_list
    images = as_images(rows)
    of_images = fleet.images.predict(images, devices)[list(_KEPT)]
    of_images[LAUNCHES] = fleet.images.spent(images, devices).launches
    return by_list.where(~by_name, of_images.set_axis(rows.index))


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
    activity[unlisted.to_numpy()] = of_images(as_images(rows[unlisted]), fleet.images.catalog, devices)
    by_name = fleet.power.predict_activity(rows, activity, devices, given)
    return {name: each.where(~unlisted, by_name[name]) for name, each in found.items()}


def _basis(fleet: Fleet, rows: pd.DataFrame, devices: Mapping[str, Device]) -> pd.DataFrame:
    """Return what the model of image networks is based on: nothing if it was not fitted on this kind of device."""
    counts = fleet.basis.rows.get(IMAGE, {})
    fitted = pd.Series(fleet.images.measured(as_images(rows), devices) != NOT_MEASURED, rows.index).astype("float64")
    return pd.DataFrame(
        {
            ROWS: float(sum(counts.values())) * fitted,
            DEVICES: float(len(counts)) * fitted,
            OWN_ROWS: rows["device"].map(counts).fillna(0.0) * fitted,
            COVERED: float(bool(counts)) * fitted,
            MEASURED: 0.0,
            DISTANCE: 0.0,
        },
        index=rows.index,
    )


def as_images(rows: pd.DataFrame) -> pd.DataFrame:
    """Return rows as the model of image networks takes them."""
    return rows.assign(network=rows["image_network"], list_id="", library=LATEST)
