"""A fleet as text: JSON, with a schema number and a checksum. LightGBM models are in it as LightGBM's own text."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from hpcbench.errors import UserError
from hpcbench.predict.basis import Basis
from hpcbench.predict.fleet import Fleet
from hpcbench.predict.no_model_file import FIT, no_model_file

FORMAT = "hpcbench fleet"
SCHEMA = 3
_BEGINNING = json.dumps({"format": FORMAT})[:-1]  # of each text of a fleet
_AGAIN = f"fit it again: {FIT}"


def to_text(fleet: Fleet) -> str:
    """Return the text of a fleet."""
    content = {"versions": dict(fleet.versions), "basis": fleet.basis.to_json(), "models": fleet.models_to_json()}
    return json.dumps({"format": FORMAT, "schema": SCHEMA, "checksum": _checksum(content), **content}) + "\n"


def from_text(text: str, file: str) -> Fleet:
    """Return the fleet of a text. Raise UserError if it is not the complete text of a fleet of this schema."""
    data = _decoded(text, file)
    content = {name: data.get(name) for name in ("versions", "basis", "models")}
    if data.get("schema") != SCHEMA:
        what = f"model file of schema {data.get('schema')}; this hpcbench reads schema {SCHEMA}"
        raise UserError(what, where=file, hint=_AGAIN)
    if data.get("checksum") != _checksum(content):
        raise UserError("damaged model file: its checksum is wrong", where=file, hint=_AGAIN)
    try:
        basis, versions = Basis.from_json(data["basis"]), dict(data["versions"])
        return Fleet.from_json(data["models"], basis, versions)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        what = f"model file of another version of hpcbench ({type(error).__name__}: {error})"
        raise UserError(what, where=file, hint=_AGAIN) from error


def check_data(fleet: Fleet, data_hash: str, file: str) -> None:
    """Raise UserError if a fleet was fitted on data with another hash."""
    if fleet.basis.data_hash != data_hash:
        what = f"fitted on other data: {fleet.basis.data_hash[:12]}, not {data_hash[:12]}"
        raise UserError(what, where=file, hint=_AGAIN)


def _decoded(text: str, file: str) -> Mapping[str, Any]:
    if not text.startswith(_BEGINNING):
        raise no_model_file(file)
    try:
        data: Mapping[str, Any] = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UserError(f"damaged model file: {error}", where=file, hint=_AGAIN) from error
    return data


def _checksum(content: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
