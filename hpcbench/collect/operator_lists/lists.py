"""The operators of the cases of a plan, listed in the environments of their frameworks or taken from earlier lists."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial

from hpcbench.collect.operator_lists.cache import cached, keep
from hpcbench.collect.operator_lists.network import environment_of, identity, network_of
from hpcbench.collect.operator_lists.run_node import run_node
from hpcbench.config.site import Site
from hpcbench.core.profiling.operator_list import FRAMEWORKS, OperatorList
from hpcbench.core.run_spec import PlannedRun
from hpcbench.environments.locations import environment_dir
from hpcbench.environments.resolve import Resolved, resolve
from hpcbench.errors import UserError
from hpcbench.plan.case import Case
from hpcbench.store.workspace import Workspace
from hpcbench.submit.zipapp import digest_of_sources

_CANNOT = "the operators of framework: %s cannot be listed, except those of the shipped models"
Lists = Mapping[str, OperatorList]

OnStart = Callable[[str, int], None]
"""Called before a framework starts, with its environment and the number of networks that it will list."""


@dataclass(frozen=True)
class _Asked:
    """A case with the run that lists it."""

    case_id: str
    planned: PlannedRun
    identity: str | None


def operator_lists(
    cases: Iterable[Case],
    site: Site,
    workspace: Workspace,
    on_start: OnStart = lambda environment, count: None,
) -> Lists:
    """Return the operators of a step of each case by its ID. A case without a list has the reason.

    Cases with equal operators are listed once. Raise OSError if the workspace cannot be written.
    """
    cases, digest = list(cases), digest_of_sources()
    by_environment: dict[str, list[tuple[Case, PlannedRun]]] = {}
    refused: list[Case] = []
    for case in cases:
        planned = network_of(case)
        if planned.parameters["framework"] not in FRAMEWORKS:
            refused.append(case)
            continue
        by_environment.setdefault(environment_of(case, planned), []).append((case, planned))
    found = {case.id: OperatorList(case.id, reason=_CANNOT % case.parameters.framework) for case in refused}
    for name, of_environment in by_environment.items():
        try:
            resolved = resolve(site, name, workspace)
        except UserError as error:
            found |= {case.id: OperatorList(case.id, reason=error.what, hint=error.hint) for case, _ in of_environment}
            continue
        code = f"{digest} {_version(workspace, name, resolved)}"
        asked = [_Asked(case.id, planned, identity(planned, code, workspace.root)) for case, planned in of_environment]
        found |= _listed(asked, resolved, workspace, digest, partial(on_start, name))
    return {case.id: _in_dtype(case, found[case.id]) for case in cases}


def _listed(
    asked: list[_Asked], resolved: Resolved, workspace: Workspace, digest: str, on_start: Callable[[int], None]
) -> dict[str, OperatorList]:
    """Return the lists of the cases of one environment, and keep each that is new as soon as it is listed."""
    folder = workspace.operator_lists
    known: dict[str, OperatorList] = {}
    for each in asked:
        before = cached(folder, each.identity) if each.identity and each.identity not in known else None
        if before is not None and each.identity:
            known[each.identity] = before
    new = {_key(each): each for each in asked if each.identity not in known}
    if new:
        on_start(len(new))
        try:
            results = run_node(resolved, [each.planned for each in new.values()], workspace, digest)
            for key, result in zip(new, results, strict=True):
                known[key] = result
                if new[key].identity:
                    keep(folder, key, result)
        except UserError as error:
            lacking = {key: each for key, each in new.items() if key not in known}
            known |= {key: OperatorList(each.case_id, reason=str(error)) for key, each in lacking.items()}
    return {each.case_id: replace(known[_key(each)], case_id=each.case_id) for each in asked}


def _in_dtype(case: Case, found: OperatorList) -> OperatorList:
    """Return the list of a case, or the reason if the case sets another dtype than its file has."""
    own = case.parameters
    if found.dtype in (None, own.dtype) or "dtype" not in own.model_fields_set:
        return found
    reason = f"dtype: {own.dtype} does not match the file, which has {found.dtype}"
    return OperatorList(case.id, reason, hint="export the network in the dtype to predict")


def _key(asked: _Asked) -> str:
    """Return what equal lists have in common; for code of the user, the case."""
    return asked.identity or asked.case_id


def _version(workspace: Workspace, name: str, resolved: Resolved) -> str:
    """Return what changes if an environment does: the marker of one that hpcbench built, otherwise its definition."""
    there = environment_dir(workspace, name)
    if resolved.python == str(there.python) and there.marker.exists():
        return there.marker.read_text(encoding="utf-8", errors="replace")
    return f"{resolved.python} {resolved.environment.model_dump_json()}"
