"""The conditions of `accept` of the sweeps of a report, and their verdicts on its cases."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import pandas as pd

from hpcbench.analysis.acceptance import REASON, VERDICT, Required, checks, unmeasurable, worst
from hpcbench.analysis.cases.quantities import (
    ACCURACIES,
    OF_TRAININGS,
    OF_VALIDATIONS,
    PRICE,
    REQUIRABLE,
    THROUGHPUT,
    Quantity,
    as_reported,
    price_of,
)
from hpcbench.analysis.results import Results
from hpcbench.config.experiment import Experiment
from hpcbench.config.pricing import has_prices
from hpcbench.config.validation.acceptance import Condition
from hpcbench.config.validation.findings import Findings
from hpcbench.config.yaml_document import Document
from hpcbench.core.frameworks import TIME_TO_ACCURACY
from hpcbench.core.record import Record
from hpcbench.core.status import COMPLETED
from hpcbench.errors import Finding, UserError
from hpcbench.report.load.found_metrics import with_found_metric
from hpcbench.report.load.metrics import named
from hpcbench.report.text.acceptance import absence, by_case, reasons
from hpcbench.store.sweep import Sweep

if TYPE_CHECKING:
    from hpcbench.plan.case import Case
    from hpcbench.plan.plan import Plan

WHERE = "accept"


def accepts(sweep: Sweep) -> Mapping[str, Sequence[str]]:
    """Return the conditions of a sweep by quantity; none for a search, which measures most cases only briefly."""
    conditions = sweep.description["experiment"].get("accept") if sweep.tuning is None else None
    return conditions or {}


def with_required_metrics(sweeps: Sequence[Sweep], records: Sequence[Record]) -> list[Record]:
    """Return the records, with the metrics of `accept` that are not defined, but found in the output."""
    found = list(records)
    for name in dict.fromkeys(name for sweep in sweeps for name in accepts(sweep)):
        try:
            found = with_found_metric(name, [sweep.paths for sweep in sweeps], found)
        except UserError:  # unknown: reported with the verdicts
            continue
    return found


def with_acceptance(results: Results, sweeps: Sequence[Sweep]) -> Results:
    """Return the results with the verdicts of `accept`, also as columns of the cases if a sweep has conditions."""
    found = checks(results.cases, results.repetitions, list(_required(results, sweeps)))
    if not found:
        return results
    cases = by_case(found)
    keys = list(zip(results.cases["sweep"], results.cases["case"], strict=True))
    table = results.cases.copy()
    place = list(table).index("status") + 1
    verdicts = [worst(each.verdict for each in cases[key]) if key in cases else None for key in keys]
    table.insert(place, VERDICT, verdicts)
    table.insert(place + 1, REASON, [reasons(cases[key]) if key in cases else None for key in keys])
    return replace(results, cases=table, acceptance=tuple(found))


def _required(results: Results, sweeps: Sequence[Sweep]) -> Iterator[Required]:
    for sweep in sweeps:
        cases = results.cases[results.cases["sweep"] == sweep.paths.name]
        for name, texts in accepts(sweep).items() if len(cases) else ():
            quantity, problem = _quantity(name, results.metrics, cases)
            for text in texts:
                yield _condition(sweep.paths.name, quantity, text, problem)


def _quantity(name: str, metrics: Mapping[str, Quantity], cases: pd.DataFrame) -> tuple[Quantity, UserError | None]:
    """Return the quantity with a name, and a problem if it is unknown. Without a completed run, it may exist."""
    try:
        quantity = named(name, REQUIRABLE, metrics, has_direction=False)
    except UserError as error:
        is_measured = bool(cases["status"].eq(COMPLETED).any())
        return Quantity(name, name), error if is_measured else None
    return price_of(cases) if quantity == PRICE else as_reported(quantity, cases), None


def _condition(sweep: str, quantity: Quantity, text: str, problem: UserError | None) -> Required:
    condition = Condition.of(text)
    if problem is not None:
        return Required(sweep, quantity, condition, condition.number, problem.what, problem.hint)
    if misfit := _misfit(quantity, text):
        return Required(sweep, quantity, condition, condition.number, misfit)
    return Required(sweep, quantity, condition, condition.threshold(quantity.unit))


def _misfit(quantity: Quantity, text: str) -> str:
    """Return why the unit of a condition does not fit a quantity; empty if it does."""
    try:
        Condition.of(text).threshold(quantity.unit)
    except ValueError as error:
        return f"'{text}' does not fit '{quantity.title}': {error}"
    return ""


def check_measurable(results: Results) -> None:
    """Raise UserError with each condition that no case can meet."""
    found = dict.fromkeys((absence(each), each.hint) for each in unmeasurable(results.acceptance))
    errors = [Finding(what, WHERE, hint) for what, hint in found]
    if errors:
        raise UserError(errors[0].what, where=WHERE, hint=errors[0].hint, more=errors[1:])


def check_planned(experiment: Experiment, document: Document) -> None:
    """Raise UserError if a name of `accept` is unknown, or a unit does not fit.

    If the experiment runs commands, a name may also be in their output.
    """
    findings = Findings(document)
    for name, texts in experiment.accept.items():
        path = (WHERE, name)
        try:
            quantity = _planned_quantity(name, experiment)
        except UserError as error:
            if not experiment.runs_command:
                findings.add(error.what, path, error.hint)
            continue
        if quantity is None or quantity in (THROUGHPUT, PRICE):  # whose units are known with the cases (check_units)
            continue
        for text in texts:
            if quantity in ACCURACIES and not experiment.runs_command and (hint := _no_fraction(text)):
                findings.add(f"'{text}' does not fit '{quantity.title}': it is a fraction from 0 to 1", path, hint)
            elif misfit := _misfit(quantity, text):
                findings.add(misfit, path)
    findings.checked(experiment)


def _no_fraction(text: str) -> str:
    """Return what to write for a threshold outside 0 to 1; empty if it is a fraction, or has another unit."""
    condition = Condition.of(text)
    if condition.unit not in ("", "%") or 0 <= condition.number <= 1:
        return ""
    fraction = condition.number / 100 if 1 < condition.number <= 100 else 0.95
    return f'write for example "{Condition(condition.operator, fraction)}"'


def check_units(plan: Plan, experiment: Experiment, document: Document) -> None:
    """Raise UserError if `accept` has a unit that does not fit the throughput of the cases, or the site's currency.

    If the experiment runs commands, the numbers may be in their output, in any unit.
    """
    if experiment.runs_command or not plan.cases:
        return
    cases = pd.DataFrame(
        [{name: str(getattr(case.parameters, name)) for name in ("task", "model")} for case in plan.cases]
    )
    findings = Findings(document)
    for name, texts in experiment.accept.items():
        quantity = _planned_quantity(name, experiment)
        if quantity == THROUGHPUT:
            quantity = as_reported(quantity, cases)
        elif quantity == PRICE and has_prices(plan.site.cost):
            quantity = replace(quantity, unit=plan.site.cost.currency)
        else:
            continue
        for misfit in filter(None, (_misfit(quantity, text) for text in texts)):
            findings.add(misfit, (WHERE, name), f"write it in {quantity.unit}")
    findings.checked(experiment)


def _planned_quantity(name: str, experiment: Experiment) -> Quantity | None:
    """Return the quantity with a name; None for a metric of the experiment. Raise UserError if the name is unknown."""
    return None if name in experiment.metrics else named(name, REQUIRABLE, {})


def check_tasks(cases: Sequence[Case], experiment: Experiment, document: Document) -> None:
    """Raise UserError if `accept` has a quantity of a training to an accuracy or of a validation, and no case has it.

    Names of `accept` are known (check_planned). If the experiment runs commands, the quantity may be in their output.
    """
    if experiment.runs_command:
        return
    lacking: list[tuple[tuple[Quantity, ...], str, str]] = []
    if all(case.parameters.task != TIME_TO_ACCURACY for case in cases):
        lacking.append((OF_TRAININGS, f"task: {TIME_TO_ACCURACY}", "has this task"))
    if not any(case.parameters.validate for case in cases):
        lacking.append((OF_VALIDATIONS, "validate: true", "is validated"))
    findings = Findings(document)
    for name in experiment.accept:
        quantity = _planned_quantity(name, experiment)
        for required, setting, has_it in lacking:
            if quantity in required:
                what = f"'{name}' requires {setting}, but no case {has_it}"
                findings.add(what, (WHERE, name), f"set {setting}, or remove {WHERE}.{name}")
    findings.checked(experiment)
