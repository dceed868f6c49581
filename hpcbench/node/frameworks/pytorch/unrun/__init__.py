"""Networks that never run: their tensors have shapes but no data, to list what a step computes."""
