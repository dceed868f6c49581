"""The JSON schema of records, their fields and their columns, from the types in hpcbench/core/record.py."""

from __future__ import annotations

import dataclasses
import json
import typing
from collections.abc import Iterator
from typing import Any

from hpcbench.collect.profiles.columns import columns as columns_of_operators
from hpcbench.core.record import SCHEMA, Record
from hpcbench.core.record_field import columns
from hpcbench.core.typed_json import leaf_types
from hpcbench.store.run_record import RunRecord
from reference_parts.tables import code, markdown_table

NAMES = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}


def record_schema() -> str:
    """Return the JSON schema (draft 2020-12) of a line of a record file."""
    return json.dumps(_schema(), indent=1) + "\n"


def record_fields() -> list[str]:
    """Return the fields of a record as a table; `a.b` is the field b of the object a, `a[]` an item of a list."""
    schema = _schema()
    rows = [(code(path), kind, meaning) for path, kind, meaning in _fields("", schema, schema["$defs"])]
    return markdown_table(("field", "type", "meaning"), rows)


def record_columns() -> list[str]:
    """Return the columns that hold one field of a record, as a table."""
    rows = [(code(each.name), each.unit, each.meaning) for each in columns(RunRecord)]
    return markdown_table(("column", "unit", "meaning"), rows)


def operator_columns() -> list[str]:
    """Return the columns of the table of operators, as a table."""
    names = {"Int64": "integer", "float64": "number", "boolean": "boolean", "string": "text"}
    rows = [(code(each.name), names[each.kind], each.meaning) for each in columns_of_operators()]
    return markdown_table(("column", "type", "meaning"), rows)


def _schema() -> dict[str, Any]:
    definitions: dict[str, Any] = {}
    root = _of_dataclass(Record, definitions)
    root["properties"]["schema"]["const"] = SCHEMA
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Record of hpcbench"}
    return {**head, **root, "$defs": definitions}


def _fields(parent: str, schema: dict[str, Any], definitions: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Yield the path, type and meaning of each field of an object, each before the fields within it."""
    for name, field in schema.get("properties", {}).items():
        path, kind, inner = _unwrapped(f"{parent}{name}", field, definitions)
        yield f"{parent}{name}", kind, field["description"]
        yield from _fields(f"{path}.", inner, definitions)


def _unwrapped(path: str, field: dict[str, Any], definitions: dict[str, Any]) -> tuple[str, str, dict[str, Any]]:
    """Return the path of the fields within a field, the text of its type, and the schema of these fields."""
    if "anyOf" in field:
        path, kind, inner = _unwrapped(path, field["anyOf"][0], definitions)
        return path, f"{kind} or null", inner
    if "$ref" in field:
        return _unwrapped(path, definitions[field["$ref"].rpartition("/")[2]], definitions)
    if "items" in field:
        path, kind, inner = _unwrapped(f"{path}[]", field["items"], definitions)
        return path, f"list of {kind}", inner
    if "prefixItems" in field:
        return path, "[" + ", ".join(each["description"] for each in field["prefixItems"]) + "]", {}
    if isinstance(field.get("additionalProperties"), dict):
        path, kind, inner = _unwrapped(f"{path}.NAME", field["additionalProperties"], definitions)
        return path, f"object of {kind}", inner
    kinds = field.get("type", "any value")
    return path, kinds if isinstance(kinds, str) else " or ".join(kinds), field


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
