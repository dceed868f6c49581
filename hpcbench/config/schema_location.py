"""Relate the locations of pydantic's errors to the keys in a file, and to the keys that a schema allows."""

from __future__ import annotations

import types
import typing
from typing import Any

from pydantic import BaseModel

KeyPath = tuple[str | int, ...]


def written_part(location: KeyPath, data: Any, prefix: KeyPath) -> KeyPath:
    """Return `location` in the file, without the names of union members that pydantic adds."""
    here = written_at(data, prefix)
    kept: KeyPath = ()
    for part in location:
        here = _inside(here, part)
        if here is not _ABSENT or not kept:
            kept = (*kept, part)
    return kept


def written_at(data: Any, path: KeyPath) -> Any:
    """Return the value at `path` in the data of a file, or `_ABSENT`."""
    for part in path:
        data = _inside(data, part)
    return data


_ABSENT = object()


def _inside(container: Any, part: str | int) -> Any:
    try:
        return container[part]
    except (KeyError, IndexError, TypeError):
        return _ABSENT


def fields_at(model: type[BaseModel], path: KeyPath) -> set[str]:
    """Return the keys that the schema allows at `path`, by its annotations."""
    annotation: Any = model
    for part in path:
        annotation = _unwrapped(annotation)
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            fields = {field.alias or name: field for name, field in annotation.model_fields.items()}
            if part not in fields:
                return set()
            annotation = fields[str(part)].annotation
        else:
            annotation = (typing.get_args(annotation) or (None,))[-1]
    annotation = _unwrapped(annotation)
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return {field.alias or name for name, field in annotation.model_fields.items()}
    return set()


def _unwrapped(annotation: Any) -> Any:
    """Return `X` for `X | None`, other annotations unchanged."""
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        kinds = [kind for kind in typing.get_args(annotation) if kind is not type(None)]
        return kinds[0]
    return annotation
