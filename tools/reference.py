"""Generate the parts of the documentation that come from the code, and the JSON schemas.

A page marks each generated part by its name: `<!-- NAME: made by `make docs` -->`, the part, `<!-- end of NAME -->`.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from reference_parts import catalog, commands, gallery, limits, record
from reference_parts.schemas import MODELS, keys_of
from slurm_versions import version_table

from hpcbench.commands.shared.json_schema import KINDS, SCHEMAS, json_schema_text

ROOT = Path(__file__).parents[1]
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
PARTS: dict[str, Callable[[], list[str]]] = {
    **{f"keys of {name}": partial(keys_of, model) for name, model in MODELS.items()},
    "commands": commands.command_line,
    "options of hpcbench": commands.global_options,
    "exit statuses": commands.exit_statuses,
    "exit statuses of commands": commands.conditions,
    "variables of options": commands.variables,
    "frameworks": catalog.frameworks,
    "models": catalog.models,
    "operators": catalog.operators,
    "comparison of frameworks": gallery.framework_comparison,
    "recipes": catalog.recipes,
    "devices": catalog.devices,
    "fields of records": record.record_fields,
    "columns of records": record.record_columns,
    "columns of operators": record.operator_columns,
    "limits of input": limits.input_limits,
    "limits of scripts": limits.script_limits,
    "limits of runs": limits.run_limits,
    "limits of output": limits.output_limits,
    "limits of reports": limits.report_limits,
    "limits of set-up": limits.set_up_limits,
    "Slurm versions": version_table,
}
_PART = re.compile(r"<!-- (?P<name>[^\n]+?): made by `make docs` -->\n.*?<!-- end of (?P=name) -->", re.DOTALL)


def with_parts(text: str) -> str:
    """Return the text of a page with its generated parts. Raise KeyError for a part that does not exist."""
    return _PART.sub(_part, text)


def _part(found: re.Match[str]) -> str:
    name = found["name"]
    lines = PARTS[name]()
    return "\n".join([f"<!-- {name}: made by `make docs` -->", "", *lines, "", f"<!-- end of {name} -->"])


def wanted() -> Iterator[tuple[Path, str]]:
    """Yield each file with generated text, and its text."""
    for page in PAGES:
        yield page, with_parts(page.read_text(encoding="utf-8"))
    yield ROOT / "docs" / "reference" / "record.schema.json", record.record_schema()
    for kind in KINDS:
        yield ROOT / SCHEMAS / f"{kind}.json", json_schema_text(kind)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="check whether the files are up to date; write nothing")
    check = parser.parse_args().check
    for path, text in wanted():
        if not check:
            path.write_text(text, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != text:
            print(f"{path.relative_to(ROOT)} is not up to date: run `make docs`", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
