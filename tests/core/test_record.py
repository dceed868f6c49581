"""The types of records: every field is described, and columns have names of their own."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest

from hpcbench.core.record import Record
from hpcbench.core.record_field import Column, columns, values_at
from hpcbench.core.typed_json import to_json

ROOT = Path(__file__).parents[2]


def test_columns_have_names_of_their_own() -> None:
    counts = Counter(column.name for column in columns(Record))
    assert max(counts.values()) == 1
    assert counts["steady"] == counts["error"] == 1


def test_a_column_knows_its_field_unit_and_whether_pandas_needs_nullable_integers() -> None:
    by_name = {column.name: column for column in columns(Record)}
    meaning = "time to import the framework"
    assert by_name["import_s"] == Column("import_s", ("import_s",), "s", meaning, False)
    assert by_name["parameter_count"].path == ("work", "parameter_count")
    assert by_name["parameter_count"].is_nullable_int, "there may be no work"
    assert not by_name["case_index"].is_nullable_int


def test_a_value_below_null_is_null(make_record: Callable[..., Record]) -> None:
    records = [make_record(), make_record(status="failed")]
    assert values_at(records, ("work", "parameter_count")) == [100, None]


def test_the_published_schema_allows_what_the_node_writes_and_no_damage(make_record: Callable[..., Record]) -> None:
    schema = json.loads((ROOT / "docs" / "reference" / "record.schema.json").read_text(encoding="utf-8"))
    record = json.loads(json.dumps(to_json(make_record())))
    jsonschema.validate(record, schema)
    jsonschema.validate(json.loads(json.dumps(to_json(make_record(status="failed")))), schema)
    record["measurements"]["times_s"] = ["fast"]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(record, schema)
