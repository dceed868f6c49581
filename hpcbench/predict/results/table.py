"""The table of predictions for cases on devices: one row per case, device and state."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd

from hpcbench.predict.results.work import BATCH_SIZE, work
from hpcbench.predict.tables import prediction
from hpcbench.predict.tables.operators import too_much_unknown

TIME, POWER, ENERGY = prediction.QUANTITIES
MEMORY = "memory_bytes"
THROUGHPUT, PRICE, EMISSIONS = "throughput_items_per_s", "price_per_million_items", "co2e_g_per_million_items"
QUANTITIES = (TIME, POWER, ENERGY, MEMORY, THROUGHPUT, PRICE, EMISSIONS)
OF_SITE = (PRICE, EMISSIONS)  # quantities that also need data of the site file
KEY = ("case", "label", "device", "state", "clock_mhz", "power_limit_w")
ROWS, DEVICES, OWN_ROWS, COVERED, MEASURED, DISTANCE = OF_TIME = (
    *("basis_rows", "basis_devices", "device_rows"),
    *("covered_fraction", "measured_fraction", "distance"),
)
BASIS = (*OF_TIME, "power_devices", "power_measured")  # what the time and the power are based on
_COUNTS = (BATCH_SIZE, ROWS, DEVICES, OWN_ROWS, "power_devices")  # columns of whole numbers
SOURCE = "predicted_from"  # of the time: the sum of a list of operators, or an image network known by its name
OF_LIST, OF_NAME = "operators", "image network"
AS_EAGER = "as_eager"  # column of predicted times: whether a compiled network has the time of eager execution
FITS, CAPACITY = "fits", "device_memory_bytes"
FITS_NOT, MAY_FIT, DOES_FIT = "no", "maybe", "yes"
COMPUTE_BOUND, MEMORY_BOUND, LAUNCH_BOUND, POWER_BOUND = "compute", "memory", "launch", "power limit"
LATENCY_BOUND = "latency"  # of time steps of recurrent layers, which run one after another
_SLOWER = 1.02  # time over that in the default state, from which on a clock or power limit counts


class Explanation(NamedTuple):
    """What predicted times are spent on and based on, one row per row that was asked for.

    The resource that limits the time in the default state, the share of the time in operators of unknown kind, the
    names of these operators, the columns BASIS, the share of the device time that the rate of products and vectors
    limits, in the state of the row; NaN if unknown. `clock` is a fraction of the boost clock; NaN if no clock is set.
    """

    limit: pd.Series[str]
    unknown: pd.Series[float]
    unknown_operators: pd.Series[str]
    basis: pd.DataFrame
    compute: pd.Series[float]
    clock: pd.Series[float]


def limits_of(quantity: str) -> tuple[str, str]:
    """Return the columns of the 90 % prediction interval of a quantity."""
    return f"{quantity}_pi_low", f"{quantity}_pi_high"


def results(
    asked: pd.DataFrame,
    predictions: Mapping[str, pd.DataFrame],
    explained: Explanation | None = None,
    memory_bytes: Mapping[str, float] | None = None,
    measured: Collection[str] = (),
) -> pd.DataFrame:
    """Return the table of results for the rows of `asked`, as of `cases.asked`.

    `predictions` are by quantity of QUANTITIES, in the order of `asked`, with the columns of `tables.prediction`;
    quantities that are missing are empty. `memory_bytes` is the memory of each device. The table has the columns KEY
    and `work.WORK`; each quantity with its interval; `limit`; `device_memory_bytes`, and `fits`: whether the predicted
    memory is in it (`yes`, `no`, `maybe`, or empty if unknown); `reason`, why a row has no time; `missing`, why it
    lacks other quantities, and `missing_of_site`, why it lacks those of OF_SITE; `device_measured`, whether its device
    is one of `measured`; `predicted_from`, which model its time is from; and BASIS.
    """
    index = asked.index
    refused = _refusals(asked, predictions.get(TIME), explained)
    found = asked[list(KEY)].join(work(asked))
    for quantity in QUANTITIES:
        frame = predictions.get(quantity)
        for name, column in zip((quantity, *limits_of(quantity)), prediction.VALUES, strict=True):
            values = np.full(len(asked), np.nan) if frame is None else frame[column].to_numpy(dtype="float64")
            found[name] = np.where(refused == "", values, np.nan)
    found["limit"] = "" if explained is None else _limits(found, explained).where(refused == "", "")
    found[CAPACITY] = asked["device"].map(dict(memory_bytes or {})).astype("float64")
    found[FITS] = _fits(found)
    found["reason"] = refused
    others = {name: frame for name, frame in predictions.items() if name != TIME}
    found["missing"] = _missing({name: frame for name, frame in others.items() if name not in OF_SITE}, refused)
    found["missing_of_site"] = _missing({name: frame for name, frame in others.items() if name in OF_SITE}, refused)
    found["device_measured"] = asked["device"].isin(list(measured))
    found[SOURCE] = _source(predictions.get(TIME), refused)
    return found.join(_basis(predictions.get(TIME), explained, index)).reset_index(drop=True)


def for_files(found: pd.DataFrame) -> pd.DataFrame:
    """Return a table of results with counts as integers, which are null if they are unknown."""
    return found.astype({name: "Int64" for name in _COUNTS if name in found})


def _basis(time: pd.DataFrame | None, explained: Explanation | None, index: pd.Index) -> pd.DataFrame:
    """Return the columns BASIS: those of the predictions of time, and for rows without them, of the explanation."""
    of_operators = pd.DataFrame(index=index) if explained is None else explained.basis.set_axis(index)
    own = pd.DataFrame(index=index) if time is None else time.set_axis(index)
    return own.reindex(columns=list(BASIS)).combine_first(of_operators.reindex(columns=list(BASIS)))[list(BASIS)]


def _source(time: pd.DataFrame | None, refused: pd.Series[str]) -> np.ndarray:
    """Return which model the time of each row is from; empty for refused rows."""
    source = OF_LIST if time is None or SOURCE not in time else time[SOURCE].to_numpy()
    return np.where(refused == "", source, "")


def _fits(found: pd.DataFrame) -> np.ndarray:
    """Return whether the memory of each row is that of its device at most, by its prediction and its upper limit."""
    size, predicted, upper = (found[name] for name in (CAPACITY, MEMORY, limits_of(MEMORY)[1]))
    unknown = (size.isna() | predicted.isna()).to_numpy()
    conditions = [unknown, (predicted > size).to_numpy(), (upper > size).to_numpy()]
    return np.select(conditions, ["", FITS_NOT, MAY_FIT], DOES_FIT)


def _refusals(asked: pd.DataFrame, time: pd.DataFrame | None, explained: Explanation | None) -> pd.Series[str]:
    """Return why each row is refused; empty for those with a time."""
    found = asked["refused"].fillna("").astype("object")
    if explained is not None:
        shares = explained.unknown.set_axis(asked.index)
        why = [too_much_unknown(share, name) for share, name in zip(shares, explained.unknown_operators, strict=True)]
        found = found.where(found != "", pd.Series(why, asked.index, dtype="object"))
    return found if time is None else found.where(found != "", pd.Series(time["reason"].to_numpy(), asked.index))


def _limits(found: pd.DataFrame, explained: Explanation) -> pd.Series[str]:
    """Return what limits the time of each row in its state.

    A power limit that slows a case down limits it. At a lower clock, the host limits the time as long as the case is as
    fast as at the boost clock. Compute limits it if most of the time scales with the clock.
    """
    usual, compute = explained.limit.fillna("").set_axis(found.index), explained.compute.set_axis(found.index)
    ratio = found[TIME] / _usual_times(found)
    slower = ratio > _SLOWER
    # f is the clock over the boost clock: if the fraction x of the time scales with 1/f, ratio = 1 - x + x / f.
    scaled = (ratio - 1.0) / (1.0 - explained.clock.set_axis(found.index)) / ratio
    by_compute = (compute >= 0.5) | (slower & (scaled >= 0.5))
    by_device = pd.Series(np.where(by_compute, COMPUTE_BOUND, MEMORY_BOUND), index=found.index)
    at_clock = found["clock_mhz"].notna() & compute.notna() & ((usual != LAUNCH_BOUND) | slower)
    return usual.mask(at_clock & (usual != LATENCY_BOUND), by_device).mask(
        found["power_limit_w"].notna() & slower, POWER_BOUND
    )


def _usual_times(found: pd.DataFrame) -> np.ndarray:
    """Return the time of each row's case on its device in the default state."""
    free = found[found["state"] == ""].set_index(["case", "device"])[TIME]
    free = free[~free.index.duplicated()]
    return free.reindex(pd.MultiIndex.from_frame(found[["case", "device"]])).to_numpy(dtype="float64")


