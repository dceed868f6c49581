"""The parameter `model`: a name, or a mapping with an ONNX file."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator

from hpcbench.models.items import ITEMS
from hpcbench.models.source import PATTERN, ZOOS, onnx_model

ONNX_EXAMPLE = "e.g. model: {onnx: net.onnx}"
OF_LIBRARIES = f"(models of libraries: {', '.join(f'{library}/NAME' for library in ZOOS)})"
_FORMS = "NAME, LIBRARY/NAME, MODULE:FUNCTION or {onnx: FILE}"
_ONNX_FILE = {
    "type": "object",
    "properties": {"onnx": {"type": "string", "minLength": 1, "description": "ONNX file, relative to the workspace"}},
    "required": ["onnx"],
    "additionalProperties": False,
}
JSON_SCHEMA: dict[str, Any] = {"anyOf": [{"enum": [*ITEMS, None]}, {"type": "string", "pattern": PATTERN}, _ONNX_FILE]}


def _name(value: Any) -> Any:
    """Return the name of a model: `onnx:net.onnx` for {onnx: net.onnx}; other values unchanged."""
    if not isinstance(value, dict):
        return value
    path = value.get("onnx")
    if len(value) != 1 or not isinstance(path, str):
        raise ValueError(f"'model' must be {_FORMS}, e.g. model: nets:build")
    return onnx_model(path)


def similar(name: str) -> str:
    """Return how to write an ONNX file or a function that a name looks like; empty for other names."""
    if name.endswith(".onnx"):
        return f"{{onnx: {name}}}"
    module, dot, function = name.rpartition(".")
    return f"{module}:{function}" if dot and module.replace(".", "").isidentifier() and function.isidentifier() else ""


ModelName = Annotated[str | None, BeforeValidator(_name)]
