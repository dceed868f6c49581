"""The JSON schema of records and the table of their columns, from the types in hpcbench/core/record.py."""

from __future__ import annotations

import dataclasses
import json
import typing
from typing import Any

from hpcbench.core.record import SCHEMA, Record, columns
from hpcbench.core.typed_json import leaf_types
from hpcbench.store.run_record import RunRecord

NAMES = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}


def record_schema() -> str:
    """Return the JSON schema (draft 2020-12) of a line of a record file."""
    definitions: dict[str, Any] = {}
    root = _of_dataclass(Record, definitions)
    root["properties"]["schema"]["const"] = SCHEMA
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Record of hpcbench"}
    return json.dumps({**head, **root, "$defs": definitions}, indent=1) + "\n"


def column_table() -> list[str]:
    """Return the columns that hold one field of a record, as the lines of a Markdown table."""
    rows = [f"| `{each.name}` | {each.unit} | {each.meaning} |" for each in columns(RunRecord)]
    return ["| column | unit | meaning |", "|---|---|---|", *rows]


def _of_dataclass(kind: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    hints, fields = typing.get_type_hints(kind), dataclasses.fields(kind)
    described = {
        field.name: {**_of(hints[field.name], definitions), "description": field.metadata["meaning"]}
        for field in fields
    }
    required = [field.name for field in fields if field.default is dataclasses.MISSING]
    return {"type": "object", "description": kind.__doc__, "properties": described, "required": required}


def _of(annotation: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    if annotation is Any:
        return {}
    if leaves := leaf_types(annotation):
        names = [name for kind, name in NAMES.items() if kind in leaves and not (kind is int and float in leaves)]
        return {"type": names[0] if len(names) == 1 else names}
    arguments = typing.get_args(annotation)
    if type(None) in arguments:
        (kind,) = (each for each in arguments if each is not type(None))
        return {"anyOf": [_of(kind, definitions), {"type": "null"}]}
    if len(arguments) == 1:
        return {"type": "array", "items": _of(arguments[0], definitions)}
    if arguments:
        return {"type": "object", "additionalProperties": _of(arguments[1], definitions)}
    if annotation.__name__ not in definitions:
        definitions[annotation.__name__] = {}
        make = _of_named_tuple if issubclass(annotation, tuple) else _of_dataclass
        definitions[annotation.__name__] = make(annotation, definitions)
    return {"$ref": f"#/$defs/{annotation.__name__}"}


def _of_named_tuple(kind: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    items = [
        {**_of(annotation, definitions), "description": name}
        for name, annotation in typing.get_type_hints(kind).items()
    ]
    return {"type": "array", "description": kind.__doc__, "prefixItems": items, "minItems": len(items)}
