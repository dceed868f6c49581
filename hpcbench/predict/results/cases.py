"""The cases of an experiment as rows of the table of networks, on each device and in each of its states."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from hpcbench.predict.results.state import DEFAULT, State
from hpcbench.predict.tables import networks

# Columns of a table of cases in addition to those of `networks.WORK`: the ID, what distinguishes the case, items per
# step, and why it cannot be predicted (otherwise empty); its name in the catalog of image networks (otherwise empty),
# and why its operators are not listed although it is predicted by this name (otherwise empty).
CASE = ("case", "label", "items_per_step", "refused", "image_network", "unlisted")
# Optional columns: `cpu` or `gpu`, the device that the case runs on, and the same if the experiment sets it, otherwise
# empty; and the cores that a task has next to a GPU.
DEVICE_KIND, SET_KIND, CORES = "device_kind", "set_device_kind", "cores"


def asked(
    cases: pd.DataFrame, states: Mapping[str, Sequence[State]], only: Mapping[str, str] | None = None
) -> pd.DataFrame:
    """Return one row per case, device and state.

    The columns are those of `networks` and `CASE`, SET_KIND, CORES (by default 1), and `state`, its label. `cases` has
    the columns `CASE` and those of `networks.WORK` that are known. `states` has the states of each device, in the order
    of the rows. A state that is given several times has one row. `only` has the kind of cases that run on a device, for
    devices that run one kind only.
    """
    conditions = pd.DataFrame(
        [
            {
                "device": device,
                "state": state.label,
                "clock_mhz": state.clock_mhz,
                "power_limit_w": state.power_limit_w,
            }
            for device, own in states.items()
            for state in dict.fromkeys((DEFAULT, *own))
        ],
        columns=["device", "state", "clock_mhz", "power_limit_w"],
    )
    rows = cases.drop(columns=[name for name in conditions if name in cases]).merge(conditions, how="cross")
    if only and DEVICE_KIND in rows:
        wanted = rows["device"].map(dict(only))
        rows = rows[wanted.isna() | (wanted == rows[DEVICE_KIND])].reset_index(drop=True)
    complete = networks.complete(rows.assign(unit=networks.STEP))
    others = {SET_KIND: rows.get(SET_KIND, ""), CORES: rows.get(CORES, 1)}
    return complete.assign(**{name: rows[name] for name in (*CASE, "state")}, **others)
