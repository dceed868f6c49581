"""The data of a fit: their rows, devices and hash, and their flaws."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from hpcbench.predict.sets.data_set import DataSet
from hpcbench.predict.sets.row_digest import data_hash
from hpcbench.predict.tables.network_kinds import network_kinds
from hpcbench.predict.time.usable import reasons as operator_reasons
from hpcbench.util.text import plural

OPERATORS = "operators"


@dataclass(frozen=True)
class Basis:
    """The data of a fit. `rows` has the number of used rows by kind of operator or network, and by device."""

    data_hash: str
    rows: Mapping[str, Mapping[str, int]]
    operator_kinds: tuple[str, ...]  # those of the kinds in `rows` that are operators
    networks: tuple[str, ...]  # names
    flaws: tuple[str, ...]

    def count(self, kind: str, device: str) -> int:
        """Return the number of rows of a kind on a device; of all operators if the kind is OPERATORS."""
        kinds = self.operator_kinds if kind == OPERATORS else (kind,)
        return sum(self.rows.get(each, {}).get(device, 0) for each in kinds)

    @property
    def total(self) -> int:
        """Return the number of rows that the models use."""
        return sum(sum(counts.values()) for counts in self.rows.values())

    @property
    def devices(self) -> tuple[str, ...]:
        """Return the devices that the data have rows of."""
        return tuple(sorted({device for counts in self.rows.values() for device in counts}))

    def to_json(self) -> dict[str, Any]:
        """Return the basis as JSON types."""
        return {
            "data_hash": self.data_hash,
            "rows": {kind: dict(counts) for kind, counts in self.rows.items()},
            "operator_kinds": list(self.operator_kinds),
            "networks": list(self.networks),
            "flaws": list(self.flaws),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Basis:
        """Return the basis from `to_json`."""
        lists = {name: tuple(data[name]) for name in ("operator_kinds", "networks", "flaws")}
        return cls(data_hash=data["data_hash"], rows=data["rows"], **lists)


def basis_of(data: DataSet) -> Basis:
    """Return what a fit on a data set is based on. The hash is that of all rows, also of those that no model uses."""
    operators = data.operators[operator_reasons(data.operators, data.devices) == ""]
    networks = data.networks[_has_work(data)]
    of_operators = operators.groupby(["kind", "device"], observed=True).size()
    of_networks = networks.groupby([network_kinds(networks).rename("kind"), "device"], observed=True).size()
    rows: dict[str, dict[str, int]] = {}
    for counts in (of_operators, of_networks):
        for kind, device, count in counts.rename("count").reset_index().itertuples(index=False):
            rows.setdefault(str(kind), {})[str(device)] = int(count)
    names = {*data.operators["device"], *data.networks["device"]}
    used = {name: device for name, device in data.devices.items() if name in names}
    tables = {"operators": data.operators, "networks": data.networks, "lists": data.lists}
    return Basis(
        data_hash=data_hash(tables, used),
        rows=rows,
        operator_kinds=tuple(sorted(set(operators["kind"]))),
        networks=tuple(sorted(set(networks["network"]))),
        flaws=(*data.flaws, *_undescribed(data)),
    )


def _has_work(data: DataSet) -> pd.Series:
    """Return which networks have a device with a description and, if they name an operator list, that list."""
    networks = data.networks
    listed = networks["list_id"].isin(["", *data.lists["list_id"].unique()])
    return networks["device"].isin(list(data.devices)) & listed


def _undescribed(data: DataSet) -> list[str]:
    """Return a sentence for each device without a description, whose rows no model uses."""
    reason = "description of the device not found: docs/reference/devices.md"
    counts = pd.concat([data.operators["device"], data.networks["device"]]).value_counts(sort=False)
    return [
        f"{device}: {plural(int(count), 'row')} left out ({reason})"
        for device, count in counts.items()
        if device not in data.devices
    ]
