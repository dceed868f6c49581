"""Write the catalog of image networks: the operators of each network of timm and torchvision, listed on meta tensors.

    PYTHON tools/zoo/write_catalog.py OUTPUT.json.gz

PYTHON is that of the environment `pytorch-zoo`. No network is measured, and no weights are loaded.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import networks
import timm
import torch
import torchvision
from operator_costs import Call, calls_of
from summary import BATCHES, COLUMNS, summary

_MULTIPLE = 32  # of image sizes
_GROWTH = 1.5  # of the second image size


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the catalog, and print the networks that are not in it with the reason."""
    parser = argparse.ArgumentParser(description="Write the catalog of image networks.")
    parser.add_argument("output", type=Path)
    parser.add_argument("--only", nargs="*", default=None, metavar="NAME", help="[default: all networks]")
    options = parser.parse_args(arguments)
    found: dict[str, dict[str, Any]] = {networks.TIMM: {}, networks.TORCHVISION: {}}
    for library, entries in found.items():
        for name in networks.names(library):
            if options.only is None or name in options.only:
                try:
                    entries[name] = _entry(library, name)
                except (RuntimeError, ValueError, AssertionError, NotImplementedError, TypeError, ImportError) as error:
                    print(f"{library} {name}: {type(error).__name__}: {str(error)[:200]}", file=sys.stderr, flush=True)
    versions = {"torch": torch.__version__, "timm": timm.__version__, "torchvision": torchvision.__version__}
    _write(options.output, {"versions": versions, "old_names": networks.old_names(), **_compact(found)})
    return 0


def _entry(library: str, name: str) -> dict[str, Any]:
    model, size = networks.built(library, name)
    parameters = sum(weight.numel() for weight in model.parameters())
    few, many = (calls_of(model, _images(batch, size)) for batch in BATCHES)
    if len(few) != len(many):  # the first pass fills what the network keeps
        few = calls_of(model, _images(BATCHES[0], size))
    larger = max(_MULTIPLE, round(size * _GROWTH / _MULTIPLE) * _MULTIPLE)
    grown = _calls_or_none(model, _images(BATCHES[0], larger))
    rows = summary(few, many, grown, (larger / size) ** 2)
    return {"image_size": size, "parameters": parameters, "operators": rows}


def _calls_or_none(model: torch.nn.Module, images: torch.Tensor) -> list[Call] | None:
    """Return the operators, or None if the network accepts one image size only."""
    try:
        return calls_of(model, images)
    except (RuntimeError, AssertionError, ValueError, IndexError):
        return None


def _images(batch: int, size: int) -> torch.Tensor:
    return torch.zeros(batch, 3, size, size, device="meta")


def _compact(found: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Return the catalog with each distinct operator once, and networks as pairs of its place and the calls."""
    places: dict[tuple[object, ...], int] = {}
    libraries = {}
    for library, entries in found.items():
        libraries[library] = {}
        for name, entry in entries.items():
            pairs = []
            for row in entry["operators"]:
                key = (row[0], *row[2:])
                pairs.append([places.setdefault(key, len(places)), row[1]])
            libraries[library][name] = {**entry, "operators": pairs}
    columns = [name for name in COLUMNS if name != "calls"]
    return {"columns": columns, "operators": [list(key) for key in places], "networks": libraries}


def _write(path: Path, catalog: dict[str, Any]) -> None:
    text = json.dumps(catalog, separators=(",", ":"), sort_keys=True)
    with path.open("wb") as file, gzip.GzipFile(fileobj=file, mode="wb", mtime=0, filename="") as packed:
        packed.write(text.encode())


if __name__ == "__main__":
    sys.exit(main())
