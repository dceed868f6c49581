"""The measurements of a data set, with what describes their rows."""

from __future__ import annotations

import pandas as pd

from hpcbench.predict.basis import OPERATORS, Basis
from hpcbench.predict.sets.cleaning import is_impossible
from hpcbench.predict.sets.data_set import DataSet
from hpcbench.predict.tables import networks as network_table
from hpcbench.predict.tables.network_kinds import network_kinds
from hpcbench.predict.time.few_rows import MOST_FEW
from hpcbench.util.text import plural

ORIGIN = ["file", "row"]
SEEN, UNSEEN = "seen", "unseen"
_KEYS = (*network_table.WORK, "library", "clock_mhz", "power_limit_w")

_COLUMNS = (*ORIGIN, "device", "kind", *_KEYS, "unit", *network_table.TARGETS)


def measurements(data: DataSet, basis: Basis) -> pd.DataFrame:
    """Return one row per row and target of a data set: `file`, `row`, `quantity` and `measured`, and descriptions.

    `quantity` is the name of the column, and `measured` is in its unit, NaN if the file does not have it, or if it is
    zero, negative or infinite. `device`, `vendor` and `seen` (in the data of the fit) describe the device; `kind`,
    `dtype`, `phase`, `execution` and `is_new_network` what was measured. Networks also have their work and conditions.
    """
    described = [_operators(data.operators, basis), _networks(data.networks, basis)]
    rows = pd.concat([table for table in described if len(table)] or described, ignore_index=True)
    rows = rows.reindex(columns=list(dict.fromkeys([*_COLUMNS, *rows.columns])))
    vendors = {name: device.vendor for name, device in data.devices.items()}
    rows["vendor"] = [vendors.get(name, "") for name in rows["device"]]
    found = []
    for file, format_ in data.files.items():
        of_file = rows[rows["file"] == file]
        found += [
            of_file.assign(
                quantity=target.column, order=order, measured=_possible(of_file[target.quantity]) / target.unit
            )
            for order, target in enumerate(format_.targets)
        ]
    if not found:
        return rows.assign(quantity="", measured=float("nan"))
    return pd.concat(found).sort_values([*ORIGIN, "order"], ignore_index=True)


def _possible(values: pd.Series[float]) -> pd.Series[float]:
    return values.mask(is_impossible(values))


def _operators(operators: pd.DataFrame, basis: Basis) -> pd.DataFrame:
    columns = [*ORIGIN, "device", "kind", "dtype", "phase", "clock_mhz", "power_limit_w", "time_s", "power_w"]
    rows = operators[[*columns, "energy_j"]]
    return rows.assign(seen=_seen(rows["device"], OPERATORS, basis), execution="", is_new_network=False)


def _networks(networks: pd.DataFrame, basis: Basis) -> pd.DataFrame:
    rows = networks[[*ORIGIN, "device", *_KEYS, "unit", *network_table.TARGETS]]
    kinds = network_kinds(networks)
    seen = pd.Series(UNSEEN, index=rows.index, dtype="object")
    for kind, of_kind in rows.groupby(kinds):
        seen[of_kind.index] = _seen(of_kind["device"], str(kind), basis)
    return rows.assign(kind=kinds, seen=seen, is_new_network=~rows["network"].isin(basis.networks))


def _seen(devices: pd.Series, kind: str, basis: Basis) -> pd.Series:
    """Return whether the data of the fit have rows of a kind on each device, or how many if these are few."""
    labels = {}
    for device in devices.unique():
        count = basis.count(kind, device)
        is_few = kind == OPERATORS and 0 < count <= MOST_FEW
        labels[device] = plural(count, "row") if is_few else SEEN if count else UNSEEN
    return devices.map(labels)
