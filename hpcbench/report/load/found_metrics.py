"""The option `--metric NAME` for a metric that hpcbench found in the output, and that no experiment defines."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from hpcbench.analysis.cases.quantities import OF_MODELS, QUANTITIES, short_column
from hpcbench.collect.found_metrics import FoundMetric
from hpcbench.collect.sweep_output import found_in_sweep, is_command, with_metric
from hpcbench.collect.table import metric_columns
from hpcbench.config.metrics import column_of
from hpcbench.core.record import Record
from hpcbench.errors import nearest
from hpcbench.report.load.metrics import unknown_metric
from hpcbench.store.workspace import SweepPaths


def with_found_metric(asked: str | None, sweeps: Sequence[SweepPaths], records: Sequence[Record]) -> list[Record]:
    """Return the records, with the metric that `asked` names if it was found in the output and is not defined.

    Raise UserError, with the known and the found names, if neither hpcbench nor an experiment knows the name, and it
    was not found. Throughput and accuracy are unknown if all records are of commands, whose work is unknown.
    """
    name = (asked or "").partition(":")[0]
    columns = metric_columns(records)
    only_commands = bool(records) and all(map(is_command, records))
    own = [column for column, each in QUANTITIES.items() if each not in OF_MODELS or not only_commands]
    known = {*own, *map(short_column, own), *columns, *(each.name for each in columns.values())}
    if asked is None or name in known:
        return list(records)
    by_sweep = {paths.name: found_in_sweep(paths, _of(paths, records)) for paths in sweeps}
    found = {metric.name: metric for each in by_sweep.values() for metric in each}
    metric = next((each for each in found.values() if name in (each.name, column_of(each.name, each.unit))), None)
    if metric is None:
        declared = [each.name for each in columns.values()]
        raise unknown_metric(asked, (), _hint(name, known, declared, found))
    return _extracted(metric, {paths.name: paths for paths in sweeps}, records)


def _hint(name: str, known: Collection[str], declared: Collection[str], found: Collection[str]) -> str:
    """Return the closest known name, and the metrics of the experiments and those found in the output."""
    lists = {"metrics of the experiment": declared, "found in the output": found}
    named = [f"{title}: {', '.join(names)}" for title, names in lists.items() if names]
    return "\n  ".join(filter(None, (nearest(name, [*known, *found]), "; ".join(named))))


def _extracted(metric: FoundMetric, sweeps: Mapping[str, SweepPaths], records: Sequence[Record]) -> list[Record]:
    made = [with_metric(paths, _of(paths, records), metric.name, metric.spec) for paths in sweeps.values()]
    return [record for each in made for record in each]


def _of(paths: SweepPaths, records: Sequence[Record]) -> list[Record]:
    return [record for record in records if record.sweep == paths.name]
