from __future__ import annotations

import gc

from hpcbench.util.gc_pause import without_garbage_collection


def test_the_collector_is_on_again_after_the_outermost_only() -> None:
    assert gc.isenabled()
    with without_garbage_collection():
        with without_garbage_collection():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()
