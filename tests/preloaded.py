"""What the server of tests/forked.py imports and makes once, for all the processes that it forks."""

from __future__ import annotations

import gc
import importlib
import pkgutil
import sys

import hpcbench
from hpcbench.environments import packages
from hpcbench.submit.zipapp import node_zipapp
from tests.forked import of_a_user

# Commands import late what few of them need; a test's command would import it again each time.
LATE = ("scipy.optimize", "scipy.stats", "vl_convert")

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