def _missing(predictions: Mapping[str, pd.DataFrame], refused: pd.Series[str]) -> list[str]:
    """Return for each row with a time which quantities it lacks: `power not predicted: ...; energy not ...`."""
    texts = [""] * len(refused)
    for quantity, frame in predictions.items():
        for place, (reason, row) in enumerate(zip(frame["reason"], refused, strict=True)):
            if reason and not row:
                words = f"{quantity.split('_')[0]} not predicted: {reason}"
                texts[place] = f"{texts[place]}; {words}" if texts[place] else words
    return texts


def shares_by_kind(asked: pd.DataFrame, shares: pd.DataFrame) -> pd.DataFrame:
    """Return the share of the time in each kind of operator: `case`, `device`, `kind`, `share`, the largest first.

    `shares` has one row per row of `asked`, by place, and one column per kind.
    """
    kept = shares.reset_index(drop=True).assign(
        case=asked["case"].to_numpy(), device=asked["device"].to_numpy(), _place=range(len(asked))
    )
    long = kept.melt(id_vars=["case", "device", "_place"], var_name="kind", value_name="share")
    ordered = long[long["share"] > 0].sort_values(["_place", "share"], ascending=[True, False], kind="stable")
    return ordered[["case", "device", "kind", "share"]].reset_index(drop=True)
