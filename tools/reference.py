"""Write what the schemas and the catalog say into the docs: docs/reference.md, docs/record.schema.json, tables."""

from __future__ import annotations

import argparse
import sys
import types
import typing
from pathlib import Path

from pydantic import BaseModel
from record_schema import column_table, record_schema

from hpcbench.config.axes import Range
from hpcbench.config.container import Container
from hpcbench.config.experiment import Experiment, Measure
from hpcbench.config.metrics import Metric
from hpcbench.config.parameters import Parameters
from hpcbench.config.recipe import Compile, Recipe, Step
from hpcbench.config.site import Carbon, Cost, Environment, Launcher, Limits, Partition, Site
from hpcbench.config.slurm_options import SlurmOptions
from hpcbench.core.frameworks import FRAMEWORKS, runtime_settings
from hpcbench.models.catalog import MODELS

ROOT = Path(__file__).parents[1]
COLUMNS = ROOT / "docs" / "columns.md"
BEGIN, END = "<!-- {}: made by `make docs` -->", "<!-- end of {} -->"

SECTIONS: list[tuple[str, str, type[BaseModel]]] = [
    ("Experiment file", "The top-level keys.", Experiment),
    ("Parameters", "What `parameters`, the axes of `matrix` and `zip`, `include` and `exclude` may name.", Parameters),
    ("measure", "How each repetition is timed.", Measure),
    ("metrics.NAME", "A number of each repetition, where `framework` is `command`.", Metric),
    ("slurm", "What to ask Slurm for, in an experiment or, as defaults, in a site file.", SlurmOptions),
    ("Ranges", 'An axis is a list, or a range such as `{range: [1, 64], step: "*2"}`.', Range),
    ("Site file", "The top-level keys.", Site),
    ("environments.NAME", "How a framework becomes available on a node.", Environment),
    ("environments.NAME.container", "See [containers.md](containers.md).", Container),
    ("partitions.NAME", "What is unset is not checked.", Partition),
    ("limits", "Limits of the whole cluster.", Limits),
    ("launcher", "How tasks are started.", Launcher),
    ("cost", "Prices; null is unknown, not free. Which of them a job pays: [cost.md](cost.md).", Cost),
    ("carbon", "What electricity emits here; null is unknown. See [cost.md](cost.md).", Carbon),
    ("Recipe file", "How `hpcbench env build NAME` builds: `configs/environments/NAME.yaml`.", Recipe),
    ("steps", "Packages that are installed together.", Step),
    ("compile", "How packages are compiled, against what the earlier steps installed.", Compile),
]


def reference() -> str:
    """The whole of docs/reference.md."""
    parts = ["# Reference of the experiment, site and recipe files", "", "Made from the schemas by `make docs`.", ""]
    for title, text, model in SECTIONS:
        parts += [f"## {title}", "", text, "", *table(model), ""]
    parts += ["## Frameworks", "", *frameworks(), ""]
    parts += ["## Models", "", "| model | what it is | options and their defaults |", "|---|---|---|"]
    for name, network in MODELS.items():
        options = ", ".join(f"`{key}: {str(value).lower()}`" for key, value in network.options.items())
        parts.append(f"| `{name}` | {network.description} | {options} |")
    return "\n".join(parts) + "\n"


def readme(text: str) -> str:
    """Return the README with its generated tables."""
    return with_tables(text, {"frameworks": frameworks(), "parameters": table(Parameters)})


def with_tables(text: str, tables: dict[str, list[str]]) -> str:
    """Return a text with the lines of each table between the marks of its name."""
    for name, lines in tables.items():
        begin, end = BEGIN.format(name), END.format(name)
        before, _, rest = text.partition(begin)
        after = rest.partition(end)[2]
        text = "\n".join([before + begin, "", *lines, "", end]) + after
    return text


def frameworks() -> list[str]:
    """What each framework can do, as the lines of a Markdown table."""
    lines = [
        "| `framework` | what it is | `strategy` | `execution`, its usual first | settings |",
        "|---|---|---|---|---|",
    ]
    for name, framework in FRAMEWORKS.items():
        several = (framework.strategies, framework.executions, runtime_settings(name))
        cells = [", ".join(f"`{each}`" for each in words) for words in several]
        lines.append(f"| `{name}` | {framework.description} | {' | '.join(cells)} |")
    return lines


def table(model: type[BaseModel]) -> list[str]:
    """The keys of a schema as the lines of a Markdown table."""
    rows = [_row(field.alias or name, field) for name, field in model.model_fields.items()]
    return ["| key | type | default | meaning |", "|---|---|---|---|", *rows]


def _row(name: str, field: typing.Any) -> str:
    default = "required" if field.is_required() else f"`{_shown(field.get_default(call_default_factory=True))}`"
    return f"| `{name}` | {_kind(field.annotation)} | {default} | {field.description or ''} |"


def _shown(value: object) -> str:
    if isinstance(value, BaseModel):
        return "see below"
    if value is None:
        return "unset"
    return str(value).lower() if isinstance(value, bool) else str(value) or '""'


def _kind(annotation: typing.Any) -> str:
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Literal:
        return ", ".join(f"`{argument}`" for argument in arguments)
    if origin in (typing.Union, types.UnionType):
        if set(arguments) == {bool, int, float, str}:
            return "plain value"
        return " or ".join(_kind(kind) for kind in arguments if kind is not type(None))
    if origin is list:
        return f"list of {_kind(arguments[0])}"
    if origin is dict:
        return f"mapping to {_kind(arguments[1])}"
    if origin is tuple:
        return "[first, last]"
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return "mapping" if annotation is not Range else "range"
    names = {int: "whole number", float: "number", str: "text", bool: "true or false"}
    return names.get(annotation, "any value")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="only say whether the files are up to date")
    check = parser.parse_args().check
    wanted = {
        ROOT / "docs" / "reference.md": reference(),
        ROOT / "README.md": readme((ROOT / "README.md").read_text(encoding="utf-8")),
        COLUMNS: with_tables(COLUMNS.read_text(encoding="utf-8"), {"columns of records": column_table()}),
        ROOT / "docs" / "record.schema.json": record_schema(),
    }
    for path, text in wanted.items():
        if not check:
            path.write_text(text, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != text:
            print(f"{path.name} is not what the schemas say: run `make docs`", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
