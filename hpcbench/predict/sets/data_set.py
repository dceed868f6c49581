"""A data set: the tables of several files, in the canonical form, with their devices."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hpcbench.predict.devices.device import Device
from hpcbench.predict.sets import formats
from hpcbench.predict.sets.checks import check_targets, checked, misspelt_targets
from hpcbench.predict.sets.cleaning import contaminated, not_compared, of_one_device, without_invalid
from hpcbench.predict.sets.contradictions import contradictions
from hpcbench.predict.sets.device_table import devices
from hpcbench.predict.sets.formats import Format, format_of
from hpcbench.predict.sets.list_files import lists
from hpcbench.predict.sets.network_files import networks
from hpcbench.predict.sets.operator_files import operators
from hpcbench.predict.sets.sizes_of_products import contradicted_sizes
from hpcbench.predict.tables import lists as list_table
from hpcbench.predict.tables import networks as network_table
from hpcbench.predict.tables import operators as operator_table
from hpcbench.util.text import plural


def _no_rows(columns: Iterable[str]) -> pd.DataFrame:
    return pd.DataFrame(columns=list(columns))


@dataclass(frozen=True)
class DataSet:
    """Rows of operators, networks and operator lists, and the devices by each of their names.

    `files` has the format of each file with rows to predict. `flaws` are sentences about rows that were left out, or
    that are doubtful.
    """

    operators: pd.DataFrame = field(default_factory=lambda: operator_table.complete(_no_rows(operator_table.COLUMNS)))
    networks: pd.DataFrame = field(default_factory=lambda: network_table.complete(_no_rows(network_table.COLUMNS)))
    lists: pd.DataFrame = field(default_factory=lambda: _no_rows(list_table.COLUMNS))
    devices: Mapping[str, Device] = field(default_factory=dict)
    files: Mapping[str, Format] = field(default_factory=dict)
    flaws: tuple[str, ...] = ()

    def where(self, operators: NDArray[np.bool_], networks: NDArray[np.bool_]) -> DataSet:
        """Return the data set with these rows of operators and networks, and all lists and devices."""
        return replace(
            self,
            operators=self.operators[operators].reset_index(drop=True),
            networks=self.networks[networks].reset_index(drop=True),
        )


def rows_to_predict(files: Mapping[str, pd.DataFrame]) -> DataSet:
    """Return the data set of files, by their names, with each of their rows.

    Its flaws name misspelt targets and count measurements that are zero, negative or infinite. Raise UserError if a
    column is missing or has a wrong type, if there are no rows, or if a device is invalid.
    """
    found = _converted({name: checked(name, rows, _format(name)) for name, rows in files.items()})
    flaws = [flaw for name, rows in files.items() for flaw in misspelt_targets(name, rows, _format(name))]
    flaws += not_compared(found.operators, operator_table.TARGETS)
    flaws += not_compared(found.networks, network_table.TARGETS)
    return replace(found, flaws=tuple(flaws))


def rows_to_train_on(files: Mapping[str, pd.DataFrame]) -> DataSet:
    """Return the data set of files, by their names, without the rows that a fit must not see, and its flaws.

    These are rows with interference, with invalid values, of several devices, or without a measurement. Raise UserError
    as `rows_to_predict`, and if a file has no measurements.
    """
    clean: dict[str, pd.DataFrame] = {}
    flaws: list[str] = []
    for name, rows in files.items():
        format_ = _format(name)
        rows = checked(name, rows, format_)
        check_targets(name, rows, format_)
        flaws += misspelt_targets(name, rows, format_)
        dirty = contaminated(rows)
        flaws += [f"{name}: {plural(int(dirty.sum()), 'row')} left out (interference)"] if dirty.any() else []
        clean[name] = rows[~dirty]
    data = cleaned(replace(_converted(clean), flaws=tuple(flaws)))
    return replace(data, flaws=(*data.flaws, *contradicted_sizes(data.operators)))


def cleaned(data: DataSet) -> DataSet:
    """Return a data set without rows that are invalid or of several devices. Its flaws count them and contradictions.

    Rows without a measurement are invalid.
    """
    flaws = list(data.flaws)
    kept = {}
    tables = (("operators", data.operators, operator_table), ("networks", data.networks, network_table))
    for name, table, columns in tables:
        kept[name], found = without_invalid(table, columns.TARGETS, columns.SIZES)
        flaws += found
    kept["networks"], found = of_one_device(kept["networks"])
    flaws += found
    flaws += contradictions(kept["operators"], (*operator_table.WORK, *operator_table.CONDITIONS))
    flaws += contradictions(kept["networks"], (*network_table.WORK, *network_table.CONDITIONS))
    return replace(data, operators=kept["operators"], networks=kept["networks"], flaws=tuple(flaws))


def merged(*sets: DataSet) -> DataSet:
    """Return the rows of all data sets, with primary names of devices.

    If several have the same operator list or device, the last one counts.
    """
    known = {name: device for each in sets for name, device in each.devices.items()}
    names = [set(each.lists["list_id"]) for each in sets]
    later = [set().union(*names[place + 1 :]) for place in range(len(sets))]
    kept = [each.lists[~each.lists["list_id"].isin(after)] for each, after in zip(sets, later, strict=True)]
    return DataSet(
        operators=_named(_stacked([each.operators for each in sets]), known),
        networks=_named(_stacked([each.networks for each in sets]), known),
        lists=_stacked(kept),
        devices=known,
        files={name: format_ for each in sets for name, format_ in each.files.items()},
        flaws=tuple(flaw for each in sets for flaw in each.flaws),
    )


def _format(name: str) -> Format:
    found = format_of(name.rpartition(".")[0] or name)
    if found is None:
        raise ValueError(f"a file of no known format: {name}")
    return found


def _converted(files: Mapping[str, pd.DataFrame]) -> DataSet:
    by_rows: dict[str, list[tuple[str, pd.DataFrame]]] = {}
    for name, rows in files.items():
        by_rows.setdefault(_format(name).rows, []).append((name, rows))
    empty = DataSet()
    of_operators = [operators(name, rows) for name, rows in by_rows.get(formats.OPERATORS, [])]
    of_networks = [networks(name, rows, _format(name).unit) for name, rows in by_rows.get(formats.NETWORKS, [])]
    of_lists = [lists(name, rows) for name, rows in by_rows.get(formats.LISTS, [])]
    described = {
        name: device for file, rows in by_rows.get(formats.DEVICES, []) for name, device in devices(rows, file).items()
    }
    targeted = {name: _format(name) for name in files if _format(name).targets}
    return DataSet(
        operators=_named(_stacked([empty.operators, *of_operators]), described),
        networks=_named(_stacked([empty.networks, *of_networks]), described),
        lists=_stacked([empty.lists, *of_lists]),
        devices=described,
        files=targeted,
    )


def _stacked(tables: list[pd.DataFrame]) -> pd.DataFrame:
    """Return the rows of tables with equal columns; empty tables do not change the types of columns."""
    filled = [table for table in tables if len(table)]
    return pd.concat(filled, ignore_index=True) if filled else tables[0]


def _named(table: pd.DataFrame, known: Mapping[str, Device]) -> pd.DataFrame:
    """Return a table with the primary name of each device; names without a description are unchanged."""
    primary = {name: device.name for name, device in known.items() if name != device.name}
    return table.assign(device=table["device"].replace(primary)) if primary else table
