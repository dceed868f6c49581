"""Print what the models of the predictor are based on: data, rows, devices, errors and flaws."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from hpcbench.predict.basis import OPERATORS
from hpcbench.util.text import in_list, plural

if TYPE_CHECKING:
    from hpcbench.predict.basis import Basis
    from hpcbench.predict.fleet import Fleet
    from hpcbench.predict.typical_errors import TypicalError

_NAMES = {"time_s": "time", "power_w": "power", "energy_j": "energy"}
_NOTHING = "none (predictions are priors of hpcbench, from data sheets)"


def print_basis(fleet: Fleet, console: Console) -> None:
    """Print the data hash, the rows by device and by kind, the typical errors by kind, and the flaws of the data."""
    basis, errors = fleet.basis, fleet.typical_errors
    _line(console, "data", f"{plural(basis.total, 'row')}, SHA-256 {basis.data_hash}" if basis.total else _NOTHING)
    _line(console, "fitted with", in_list([f"{name} {version}" for name, version in fleet.versions.items()]))
    if basis.rows:
        console.print()
        console.print(_by_device(basis))
    if basis.operator_kinds:
        console.print()
        console.print(_by_kind(basis))
    if errors:
        console.print()
        console.print(_errors(errors))
    if basis.flaws:
        console.print()
    for flaw in basis.flaws:
        _line(console, "flaw", flaw)


def _line(console: Console, name: str, text: str) -> None:
    console.print(f"{name}: {text}", markup=False, soft_wrap=True)


def _by_device(basis: Basis) -> Table:
    """Return the table of devices: their rows of operators, and of each kind of network."""
    networks = [kind for kind in basis.rows if kind not in basis.operator_kinds]
    columns = {
        **({"operators": OPERATORS} if basis.operator_kinds else {}),
        **dict(zip(networks, networks, strict=True)),
    }
    table = Table(box=None, pad_edge=False)
    table.add_column("rows of device", no_wrap=True)
    for header in columns:
        table.add_column(header, justify="right")
    for device in basis.devices:
        counts = (basis.count(kind, device) for kind in columns.values())
        table.add_row(escape(device), *(f"{count:,}" if count else "-" for count in counts))
    return table


def _by_kind(basis: Basis) -> Table:
    """Return the table of kinds of operators: their rows and devices."""
    table = Table(box=None, pad_edge=False)
    table.add_column("kind of operator", no_wrap=True)
    for header in ("rows", "devices"):
        table.add_column(header, justify="right")
    for kind in basis.operator_kinds:
        counts = basis.rows[kind]
        table.add_row(escape(kind.replace("_", " ")), f"{sum(counts.values()):,}", f"{len(counts):,}")
    return table


def _errors(errors: Sequence[TypicalError]) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("90 % PI of", no_wrap=True)
    table.add_column("devices in the data", justify="right")
    table.add_column("other devices", justify="right")
    for each in errors:
        table.add_row(
            f"{_NAMES[each.quantity]}: {escape(each.kind.replace('_', ' '))}",
            *(f"-{low:.0f} to +{high:.0f} %" for low, high in (each.seen, each.unseen)),
        )
    return table
