"""The rules that decide whether a run is started, retried or skipped; nodes and the login side apply them."""
