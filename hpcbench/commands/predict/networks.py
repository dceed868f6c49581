"""The networks to predict: the cases of an experiment, a model or an ONNX file, or a program of torch.export."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import click

from hpcbench.collect.operator_lists.exported.archive import SUFFIX
from hpcbench.collect.operator_lists.exported.program import ExportedProgram, exported_program
from hpcbench.collect.operator_lists.lists import operator_lists
from hpcbench.commands.predict.named_model import BATCHES, experiment_file, experiment_of, is_model, made_experiment
from hpcbench.commands.shared.context import choose_site
from hpcbench.commands.shared.planning import planned
from hpcbench.commands.shared.predictions.listing import print_listing
from hpcbench.config.parameters import Parameters
from hpcbench.config.site import Site
from hpcbench.config.workload.fields import MOST_ITEMS
from hpcbench.config.yaml_document import Document, load_yaml
from hpcbench.core.profiling.operator_list import OperatorList
from hpcbench.errors import UserError
from hpcbench.models.inputs import is_single
from hpcbench.models.items import item_of
from hpcbench.plan.plan import Plan
from hpcbench.store.provenance.sweep_options import SweepOptions
from hpcbench.store.workspace import Workspace
from hpcbench.util.console import print_warning
from hpcbench.util.text import in_list

if TYPE_CHECKING:
    from hpcbench.predict.results.listed_cases import ListedCases

ONNX_SUFFIX = ".onnx"
_ATEN = " aten."  # in a reason that names operators
_DECOMPOSE = "save program.run_decompositions() instead, which decomposes operators of aten"
_OTHERS = "predict another experiment or a model: hpcbench list experiments; hpcbench list models"
_IN_EXPERIMENTS = "in an experiment: --set 'matrix.batch_size=[1,8]'"


class Networks(Protocol):
    """What is predicted, and where its prices are from."""

    @property
    def name(self) -> str:
        """Return the name of the experiment or file."""

    @property
    def site(self) -> Site:
        """Return the site with the prices."""

    @property
    def kinds(self) -> frozenset[str]:
        """Return the devices of the cases, `cpu` and `gpu`; empty if unknown, as for a program."""

    @property
    def item(self) -> str:
        """Return what the cases process: `image`."""

    def listed(self) -> ListedCases:
        """Return the cases with their operators. Raise UserError if none of them is a network."""

    def hint(self, reasons: Iterable[str]) -> str:
        """Return what to do about the reasons why cases are not predicted; empty if unknown."""


@dataclass(frozen=True)
class PlannedNetworks:
    """The cases of an experiment, whose operators their frameworks list."""

    plan: Plan
    workspace: Workspace
    file: Path | None = None  # ONNX file

    @property
    def name(self) -> str:
        """Return the name of the experiment."""
        return self.plan.experiment.name

    @property
    def site(self) -> Site:
        """Return the site of the plan."""
        return self.plan.site

    @property
    def kinds(self) -> frozenset[str]:
        """Return the devices of the cases."""
        return frozenset(case.parameters.device for case in self.plan.cases)

    @property
    def item(self) -> str:
        """Return what all cases process, or `sample`."""
        items = {item_of(case.parameters.model or "") for case in self.plan.cases}
        return (items.pop() if len(items) == 1 else None) or "sample"

    def listed(self) -> ListedCases:
        """Return the cases with their operators, and print if a framework starts."""
        from hpcbench.predict.results.listed_cases import listed_cases

        lists = operator_lists(self.plan.cases, self.site, self.workspace, print_listing)
        first = self.plan.cases[0]
        if self.file is not None:
            own = self.file
            lists = {case: replace(each, reason=_shortened(each.reason, own)) for case, each in lists.items()}
            if lists[first.id].reason:
                raise _refused(own, lists[first.id], first.parameters)
        found = listed_cases(self.plan.cases, lists)
        if (found.cases["refused"] != "").all():
            reasons = list(dict.fromkeys(found.cases["refused"]))
            if len(reasons) == 1:
                raise UserError(f"no case can be predicted: {reasons[0]}", hint=lists[first.id].hint or _OTHERS)
            raise UserError("no case can be predicted", hint=f"the first case: {reasons[0]}")
        for each in dict.fromkeys(f"{each.reason}; {each.hint}" for each in lists.values() if each.hint):
            print_warning(each)
        return found

    def hint(self, _: Iterable[str]) -> str:
        """Return an empty text: `listed` prints a warning with the hint of each reason."""
        return ""


@dataclass(frozen=True)
class ProgramNetworks:
    """A program that torch.export saved, for batches of several sizes."""

    program: ExportedProgram
    batch_sizes: Sequence[int]
    site: Site
    kinds: frozenset[str] = frozenset()
    item: str = "sample"

    @property
    def name(self) -> str:
        """Return the name of the file without its suffix."""
        return self.program.name

    def listed(self) -> ListedCases:
        """Return the cases with their operators."""
        from hpcbench.predict.results.program_cases import program_cases

        asked: Sequence[int | None] = self.batch_sizes or [self.program.batch_size]  # None: no input has a batch
        lists = {size or 1: self.program.operators(size) for size in asked}
        return program_cases(self.name, lists, self.program.dtype)

    def hint(self, reasons: Iterable[str]) -> str:
        """Return how to save the program if an operator of aten is of unknown kind."""
        return _DECOMPOSE if any(_ATEN in each for each in reasons) else ""


def sizes(_: click.Context, option: click.Parameter, text: str | None) -> tuple[int, ...]:
    """Return the batch sizes of an option, which commas separate. Fail if one is not a whole number above 0."""
    try:
        found = tuple(int(each) for each in text.split(",")) if text is not None else ()
    except ValueError:
        found = (0,)
    if any(each < 1 for each in found):
        raise click.BadParameter(
            f"'{text}' is not a whole number above 0, or several separated by commas", param=option
        )
    if max(found, default=0) > MOST_ITEMS:
        what = f"the batch size {max(found)} is larger than {MOST_ITEMS}"
        raise UserError(what, where=BATCHES, hint="use a smaller batch size")
    return found


def networks_of(
    workspace: Workspace, name: str, batch_sizes: Sequence[int], options: SweepOptions, site: str | None
) -> Networks:
    """Return the networks of an experiment, a model, an ONNX file or an exported program.

    An experiment has priority over a model of the same name. Raise UserError if it is not found or not valid, and for
    options that it does not have.
    """
    of_site = partial(choose_site, workspace, site, True)
    suffix = Path(name).suffix.lower()
    if suffix == SUFFIX:
        if options.settings:
            hint = f"export the network in the dtype to predict; {BATCHES} sets the batch size"
            hint += "\nto predict training, use an experiment or a model"
            raise UserError("--set requires an experiment, a model or an ONNX file", where=name, hint=hint)
        return ProgramNetworks(exported_program(Path(name)), batch_sizes[: options.limit], of_site())
    is_onnx = suffix == ONNX_SUFFIX
    if is_onnx:
        source = _of_onnx(Path(name), batch_sizes)
    elif is_model(workspace, name):
        source = experiment_of(name, batch_sizes)
    elif batch_sizes:
        raise UserError(f"{BATCHES} requires a model, an ONNX file or an exported program", hint=_IN_EXPERIMENTS)
    else:
        source = load_yaml(experiment_file(workspace, name))
    plan, _ = planned(source, options, of_site, workspace.input_file)
    return PlannedNetworks(plan, workspace, Path(name) if is_onnx else None)


def _of_onnx(file: Path, batch_sizes: Sequence[int]) -> Document:
    """Return the experiment of an ONNX file. Raise UserError if it is missing, or if YAML cannot represent its name."""
    if not file.is_file():
        raise UserError(f"'{file}' not found", hint="name an ONNX file")
    if not str(file.resolve()).isprintable():
        raise UserError(f"the name of '{file}' has bytes that are not UTF-8, or control characters", hint="rename it")
    parameters = {"framework": "onnxruntime", "model": {"onnx": str(file.resolve())}}
    return made_experiment(file.stem, parameters, batch_sizes, str(file))


def _refused(file: Path, listed: OperatorList, parameters: Parameters) -> UserError:
    """Return the error for an ONNX file whose operators cannot be listed, with the options that may help."""
    if listed.fixed_batch_size is not None:
        what = f"the graph has a fixed batch size of {listed.fixed_batch_size}, not {parameters.batch_size}"
        hint = f"use {BATCHES} {listed.fixed_batch_size}, or export the network with a dynamic batch size"
        return UserError(what, where=str(file), hint=hint)
    given = parameters.model_dump(mode="json")["input"] or {}
    hint = _hint_on_input(listed.lacks_input, given) if listed.lacks_input else listed.hint
    return UserError(listed.reason, where=str(file), hint=hint)


def _hint_on_input(lacking: Sequence[str], given: Mapping[str, Any]) -> str:
    """Return how to set the fields of `input` that are missing: `shape` and `value`.

    `given` is the `input` of the case. `--set 'parameters.input=...'` replaces all fields, so the hint repeats the
    given ones, unless `given` has several inputs.
    """
    only = next(iter(given.values())) if len(given) == 1 and not is_single(given) else {}
    own = given if is_single(given) else only
    of_numbers = {"value", "vocabulary"}.isdisjoint({*lacking, *own})
    examples = {
        "shape": ("the shape of one item", "shape", [3, 224, 224] if of_numbers else [128]),
        "value": ("the vocabulary size", "vocabulary", 30000),
    }
    missing = [example for name, example in examples.items() if name in lacking]
    fields = {**own, **{field: value for _, field, value in missing}}
    text = ", ".join(f"{name}: {json.dumps(value, separators=(',', ':'))}" for name, value in fields.items())
    hint = f"give {in_list([words for words, _, _ in missing])}: --set 'parameters.input={{{text}}}'"
    return f"{hint}\nfor several inputs: --set 'parameters.input={{NAME: {{{text}}}}}'\n{BATCHES} sets the batch size"


def _shortened(reason: str, file: Path) -> str:
    """Return a reason without the place of the file, which tables and pages would show to others."""
    return reason.removeprefix("model: ").replace(str(file.resolve()), "the file")
