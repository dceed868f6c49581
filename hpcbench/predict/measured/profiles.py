"""The operators of profiles, `operators.parquet`, as the tables of operators, networks and lists."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd

from hpcbench.core.profiling.operator_row import FUSED, IDLE, NETWORK, POWER_CAP
from hpcbench.predict.aten.convert import ORIGIN, SHARE, converted
from hpcbench.predict.aten.nothing import KINDS as WITHOUT_WORK
from hpcbench.predict.measured.values import numbers, texts
from hpcbench.predict.tables import lists, networks
from hpcbench.predict.tables import operators as table
from hpcbench.predict.tables.prediction import Floats

MOVED, NOT_TIMED, COMPILED = "the clock moved", "not timed", "kernel of a compiled network"
INTERFERENCE, THROTTLED = "interference", "throttled by heat, a power brake or a CPU quota"
RUN = ("sweep", "case", "run")


class Profiled(NamedTuple):
    """Tables of the rows of profiles, and how many rows were left out, by reason.

    The `list_id` of a network is the ID of its case.
    """

    operators: pd.DataFrame
    networks: pd.DataFrame
    lists: pd.DataFrame
    left_out: Mapping[str, int]


def profiled(profile: pd.DataFrame, file: str = "", contaminated: pd.DataFrame | None = None) -> Profiled:
    """Return the tables of a profile with the columns of docs/reference/operator-profile.md.

    `contaminated` has the columns RUN of runs with interference. Their rows, throttled rows, rows whose clock moved by
    over 2 %, and rows without a time are left out. A GPU that works at its power limit is not throttled.
    """
    rows = profile.reset_index(drop=True).assign(row=np.arange(len(profile)))
    reasons = _reasons(rows, contaminated)
    kept = rows[reasons == ""]
    is_network = kept["kind"] == NETWORK
    whole = _networks(kept[is_network], file)
    lists_of_all = _lists(rows[(reasons != INTERFERENCE) & (rows["kind"] != NETWORK)])
    known = set(lists_of_all["list_id"])
    whole["list_id"] = whole["list_id"].where(whole["list_id"].isin(known), "")
    left_out = {str(reason): int(count) for reason, count in reasons[reasons != ""].value_counts().items()}
    return Profiled(_operators(kept[~is_network], file), whole, lists_of_all, left_out)


def _reasons(rows: pd.DataFrame, contaminated: pd.DataFrame | None) -> pd.Series:
    """Return why each row is left out; empty for those that are used, and for those that describe no work."""
    reasons = pd.Series("", index=rows.index, dtype="object")
    works = ~rows["kind"].isin((IDLE, *WITHOUT_WORK))
    reasons[works & np.isnan(_time_s(rows))] = NOT_TIMED
    reasons[rows["kind"] == FUSED] = COMPILED
    reasons[works & (rows["clock_moved"].fillna(False).astype("bool") if "clock_moved" in rows else False)] = MOVED
    reasons[works & _throttled(rows)] = THROTTLED
    if contaminated is not None and len(contaminated):
        runs = pd.MultiIndex.from_frame(contaminated[list(RUN)])
        reasons[pd.MultiIndex.from_frame(rows[list(RUN)]).isin(runs)] = INTERFERENCE
    return reasons


def _throttled(rows: pd.DataFrame) -> pd.Series[bool]:
    """Return whether the GPU was throttled in the power window of each row, for another reason than its power limit."""
    found = [set(filter(None, text.split(", "))) - {POWER_CAP} for text in texts(rows, "throttle_reasons")]
    return pd.Series([bool(each) for each in found], index=rows.index, dtype="bool")


def _time_s(rows: pd.DataFrame) -> Floats:
    """Return the time of one call in the stream: alone in it, otherwise inside the network, otherwise on GPUs hot.

    A whole step has its own measured time. On CPUs, hot operators are faster than inside a network.
    """
    in_stream = numbers(rows, "stream_s", "in_network_s")
    hot = np.where(rows["device"] == "gpu", numbers(rows, "hot_s"), np.nan)
    of_operator = np.where(np.isnan(in_stream), hot, in_stream)
    return np.where(rows["kind"] == NETWORK, numbers(rows, "hot_s", "stream_s", "in_network_s"), of_operator)


def _conditions(rows: pd.DataFrame) -> pd.DataFrame:
    """Return where the rows were measured: the columns that operators and networks share."""
    on_gpu = rows["device"] == "gpu"
    clock = np.where(on_gpu, numbers(rows, "sm_clock_mhz", "requested_clock_mhz"), numbers(rows, "cpu_clock_mhz"))
    found = {
        "device": texts(rows, "device_model"),
        "library": (texts(rows, "framework") + " " + texts(rows, "framework_version")).str.strip(),
        "clock_mhz": clock,
        "power_limit_w": numbers(rows, "power_limit_w"),
        "threads": np.where(on_gpu, np.nan, numbers(rows, "threads")),
    }
    return pd.DataFrame(found, index=rows.index)


def _operators(rows: pd.DataFrame, file: str) -> pd.DataFrame:
    rows = rows[(rows["kind"] != IDLE) & ~rows["kind"].isin(WITHOUT_WORK)]
    works = converted(rows)
    share, places = works[SHARE].to_numpy(), works[ORIGIN].to_numpy()
    measured = rows.iloc[places]
    where = _conditions(rows).iloc[places].reset_index(drop=True)
    found = works.assign(
        file=file,
        row=measured["row"].to_numpy(),
        timing=table.STREAM,
        time_s=_time_s(rows)[places] * share,
        power_w=numbers(measured, "power_w"),
        energy_j=numbers(measured, "energy_per_call_j") * share,
    )
    return table.complete(pd.concat([found, where], axis=1))


def _networks(rows: pd.DataFrame, file: str) -> pd.DataFrame:
    found = pd.DataFrame(
        {
            "file": file,
            "row": rows["row"],
            "network": named(rows),
            "phase": texts(rows, "task"),
            "dtype": texts(rows, "case_dtype"),
            "execution": texts(rows, "execution"),
            "optimizer": texts(rows, "optimizer").map(optimizer_name),
            "list_id": texts(rows, "case"),
            "batch_size": numbers(rows, "batch_size"),
            "unit": networks.STEP,
            "time_s": _time_s(rows),
            "power_w": numbers(rows, "power_w"),
            "energy_j": numbers(rows, "energy_per_call_j"),
        }
    )
    return networks.complete(pd.concat([found, _conditions(rows)], axis=1)).reset_index(drop=True)


def named(rows: pd.DataFrame) -> pd.Series:
    """Return the names of networks: the model, with its options as JSON unless they are empty."""
    options = texts(rows, "model_options").replace({"{}": "", "null": ""})
    return (texts(rows, "model") + " " + options).str.strip()


def optimizer_name(options: str) -> str:
    """Return the name in the options of an optimizer as JSON; other texts are returned unchanged."""
    try:
        found = json.loads(options)
    except ValueError:
        return options
    return str(found.get("name", "")) if isinstance(found, dict) else options


def _lists(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the operators of a step of each case that was not compiled: those of its first run and device state."""
    compiled = set(rows.loc[rows["kind"] == FUSED, "case"])
    rows = rows[~rows["case"].isin(compiled) & (rows["kind"] != IDLE)]
    rows = rows.drop_duplicates(["case", "operator", "phase", "arguments"])
    works = converted(rows)
    origin = rows.iloc[works[ORIGIN].to_numpy()]
    found = works.assign(
        list_id=origin["case"].astype("object").to_numpy(),
        fused_node="",
        calls=numbers(origin, "calls_per_step"),
    )
    return found[list(lists.COLUMNS)].reset_index(drop=True)
