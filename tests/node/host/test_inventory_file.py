from __future__ import annotations

from collections import Counter
from pathlib import Path

from hpcbench.node.host.inventory_file import path_of


def test_no_folder_has_more_than_a_thousand_of_a_hundred_thousand_nodes() -> None:
    paths = [Path(path_of("nodes", f"node{number:06d}")) for number in range(100_000)]
    folders = Counter(path.parent for path in paths)
    assert len(folders) <= 256
    assert max(folders.values()) <= 1000
    assert len(set(paths)) == 100_000


def test_an_odd_name_of_a_node_stays_in_its_folder() -> None:
    path = Path(path_of("/nodes", "../../etc/x y"))
    assert path.parent.parent == Path("/nodes")
    assert path.name == ".._.._etc_x_y.json"
