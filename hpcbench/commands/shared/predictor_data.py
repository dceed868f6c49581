"""Read the data of the predictor: folders and files as of docs/reference/predictor-data.md, and sweeps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import click
import pandas as pd

from hpcbench.collect.predictor_data.folder import find_tables
from hpcbench.collect.predictor_data.table_file import SUFFIXES, read_table
from hpcbench.collect.profiles.typed import typed
from hpcbench.commands.shared.context import open_sweep, workspace_of
from hpcbench.errors import NotFoundError, UserError
from hpcbench.predict.devices.device import Device
from hpcbench.predict.devices.known import KnownDevices
from hpcbench.predict.measured.data_set import is_profile, of_profile, of_runs
from hpcbench.predict.sets.data_set import DataSet, merged, rows_to_predict, rows_to_train_on
from hpcbench.predict.sets.formats import format_of, known_names
from hpcbench.predict.sets.implausible import implausible
from hpcbench.util.console import print_warning, print_warnings

_GZIP = b"\x1f\x8b"


def training_data(context: click.Context, sources: Sequence[str]) -> DataSet:
    """Return the rows to train on of folders, files and sweeps, merged; its flaws name measurements in wrong units.

    A source that is named several times counts once. Print a warning for tables with unknown names. Raise UserError for
    invalid data, and for a source that is not found.
    """
    found = [_source(context, source) for source in dict.fromkeys(sources)]
    data = described(merged(*found), _known(context))
    return replace(data, flaws=(*data.flaws, *implausible(data.operators, data.devices)))


def data_to_predict(context: click.Context, folder: str) -> DataSet:
    """Return all rows of a folder. Print warnings for tables with unknown names, and for targets that are not compared.

    Raise UserError for invalid data.
    """
    data = rows_to_predict(folder_tables(Path(folder)))
    print_warnings(data.flaws)
    return described(data, _known(context))


def described(data: DataSet, known: KnownDevices) -> DataSet:
    """Return a data set in which devices that it does not describe have the descriptions of the workspace, if any.

    The data set's own descriptions count first.
    """
    names = {*data.operators["device"], *data.networks["device"]} - set(data.devices)
    found: dict[str, Device] = {}
    for name in names:
        try:
            device = known.find(name)
        except UserError:  # rows of this device are refused with the reason
            continue
        found |= {**dict.fromkeys(device.names, device), name: device}
    return merged(DataSet(devices=found), data) if found else data


def folder_tables(path: Path) -> dict[str, pd.DataFrame]:
    """Return the tables of a folder with known names, by the names of the files.

    Print a warning for other tables. Raise UserError if the folder has no table of measurements.
    """
    if not path.exists():
        raise UserError(f"'{path}' not found", hint="name a folder of measurements")
    found = find_tables(path, lambda stem: format_of(stem) is not None)
    for name in found.unknown:
        print_warning(f"{path / name} is not read: its name begins with none of {known_names()}")
    tables = {each.name: read_table(each) for each in found.known}
    if not any(_has_targets(Path(name)) for name in tables):
        what = "no tables of operators or networks"
        raise UserError(what, where=str(path), hint=f"name the tables {known_names()}, as .parquet or .csv")
    return tables


def _known(context: click.Context) -> KnownDevices:
    from hpcbench.report.load.devices import known_devices

    return known_devices(workspace_of(context))


def _source(context: click.Context, source: str) -> DataSet:
    """Return the rows to train on of a folder, a table, or a sweep."""
    path = Path(source)
    if path.is_dir():
        return rows_to_train_on(folder_tables(path))
    if path.suffix in SUFFIXES:
        return _table(path)
    if path.is_file() and not _is_compressed(path):
        hint = "name a folder, a table (.csv or .parquet), a sweep, or an archive of one"
        raise UserError("the file has no measurements", where=source, hint=hint)
    return _sweep(context, source)


def _is_compressed(path: Path) -> bool:
    """Return whether a file begins like an archive of a sweep, with the magic number of gzip (RFC 1952)."""
    with path.open("rb") as file:
        return file.read(len(_GZIP)) == _GZIP


def _table(path: Path) -> DataSet:
    """Return the rows of a table with a known name, or of an operator profile with any name."""
    if not path.is_file():
        raise UserError(f"'{path}' not found", hint="name a folder, a table or a sweep")
    rows = read_table(path)
    if is_profile(rows):
        return of_profile(typed(rows), path.name)
    if format_of(path.stem) is None:
        hint = f"use a table named {known_names()}, or one of `hpcbench report --operators`"
        raise UserError("not a table with a known name", where=str(path), hint=hint)
    return rows_to_train_on({path.name: rows})


def _sweep(context: click.Context, name: str) -> DataSet:
    """Return the runs of a sweep, and its profile."""
    from hpcbench.collect.profiles.table import operator_table
    from hpcbench.collect.table import repetition_table
    from hpcbench.report.load.profiles import lines_left_out
    from hpcbench.report.load.records import latest_records

    try:
        paths = open_sweep(context, workspace_of(context), name)
    except NotFoundError as error:
        hint = "\n".join(filter(None, ["name a folder, a table or a sweep", error.hint]))
        raise UserError(f"'{name}' not found", hint=hint) from error
    records = latest_records(paths)
    table = operator_table(paths, [record for record in records if record.measure.get("profile")])
    if table.damaged:
        print_warning(lines_left_out(table.damaged))
    return of_runs(repetition_table(records), paths.name, table.frame)


def _has_targets(path: Path) -> bool:
    found = format_of(path.stem)
    return found is not None and bool(found.targets)
