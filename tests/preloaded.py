"""What the server of tests/forked.py imports and makes once, for all the processes that it forks."""

from __future__ import annotations

import gc
import hashlib
import importlib
import pkgutil
import sys
from pathlib import Path

import vl_convert

import hpcbench
from hpcbench.core.files import write_whole
from hpcbench.environments import packages
from hpcbench.submit.zipapp import node_zipapp
from tests.forked import of_a_user

# Commands import late what few of them need; a test's command would import it again each time.
LATE = ("scipy.optimize", "scipy.stats")
CACHE = Path(__file__).parents[1] / ".pytest_cache"


def _bundle(snippet: str) -> str:
    """Vega for a page, as an earlier test made it in two seconds; the tests of pages make it themselves."""
    key = hashlib.sha256(f"{vl_convert.__version__} {snippet}".encode()).hexdigest()[:16]
    file = CACHE / f"vega-{key}.js"
    if not file.exists():
        CACHE.mkdir(exist_ok=True)
        write_whole(str(file), make_bundle(snippet))
    return file.read_text(encoding="utf-8")


make_bundle, vl_convert.javascript_bundle = vl_convert.javascript_bundle, _bundle

for room in pkgutil.iter_modules(hpcbench.__path__, "hpcbench."):
    if room.ispkg and room.name != "hpcbench.node":
        for module in pkgutil.walk_packages([*importlib.import_module(room.name).__path__], f"{room.name}."):
            importlib.import_module(module.name)
for name in LATE:
    importlib.import_module(name)
packages._asked(sys.executable, tuple(of_a_user().items()))  # what each sweep asks of its Python
node_zipapp()  # compiles all code of nodes, and keeps it: longer than all else that a sweep takes
gc.collect()
gc.freeze()  # else the first collection of each process copies all that it shares with the server
