"""The graph of a program that `torch.export.save` wrote: JSON in a zip archive.

PyTorch's own reader unpickles constants and example inputs. This one reads only the JSON of the graph, so that a file
of another user cannot run code.
"""

from __future__ import annotations

import re
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hpcbench.errors import UserError
from hpcbench.util.fast_json import decoded

SUFFIX = ".pt2"
MAX_BYTES = 2**26  # of the JSON of a graph: objects of Python take several times as much
_GRAPH = re.compile(r"(?:.*/)?(?:models/[^/]+|serialized_exported_program)\.json\Z")
_COMPILED = re.compile(r"(?:.*/)?data/aotinductor/")
_TORCH_SCRIPT = re.compile(r"[^/]+/code/")
_SAVE = "save it again: torch.export.save(torch.export.export(model, inputs), 'net.pt2')"
# Other methods expand all of a compressed block at once, of which a small file can hold many GiB.
_BOUNDED = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_BROKEN = (OSError, zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, NotImplementedError)


def read_program(file: Path) -> Mapping[str, Any]:
    """Return the JSON object of the exported program in a file.

    Raise UserError if the file is not found, is not such an archive, is damaged, or has several programs.
    """
    if not file.is_file():
        raise UserError(f"'{file}' not found", hint="name an ONNX file, or a program that torch.export.save wrote")
    try:
        with zipfile.ZipFile(file) as archive:
            content = _content(archive, file)
    except _BROKEN as error:
        raise UserError(f"not an exported program: {error}", where=str(file), hint=_SAVE) from error
    try:
        program = decoded(content)
    except (ValueError, RecursionError) as error:
        raise UserError(f"the graph is not valid JSON: {error}", where=str(file), hint=_SAVE) from error
    if not isinstance(program, dict):
        raise UserError("the graph is not a JSON object", where=str(file), hint=_SAVE)
    return program


def _content(archive: zipfile.ZipFile, file: Path) -> bytes:
    names = archive.namelist()
    graphs = [name for name in names if _GRAPH.match(name)]
    if not graphs:
        raise UserError(f"not an exported program: {_other(names)}", where=str(file), hint=_SAVE)
    if len(graphs) > 1:
        several = ", ".join(Path(name).stem for name in graphs)
        what = f"the archive has several programs: {several}"
        raise UserError(what, where=str(file), hint="save each program in a file of its own")
    if archive.getinfo(graphs[0]).file_size > MAX_BYTES:
        hint = "use an ONNX file, or the model in an experiment"
        raise UserError(f"the graph is larger than {MAX_BYTES >> 20} MiB", where=str(file), hint=hint)
    if archive.getinfo(graphs[0]).compress_type not in _BOUNDED:
        raise UserError("the graph is compressed in another way than PyTorch does", where=str(file), hint=_SAVE)
    with archive.open(graphs[0]) as graph:
        return graph.read(MAX_BYTES)  # a wrong size in the directory cannot exceed it


def _other(names: list[str]) -> str:
    """Return what an archive without a graph is."""
    if any(map(_COMPILED.match, names)):
        return "a package of AOTInductor has compiled code only"
    if any(map(_TORCH_SCRIPT.match, names)):
        return "it is a TorchScript archive"
    return "the archive has no graph (models/*.json)"
