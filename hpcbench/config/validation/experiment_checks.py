"""Checks of an experiment file that its schema cannot express: axes, and names that depend on each other."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from hpcbench.config.expressions import RESERVED
from hpcbench.config.matrix.axes import Range, axis_values
from hpcbench.config.metrics import Metric, column_of, interval_columns
from hpcbench.config.schema_location import KeyPath
from hpcbench.config.validation.common_mistakes import canonical, hint_for_axis, hint_for_key, range_in
from hpcbench.config.validation.findings import Findings
from hpcbench.config.workload.nested import DOTTED, NESTED, is_known
from hpcbench.core.run_spec import COMMAND
from hpcbench.errors import closest, is_misspelt, nearest

if TYPE_CHECKING:
    from hpcbench.config.experiment import Experiment

Sections = Mapping[str, Collection[str]]  # the keys of sections; the names of parameters are `parameters`
# The keys whose names depend on each other: without one of them, correct names would look unknown.
GROUPS = (
    *("parameters", "matrix", "zip", "include", "exclude"),
    *("user_parameters", "same_workload", "skip_larger_on_oom"),
)


def with_valid_axes(data: dict[str, Any], findings: Findings) -> dict[str, Any]:
    """Return the data of an experiment with one value for each axis that is not valid, and add these errors.

    The messages of the schema for `a list or a range` would be unclear, and the names of the axes are checked later.
    """
    matrix, zipped = data.get("matrix"), data.get("zip")
    valid = dict(data)
    if isinstance(matrix, dict):
        valid["matrix"] = _valid_axes(matrix, ("matrix",), findings)
    if isinstance(zipped, list):
        valid["zip"] = [_valid_axes(group, ("zip", index), findings) for index, group in enumerate(zipped)]
    return valid


def _valid_axes(group: Any, path: KeyPath, findings: Findings) -> Any:
    if not isinstance(group, dict):
        return group
    if not group and path[0] == "zip":
        findings.add("the group has no axes", path, "add an axis, or remove the group")
    for name, axis in group.items():
        _check_axis(axis, (*path, name), findings)
    return {name: [axis] if findings.within((*path, name)) else axis for name, axis in group.items()}


def _check_axis(axis: Any, path: KeyPath, findings: Findings) -> None:
    if isinstance(axis, dict) and "range" in axis:
        findings.validated(Range, axis, path)
    elif not isinstance(axis, list):
        findings.add(f"an axis is a list or a range, not {axis!r}", path, hint_for_axis(axis))
    elif not axis:
        findings.add("the axis has no values", path, "add a value, or remove the axis")
    elif len(axis) == 1 and range_in(axis[0]):
        findings.add(f"'{axis[0]}' is text, not a range", path, f"write {range_in(axis[0])}")


def check_parameter_names(experiment: Experiment, sections: Sections, findings: Findings) -> None:
    """Add an error for each name that is neither a parameter nor a user parameter, and each wrong declaration."""
    _check_declared(experiment, sections["parameters"], findings)
    own = experiment.all_user_parameters
    known = {*sections["parameters"], *own}
    measured = known | DOTTED | _options(sections)
    reported: set[str] = set()
    for path, group in _groups(experiment):
        for name, value in group.items():
            if path[0] == "include" and value == []:
                findings.add("the list has no values", (*path, name), "add a value, or remove the key")
            if name not in known and not is_known(name) and name not in reported:
                reported.add(name)
                by_set = findings.document.where((*path, name)).startswith("--set ")
                hint = _parameter_hint(name, known | DOTTED, sections, experiment, by_set=by_set)
                if any(path == ("zip", rows.group) for rows in findings.document.csv_rows):
                    hint = f"an expression uses this column, so it needs a declaration: user_parameters: [{name}]"
                findings.add(f"unknown parameter '{name}'", (*path, name), hint)
    for index, name in enumerate(experiment.same_workload):
        if name not in own:
            hint = nearest(name, own) if own else "use it in `command`, or list it in user_parameters"
            findings.add(f"unknown user parameter '{name}'", ("same_workload", index), hint)
    for index, name in enumerate(experiment.skip_larger_on_oom):
        if name not in measured:
            path = ("skip_larger_on_oom", index)
            findings.add(f"unknown parameter '{name}'", path, nearest(name, measured))


def _check_declared(experiment: Experiment, standard: Collection[str], findings: Findings) -> None:
    for index, name in enumerate(experiment.user_parameters):
        if name in standard:
            what = f"'{name}' is a standard parameter"
            findings.add(what, ("user_parameters", index), "remove it from user_parameters")
        elif not name.isidentifier():
            what = f"the user parameter {name!r} must be a plain word, e.g. run_of_the_week"
            findings.add(what, ("user_parameters", index), "rename it")
        elif name in RESERVED:
            what = f"'{name}' has a meaning in expressions, so it cannot be a parameter"
            findings.add(what, ("user_parameters", index), "rename it")


def _groups(experiment: Experiment) -> Iterator[tuple[KeyPath, dict[str, Any]]]:
    """Yield the groups of the file that set or match parameters, with their paths."""
    yield ("parameters",), experiment.parameters
    yield ("matrix",), dict(experiment.matrix)
    yield from ((("zip", index), dict(group)) for index, group in enumerate(experiment.zip))
    yield from ((("include", index), group) for index, group in enumerate(experiment.include))
    yield from (
        (("exclude", index), group) for index, group in enumerate(experiment.exclude) if isinstance(group, dict)
    )


def check_held_out(shapes: list[dict[str, Any]], sections: Sections, findings: Findings) -> None:
    """Add an error for each shape in `tune.held_out` that is empty, or not of sizes of a network or its input."""
    known = {"batch_size", *_options(sections)}
    for index, shape in enumerate(shapes):
        path = ("tune", "held_out", index)
        if not shape:
            findings.add("the shape is empty", path, "write a size, as in {batch_size: 24}")
        for name in shape:
            if name not in known:
                findings.add(f"'{name}' is not a size of a network or its input", path, nearest(name, known))


def _options(sections: Sections) -> set[str]:
    return {f"model_options.{name}" for name in sections["model_options"]}


def _parameter_hint(
    name: str, known: Collection[str], sections: Sections, experiment: Experiment, *, by_set: bool
) -> str:
    if name.partition(".")[0] in NESTED:
        return _nested_hint(name)
    others = {key: names for key, names in sections.items() if key != "parameters"}
    meant = canonical(name)
    section = next((key for key, names in others.items() if by_set and meant in names), None)
    near = hint_for_key(name, "parameters", known, others) or closest(name, known)
    if section:
        return f"use --set {section}.{meant}=..."
    placeholder = re.compile(rf"(?<![{{$]){{{re.escape(name)}}}(?!}})")
    if any(map(placeholder.search, experiment.commands)):
        return f"in an experiment file, write {{{{ {name} }}}} in `command`; only hpcbench run uses {{{name}}}"
    if experiment.runs_command:
        own = f"for a parameter of your own program, use it in `command`, or add user_parameters: [{name}]"
    else:
        example = f'`command: "python3 train.py --{name} {{{{ {name} }}}}"`'
        own = f"for a parameter of your own program, add `framework: {COMMAND}` and {example}"
    return f"{near}\n{own}" if near else own


def _nested_hint(name: str) -> str:
    """Return a hint for an unknown dotted name of a parameter that is a mapping."""
    root, _, key = name.partition(".")
    if canonical(key) in DOTTED:
        return f"did you mean '{canonical(key)}'?"
    return nearest(name, [known for known in DOTTED if known.startswith(f"{root}.")])


def check_axes_apart(experiment: Experiment, findings: Findings) -> None:
    """Add an error for each parameter on two axes, and for axes of a zip group of different lengths."""
    seen: dict[str, str] = dict.fromkeys(experiment.matrix, "matrix")
    for index, group in enumerate(experiment.zip):
        for name in group:
            if name in seen:
                what = f"duplicate axis '{name}', also in {seen[name]}"
                findings.add(what, ("zip", index, name), "remove one of them")
            seen[name] = f"zip[{index}]"
        lengths = {name: len(axis_values(axis)) for name, axis in group.items()}
        if len(set(lengths.values())) > 1 and not findings.within(("zip", index)):
            shown = ", ".join(f"{name} has {count}" for name, count in lengths.items())
            hint = "add or remove values, or move an axis to `matrix:`"
            findings.add(f"the axes of a group must have equal lengths: {shown}", ("zip", index), hint)


def check_metrics(wanted: Mapping[str, Metric], expect: list[str], findings: Findings) -> None:
    """Add an error for each name that cannot be a column, each column of two metrics, and each invalid pattern."""
    columns: dict[str, str] = {}
    for name, metric in wanted.items():
        path = ("metrics", name)
        if not name.isidentifier() or not name.isascii():
            findings.add(f"the metric {name!r} must be a plain word, e.g. step_rate", path, "rename it")
        column = column_of(name, metric.unit)
        for made in (column, *interval_columns(column)):
            if made in columns:
                both = f"'{name}' and '{columns[made]}' would have the same column {made}"
                findings.add(both, path, "rename one of them")
            columns[made] = name
    for index, pattern in enumerate(expect):
        try:
            re.compile(pattern)
        except re.error as error:
            hint = r"escape special characters with a backslash, as in \("
            findings.add(f"{pattern!r} is not a regular expression: {error}", ("expect", index), hint)


def check_rank_by(asked: str | None, metrics: Mapping[str, Metric], findings: Findings) -> None:
    """Add an error if the better direction of the metric is unknown, or not a direction, or if its name is misspelt.

    Any other name that is not in `metrics` may be in the output of the runs.
    """
    if asked is None:
        return
    name, colon, better = asked.partition(":")
    if not name or (colon and better not in ("higher", "lower")):
        findings.add(f"'{asked}' is not NAME, NAME:higher or NAME:lower", ("rank_by",))
    elif not colon and name in metrics and not (metrics[name].better or metrics[name].unit):
        what = f"the better direction of '{name}' is unknown"
        findings.add(what, ("rank_by",), f"write {name}:higher or {name}:lower, or add `better` to the metric")
    elif name not in metrics and any(is_misspelt(name, known) for known in metrics):
        findings.add(f"unknown metric '{name}'", ("rank_by",), f"use one of: {', '.join(metrics)}")
