"""The results of a report as JSON, for programs. docs/reference/report-json.md describes the structure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from hpcbench.analysis.cases.quantities import Quantity
from hpcbench.analysis.cases.user_workload import USER_WORKLOAD
from hpcbench.analysis.results import Results
from hpcbench.analysis.stats.intervals import LEVEL, Interval
from hpcbench.analysis.studies.best_case import BestCase, Named, best_cases
from hpcbench.analysis.studies.reporting_rules import RULES, Evidence, not_applicable
from hpcbench.analysis.studies.rule_checks import check
from hpcbench.collect.resource_usage import used
from hpcbench.report.export.json_text import json_text
from hpcbench.report.export.profiles_json import clock_states_json, profiles_json
from hpcbench.report.load.tuning_results import TuningSummary
from hpcbench.report.text.best_case_sentence import sentence
from hpcbench.report.text.failures import failures_of
from hpcbench.report.text.insights import insights
from hpcbench.report.text.predicted.notes import prediction_notes
from hpcbench.report.text.published import published_notes
from hpcbench.report.text.training.divergence import divergence_rows
from hpcbench.report.text.training.equal_epochs import equal_epochs_of
from hpcbench.report.text.training.step_parts import parts_of
from hpcbench.status.progress import Progress


def report_json(results: Results, progresses: Sequence[Progress], searched: Sequence[TuningSummary]) -> str:
    """Return the results as JSON: sweeps, best cases, workloads, cases, failures, factors, rules; null is unknown."""
    document = {
        "sweeps": [_sweep(progress) for progress in progresses],
        "metric": _quantity(results.quantity),
        "interval_level": LEVEL,
        "searches": [{"title": each.title, "result": each.headline, "text": each.text} for each in searched],
        "best_cases": [_best(found) for found in best_cases(results)],
        "workloads": [
            {
                "title": work.title,
                "metric": _quantity(results.ranked_by(work)),
                "parameters": work.shown,
                "cases": _keys(work.cases.to_dict("records")),
            }
            for work in results.workloads
        ],
        "cases": results.cases.drop(columns=["case_index", USER_WORKLOAD]).to_dict("records"),
        "step_parts": parts_of(results).to_dict("records"),
        "divergences": list(divergence_rows(results)),
        "equal_epochs": equal_epochs_of(results).to_dict("records"),
        "failures": [
            {"status": each.status, "cases": list(each.cases), "error": each.error, "log": each.log}
            for each in failures_of(results)
        ],
        "insights": insights(results),
        "operators": profiles_json(results),
        "clock_states": clock_states_json(results),
        "published": list(published_notes(results)),
        "predictions": {"sweeps": list(map(asdict, results.predictions)), "text": list(prediction_notes(results))},
        "rules": _rules(Evidence(results)),
    }
    return json_text(document)


def _sweep(progress: Progress) -> dict[str, Any]:
    usage = used(progress)
    described = {
        "sweep": progress.sweep.paths.name,
        "experiment": progress.sweep.description["experiment"]["name"],
        "site": progress.sweep.description["site"]["name"],
        "cases": progress.case_counts(),
        "runs": progress.counts(),
    }
    return {
        **described,
        "usage": {**asdict(usage), "price": usage.price.amount, "price_unknown_because": usage.price.reason},
    }


def _quantity(quantity: Quantity) -> dict[str, Any]:
    return {
        "column": quantity.column,
        "title": quantity.title,
        "unit": quantity.unit or None,
        "more_is_better": quantity.more_is_better,
    }


def _keys(cases: list[dict[Any, Any]]) -> list[dict[str, str]]:
    return [{"sweep": case["sweep"], "case": case["case"]} for case in cases]


def _best(found: BestCase) -> dict[str, Any]:
    return {
        "workload": found.work.title,
        "metric": _quantity(found.quantity),
        **_case(found.best),
        **_interval("value", found.value),
        "base": {**_case(found.base.case), "given": found.base.is_given, "same_problem": found.base.same_problem},
        **_interval("gain", found.gain),
        "significant": found.is_significant,
        "runs": found.runs,
        "cases_compared": found.cases,
        "within_noise": [_case(each) for each in found.alike],
        "with_interference": [_case(each) for each in found.with_interference],
        "text": sentence(found),
    }


def _case(named: Named) -> dict[str, str]:
    sweep, case = named.key
    return {"sweep": sweep, "case": case, "label": named.name}


def _interval(name: str, interval: Interval) -> dict[str, float | None]:
    limits = {f"{name}_ci_low": interval.low, f"{name}_ci_high": interval.high}
    return {name: interval.estimate, **limits}


def _rules(evidence: Evidence) -> list[dict[str, Any]]:
    """Return each of the twelve rules with its state and violations."""
    violations, unused = check(evidence), not_applicable(evidence)
    made = []
    for number, rule in RULES.items():
        broken = [each for each in violations if each.rule == number]
        state = "violated" if broken else "not applicable" if number in unused else "kept"
        found = [{"lacking": each.lacking, "remedy": each.remedy} for each in broken]
        made.append({"rule": number, "name": rule.name, "state": state, "violations": found})
    return made
