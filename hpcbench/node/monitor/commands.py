"""The command of the zipapp that monitors a node."""

import os
import sys
from typing import Any

from ..host import hostname
from .monitor import serve
from .protocol import Commands


def monitor(arguments: Any) -> int:
    """Write the timelines of consecutive runs until the input ends; then describe the node, once per sweep."""
    serve(Commands(0))
    if arguments.nodes:  # the input has ended, and so has the measurement on all nodes
        _describe_node(arguments.nodes)
    return 0


def _describe_node(folder: str) -> None:
    """Write the inventory of this node, unless another job has."""
    from ..host import inventory_file

    if os.path.exists(inventory_file.path_of(folder, hostname.name(os.environ))):
        return
    from ..host import inventory
    from ..host.sysfs import this_system

    places = [os.path.dirname(os.path.abspath(path)) for path in (sys.argv[0], folder)]
    inventory.save(folder, this_system(), places, os.environ)
