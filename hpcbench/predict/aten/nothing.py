"""Operators that take no time on the device: views, allocations, and values that the host reads."""

from __future__ import annotations

VIEW, ALLOCATION = "view", "allocation"  # kinds of the profiler
KINDS = (VIEW, ALLOCATION)
# Views that the schemas of PyTorch do not mark, allocations, and others.
NAMES = frozenset(
    (
        *("detach", "alias", "lift_fresh", "_unsafe_view", "_reshape_alias", "unsafe_split", "unsafe_chunk"),
        *("unsafe_split_with_sizes", "resize_", "set_", "view", "t", "transpose", "permute", "expand", "squeeze"),
        *("unsqueeze", "split", "chunk", "unbind", "narrow", "_nested_view_from_buffer", "reshape", "flatten"),
        *("empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided", "_local_scalar_dense"),
        *("_amp_update_scale_", "is_same_size", "record_stream", "_assert_async", "_assert_scalar", "sym_size"),
        *("item", "_has_compatible_shallow_copy_type", "_cudnn_init_dropout_state", "view_as_real"),
        *("view_as_complex", "_conj", "_assert_tensor_metadata", "retain_grad", "requires_grad_"),
    )
)
