"""What the server of tests/forked.py imports and makes once, for all the processes that it forks."""

from __future__ import annotations

import gc
import importlib

from hpcbench import cli
from hpcbench.submit.zipapp import node_zipapp

for name, group in cli.FOLDERS.items():
    importlib.import_module(f"hpcbench.commands.{group}.{name}")
node_zipapp()  # compiles all code of nodes, and keeps it: longer than all else that a sweep takes
gc.collect()
gc.freeze()  # else the first collection of each process copies all that it shares with the server
