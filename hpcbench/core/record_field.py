"""Fields of records: their meaning, and the columns that tables make of them."""

import collections.abc
import dataclasses
import typing
from typing import Any, Iterator, List, NamedTuple, Sequence


def described(meaning: str, column: str = "", unit: str = "", default: Any = dataclasses.MISSING) -> Any:
    """Return a field with its meaning, and the name and unit of its column if tables have one.

    Absent fields of a record take `default`; a field without a default is required.
    """
    metadata = {"meaning": meaning, "column": column, "unit": unit}
    if default is dataclasses.MISSING:
        return dataclasses.field(metadata=metadata)
    return dataclasses.field(default=default, metadata=metadata)


class Column(NamedTuple):
    """A column of tables that holds one field of records."""

    name: str
    path: Sequence[str]  # of the field: ("work", "dtype")
    unit: str
    meaning: str
    is_nullable_int: bool


def columns(kind: Any, path: Sequence[str] = (), nullable: bool = False) -> Iterator[Column]:
    """Yield the columns that the fields of a dataclass declare, in the order of the tree, except those in lists."""
    hints = typing.get_type_hints(kind)
    for field in dataclasses.fields(kind):
        hint = hints[field.name]
        kinds = [each for each in typing.get_args(hint) or (hint,) if each is not type(None)]
        own, may_be_null = (*path, field.name), nullable or kinds != [hint]
        if field.metadata.get("column"):
            name, unit, meaning = (field.metadata[key] for key in ("column", "unit", "meaning"))
            yield Column(name, own, unit, meaning, kinds == [int] and may_be_null)
        elif len(kinds) == 1 and dataclasses.is_dataclass(kinds[0]) and not _is_list(hint):
            yield from columns(kinds[0], own, may_be_null)


def _is_list(hint: Any) -> bool:
    return typing.get_origin(hint) is collections.abc.Sequence


def values_at(records: Sequence[Any], path: Sequence[str]) -> List[Any]:
    """Return the field at a path of each record; None where the tree of a record ends before it."""
    found: List[Any] = list(records)
    for name in path:
        found = [getattr(each, name, None) for each in found]
    return found
