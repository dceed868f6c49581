"""The rows of `hpcbench list`, except sweeps and environments."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from hpcbench.commands.shared.context import config_folders
from hpcbench.config.experiment import load_experiment
from hpcbench.config.matrix.csv_group import with_csv_files
from hpcbench.config.site import load_site
from hpcbench.config.yaml_document import load_yaml
from hpcbench.core.frameworks import TRAINING_FRAMEWORKS
from hpcbench.core.metrics.value import better
from hpcbench.errors import UserError
from hpcbench.models import blocks
from hpcbench.models.catalog import MODELS, flops_per_item, network
from hpcbench.models.operators.catalog import OPERATORS, description_of, operator_of, phases_of, sizes_of
from hpcbench.models.operators.operator import FORWARD
from hpcbench.plan.matrix import count_points
from hpcbench.store.workspace import Workspace


@dataclass(frozen=True)
class ListedFile:
    """An experiment or site file; a `problem` is why it cannot be read."""

    name: str
    origin: str  # workspace or shipped
    file: str
    facts: Mapping[str, Any]
    problem: str | None = None


@dataclass(frozen=True)
class ListedOperator:
    """An operator, its phases, its sizes with their defaults, and the FLOPs of a forward pass with these."""

    name: str
    description: str
    sizes: dict[str, Any]
    phases: list[str]
    flops: int


@dataclass(frozen=True)
class ListedModel:
    """A model with its default options."""

    name: str
    description: str
    options: Mapping[str, Any]
    parameter_count: int
    flops_per_item: int  # of the forward pass of one item
    frameworks: tuple[str, ...]


@dataclass(frozen=True)
class ListedDevice:
    """A device for predictions, with rates of data sheets or measured ones."""

    name: str
    kind: str  # gpu or cpu
    architecture: str
    year: int
    float32_tflops: float
    float16_tflops: float  # of matrix products
    memory_gb: float
    memory_gb_per_s: float
    power_w: float
    source: str


@dataclass(frozen=True)
class ListedMetric:
    """A metric by which reports can rank."""

    name: str  # for --metric
    unit: str
    better: str | None  # higher, lower, or None if unknown
    origin: str  # built-in, or the experiment
    description: str = ""


def experiments(workspace: Workspace) -> list[ListedFile]:
    """Return the experiments of the workspace and the shipped ones; own files hide shipped ones of the same name."""
    facts = partial(_facts_of_experiment, workspace)
    return [_listed(path, origin, facts) for path, origin in _files(workspace, "experiments")]


def sites(workspace: Workspace) -> list[ListedFile]:
    """Return the sites of the workspace and the shipped ones; own files hide shipped ones of the same name."""
    return [_listed(path, origin, _facts_of_site) for path, origin in _files(workspace, "sites")]


def _files(workspace: Workspace, kind: str) -> Iterator[tuple[Path, str]]:
    """Yield the files that a name can stand for."""
    seen = set[str]()
    for folder, origin in zip(config_folders(workspace, kind), ("workspace", "shipped"), strict=True):
        for path in sorted(folder.glob("*.yaml")):
            if path.stem not in seen:
                seen.add(path.stem)
                yield path, origin


def _listed(path: Path, origin: str, facts: Any) -> ListedFile:
    try:
        return ListedFile(path.stem, origin, str(path), facts(path))
    except UserError as error:
        return ListedFile(path.stem, origin, str(path), {}, str(error))


def _facts_of_experiment(workspace: Workspace, path: Path) -> dict[str, Any]:
    experiment = load_experiment(with_csv_files(load_yaml(path), workspace.input_file))
    return {"points": count_points(experiment), "description": experiment.description}


def _facts_of_site(path: Path) -> dict[str, Any]:
    site = load_site(load_yaml(path))
    return {
        "scheduler": site.scheduler,
        "partition": site.slurm.partition,
        "partitions": list(site.partitions),
        "description": site.description,
    }


def models() -> list[ListedModel]:
    """Return all models."""
    return [_model(name) for name in MODELS]


def operators() -> list[ListedOperator]:
    """Return all operators."""
    return [
        ListedOperator(
            name, description_of(name), sizes_of(name), phases_of(name), operator_of(name, {}).flops(FORWARD)
        )
        for name in OPERATORS
    ]


def _model(name: str) -> ListedModel:
    model = MODELS[name]
    layers, shape = network(name, model.options)
    flops = flops_per_item(name, model.options, training=False)
    count = blocks.parameter_count(layers, shape)
    return ListedModel(name, model.description, model.options, count, flops, TRAINING_FRAMEWORKS)


def devices(workspace: Workspace) -> list[ListedDevice]:
    """Return the described devices and the measured types of nodes.

    Raise UserError if a device file of the workspace is not valid. Nodes whose description is incomplete are omitted.
    """
    # They need pandas, which nothing else here needs.
    from hpcbench.report.load.devices import known_devices

    return [
        ListedDevice(
            device.name,
            device.kind,
            device.architecture,
            device.year,
            device.vector_flops_per_s / 1e12,
            device.flops_per_s("float16") / 1e12,
            device.memory_bytes / 1e9,
            device.memory_bytes_per_s / 1e9,
            device.board_power_w,
            device.source,
        )
        for device in known_devices(workspace).all()
    ]


def built_in_metrics() -> list[ListedMetric]:
    """Return the built-in quantities to rank by. Commands have no throughput and no accuracy."""
    # They need pandas, which nothing else here needs.
    from hpcbench.analysis.cases.quantities import OF_MODELS, QUANTITIES, short_column

    described = {each: each.title for each in QUANTITIES.values()}
    described |= {each: f"{each.title}; unknown for commands" for each in OF_MODELS}
    return [
        ListedMetric(
            short_column(each.column),
            each.unit,
            "higher" if each.more_is_better else "lower",
            "built-in",
            described[each],
        )
        for each in QUANTITIES.values()
    ]


def metrics_of(experiment: str, section: Mapping[str, Any]) -> list[ListedMetric]:
    """Return the metrics of an experiment, given by its name and its section `metrics`."""
    return [ListedMetric(name, metric["unit"], better(metric), experiment) for name, metric in section.items()]
