"""The option `--set KEY=VALUE`, which changes an experiment before it is checked."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace
from typing import Any

from hpcbench.config.experiment import Experiment
from hpcbench.config.matrix.csv_group import is_csv_group
from hpcbench.config.workload.nested import NESTED
from hpcbench.config.yaml_document import Document, parse_value
from hpcbench.errors import UserError

_SPECIAL = tuple(">|&*%@`!")  # characters that have a meaning in YAML at the start of a value


def apply_overrides(document: Document, settings: list[str]) -> Document:
    """Return the document with `KEY=VALUE` settings applied; KEY is a parameter or a dotted key of the file.

    An axis becomes an axis of this single value, also in included points. Raise UserError for text that is not
    KEY=VALUE, or a key that cannot be set.
    """
    data = deepcopy(document.data)
    places = dict(document.places)
    for setting in settings:
        key, equals, text = setting.partition("=")
        where = f"--set {key}"
        if not equals or not key:
            raise UserError(f"'{setting}' is not KEY=VALUE", where="--set", hint="write it as in --set batch_size=64")
        value = _value(key, text, where)
        path = _path(key)
        if path[0] in ("parameters", "matrix") and path[1:2] and path[1] in NESTED:
            path = (path[0], ".".join(path[1:]))
        if len(path) == 2 and path[0] == "parameters":
            _drop_keys_of(data, path[1])
            _fix_included(data, path[1], value)
            if _drop_axis(data, path[1]):
                # Remains an axis of one value: without axes, only the included points would be left.
                path, value = ("matrix", path[1]), [value]
        _put(data, path, value, where)
        places = {place: name for place, name in places.items() if place[: len(path)] != path}
        places[path] = where
    return replace(document, data=data, places=places)


def _value(key: str, text: str, where: str) -> Any:
    """Return the value of a setting. Raise UserError if it is not YAML, with a hint on text that must be quoted."""
    try:
        return parse_value(text, where)
    except UserError as error:
        if not text.startswith(_SPECIAL) or '"' in text:
            raise
        setting = shlex.quote(f'{key}="{text}"')
        raise UserError(error.what, where=where, hint=f"quote the value: --set {setting}") from error


def check_order(settings: Sequence[str]) -> None:
    """Raise UserError if a setting replaces an earlier one, as `optimizer=adam` after `optimizer.eps=1.0e-7`."""
    keys = [setting.partition("=")[0] for setting in settings]
    for place, key in enumerate(keys):
        path = _path(key)
        lost = next((each for each in keys[:place] if _path(each)[: len(path)] == path != _path(each)), None)
        if lost:
            what = f"--set {key} would replace --set {lost}"
            raise UserError(what, where=f"--set {key}", hint=f"write --set {key}=... before --set {lost}=...")


def _path(key: str) -> tuple[str, ...]:
    """Return the path of a key in the file; without a section, it is a parameter."""
    path = tuple(key.split("."))
    return path if path[0] in Experiment.model_fields else ("parameters", *path)


def _fix_included(data: dict[str, Any], name: str, value: Any) -> None:
    included = data.get("include")
    for point in included if isinstance(included, list) else ():
        if isinstance(point, dict) and name in point:
            point[name] = value


def _drop_keys_of(data: dict[str, Any], name: str) -> None:
    """Remove the dotted names of keys of a parameter, which would override its new value."""
    groups = [data.get(key) for key in ("parameters", "matrix")]
    groups += [group for key in ("zip", "include") if isinstance(data.get(key), list) for group in data[key]]
    for group in [group for group in groups if isinstance(group, dict)]:
        for key in [key for key in group if key.startswith(f"{name}.")]:
            del group[key]
    if isinstance(data.get("zip"), list):
        data["zip"] = [group for group in data["zip"] if group]
    for key in ("matrix", "zip", "include"):
        if key in data and not data[key]:
            del data[key]


def _drop_axis(data: dict[str, Any], name: str) -> bool:
    """Remove a parameter from the matrix and the zip groups; return whether it was an axis."""
    zipped = data.get("zip")
    axes = [data.get("matrix"), *(zipped if isinstance(zipped, list) else [])]
    found = [group for group in axes if isinstance(group, dict) and name in group and not is_csv_group(group)]
    for group in found:
        del group[name]
    if isinstance(zipped, list):
        data["zip"] = [group for group in zipped if group]
    for key in ("matrix", "zip"):
        if key in data and not data[key]:
            del data[key]
    return bool(found)


def _put(data: dict[str, Any], path: tuple[str, ...], value: Any, where: str) -> None:
    target: Any = data
    for part in path[:-1]:
        if isinstance(target, dict) and target.get(part) is None:  # absent, or empty in the file
            target[part] = {}
        target = target[part] if isinstance(target, dict) else None
    if not isinstance(target, dict):
        what = f"'{'.'.join(path[:-1])}' is not a mapping, so it has no key '{path[-1]}'"
        raise UserError(what, where=where, hint="set the whole value: --set KEY=VALUE")
    target[path[-1]] = value
