"""JSON Schema (draft 2020-12) of experiment, site, recipe and device files, from the models that check them.

With it, an editor completes keys and marks errors. It accepts every file that the models accept. It cannot express all
of their checks, for example those that compare two keys.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, models_json_schema

from hpcbench.config.devices.description import DeviceFile
from hpcbench.config.experiment import Experiment
from hpcbench.config.matrix.axes import Range
from hpcbench.config.matrix.csv_group import CsvGroup
from hpcbench.config.parameters import Parameters
from hpcbench.config.recipe import Recipe
from hpcbench.config.site import Site
from hpcbench.config.slurm_options import SlurmOptions
from hpcbench.models.optimizers import OPTIMIZERS
from hpcbench.util.package_data import shipped

Schema = dict[str, Any]

_MODELS: dict[str, type[BaseModel]] = {"experiment": Experiment, "site": Site, "recipe": Recipe, "device": DeviceFile}
KINDS = tuple(_MODELS)
SCHEMAS = Path("configs", "schemas")  # in a workspace, and among the shipped files
_DIALECT = "https://json-schema.org/draft/2020-12/schema"
# Experiment has them as plain mappings or lists, which are checked by case.
_IN_EXPERIMENT = (Parameters, SlurmOptions, Range, CsvGroup)
_NESTED = ("Optimizer", "LearningRate", "DataSource", "ModelInput")  # the schemas of parameters that are mappings
_USER_PARAMETER: Schema = {"description": "a user parameter"}
_NUMBERS = ("integer", "number")


def schema_comment(kind: str, file: Path) -> str:
    """Return the line with which a file begins, so that editors find its schema.

    In a workspace with schemas, the path is relative to the file. Elsewhere it is that of the installed schema.
    Neither needs a network.
    """
    folder = file.absolute().parent
    for root in (folder, *folder.parents):
        if (schema := root / SCHEMAS / f"{kind}.json").is_file():
            return _comment(os.path.relpath(schema, folder))
    return _comment(str(shipped("configs").parent / SCHEMAS / f"{kind}.json"))


def _comment(path: str) -> str:
    return f"# yaml-language-server: $schema={path}\n"


def json_schema_text(kind: str) -> str:
    """Return the text of the schema of a kind of file: experiment, site, recipe or device."""
    return json.dumps(json_schema(kind), indent=1, ensure_ascii=False) + "\n"


def json_schema(kind: str) -> Schema:
    """Return the schema of a kind of file: experiment, site, recipe or device."""
    model = _MODELS[kind]
    models = [model, *(_IN_EXPERIMENT if model is Experiment else ())]
    _, made = models_json_schema([(each, "validation") for each in models], schema_generator=_Untitled)
    definitions: Schema = made["$defs"]
    root = definitions.pop(model.__name__)
    if model is Experiment:
        _add_parameters(root["properties"], definitions)
    if model is DeviceFile:
        del definitions["Description"]["required"]  # a device may change some keys of a shipped one
    head = {"$schema": _DIALECT, "$id": f"urn:hpcbench:schema:{kind}", "title": f"{kind} file of hpcbench"}
    return {**head, **{key: value for key, value in root.items() if key != "title"}, "$defs": definitions}


class _Untitled(GenerateJsonSchema):
    """Leaves out the titles of keys, which pydantic derives from their names."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


def _add_parameters(sections: Schema, definitions: Schema) -> None:
    """Add the parameters and Slurm options to the sections of an experiment, where values may be expressions."""
    own: Schema = definitions["Parameters"]["properties"]
    for nested in _NESTED:
        keys = definitions[nested]["properties"]
        definitions[nested]["properties"] = {name: _or_expression(schema) for name, schema in keys.items()}
    parameters = {name: _or_expression(schema) for name, schema in own.items()}
    parameters["optimizer"]["anyOf"].insert(0, {"enum": [*OPTIMIZERS]})
    values = {name: {"$ref": f"#/$defs/Parameters/properties/{name}"} for name in own}
    definitions["Expression"] = {"type": "string", "pattern": r"\{\{", "description": 'an expression: "{{ ... }}"'}
    definitions["Parameters"] = _mapping(parameters, _USER_PARAMETER)
    axes = {name: _axis(value, _has_numbers(own[name])) for name, value in values.items()}
    definitions["Axes"] = {**_mapping(axes, _axis({}, True)), "minProperties": 1}
    definitions["Point"] = _mapping({name: _or_list(value) for name, value in values.items()}, _USER_PARAMETER)
    options = definitions["SlurmOptions"]
    options["properties"] = {name: _or_expression(schema) for name, schema in options["properties"].items()}
    _replace(sections, "parameters", {"$ref": "#/$defs/Parameters"})
    _replace(sections, "matrix", {"$ref": "#/$defs/Axes"})
    rows = definitions["CsvGroup"]["properties"]["where"]["anyOf"]
    rows[rows.index({"type": "string"})] = {"$ref": "#/$defs/Expression"}
    groups = {"anyOf": [{"$ref": "#/$defs/Axes"}, {"$ref": "#/$defs/CsvGroup"}]}
    _replace(sections, "zip", {"type": "array", "items": groups, "minItems": 1})
    _replace(sections, "include", {"type": "array", "items": {"$ref": "#/$defs/Point"}})
    excluded = {"anyOf": [{"$ref": "#/$defs/Point"}, {"$ref": "#/$defs/Expression"}]}
    _replace(sections, "exclude", {"type": "array", "items": excluded})
    _replace(sections, "slurm", {"$ref": "#/$defs/SlurmOptions"})


def _replace(sections: Schema, name: str, schema: Schema) -> None:
    """Replace the schema of a section, and keep its description."""
    sections[name] = {"description": sections[name]["description"], **schema}


def _mapping(properties: Schema, other: Schema) -> Schema:
    return {"type": "object", "properties": properties, "additionalProperties": other}


def _or_expression(schema: Schema) -> Schema:
    """Return a schema that also accepts an expression; its description and default stay outermost, for editors."""
    outer: Schema = {key: schema[key] for key in ("description", "default") if key in schema}
    value = {key: part for key, part in schema.items() if key not in outer}
    alternatives = value["anyOf"] if value.keys() == {"anyOf"} else [value]
    return {**outer, "anyOf": [*alternatives, {"$ref": "#/$defs/Expression"}]}


def _or_list(value: Schema) -> Schema:
    return {"anyOf": [value, {"type": "array", "items": value, "minItems": 1}]}


def _axis(value: Schema, has_numbers: bool) -> Schema:
    """Return the schema of an axis: a list of values; for numbers, also a range."""
    ranges = [{"$ref": "#/$defs/Range"}] if has_numbers else []
    return {"anyOf": [{"type": "array", "items": value, "minItems": 1}, *ranges]}


def _has_numbers(schema: Schema) -> bool:
    return any(each.get("type") in _NUMBERS for each in (schema, *schema.get("anyOf", ())))
