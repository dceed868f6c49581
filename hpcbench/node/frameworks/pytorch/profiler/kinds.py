"""The kind of each operator of PyTorch: what it computes, under the same name on all devices."""

from typing import Dict, Tuple

from .....core.profiling.operator_row import OTHER

VIEW = "view"  # another description of the same memory; it computes nothing
_CONVOLUTIONS = (
    *("convolution", "convolution_overrideable"),
    *("cudnn_convolution", "miopen_convolution", "mkldnn_convolution", "_convolution_pointwise"),
)
_NAMES: Dict[str, Tuple[str, ...]] = {
    "gemm": (
        "mm",
        "addmm",
        "_addmm_activation",
        "mv",
        "addmv",
        "dot",
        "linear",
        "mkldnn_linear",
        "_linear_pointwise",
        "_int_mm",
    ),
    "bmm": ("bmm", "baddbmm", "addbmm", "_trilinear"),
    "attention": (
        "_native_multi_head_attention",
        "_scaled_dot_product_flash_attention",
        "_scaled_dot_product_flash_attention_for_cpu",
        "_scaled_dot_product_efficient_attention",
        "_scaled_dot_product_cudnn_attention",
        "_scaled_dot_product_attention_math",
        "_scaled_dot_product_fused_attention_overrideable",
    ),
    "encoder_layer": ("_transformer_encoder_layer_fwd",),
    "lstm": ("lstm", "_thnn_fused_lstm_cell"),
    "gru": ("gru", "_thnn_fused_gru_cell"),
    "softmax": ("_softmax", "softmax", "_safe_softmax", "_masked_softmax"),
    "log_softmax": ("_log_softmax", "log_softmax"),
    "softmax_backward": ("_softmax_backward_data",),
    "log_softmax_backward": ("_log_softmax_backward_data",),
    "layer_norm": ("native_layer_norm", "_fused_rms_norm"),
    "batch_norm": (
        "native_batch_norm",
        "cudnn_batch_norm",
        "_native_batch_norm_legit",
        "_native_batch_norm_legit_functional",
        "_native_batch_norm_legit_no_training",
        "_batch_norm_with_update",
        "_batch_norm_no_update",
        "batch_norm",
    ),
    "group_norm": ("native_group_norm",),
    "pooling": (
        "max_pool2d_with_indices",
        "max_pool3d_with_indices",
        "avg_pool2d",
        "avg_pool3d",
        "adaptive_max_pool2d",
        "_adaptive_avg_pool2d",
        "mkldnn_max_pool2d",
    ),
    "embedding": ("embedding", "embedding_dense", "_embedding_bag"),
    "relu": ("relu", "relu_", "threshold"),
    "gelu": ("gelu", "gelu_"),
    "silu": ("silu", "silu_"),
    "hardswish": ("hardswish", "hardswish_"),
    "sigmoid": ("sigmoid", "sigmoid_"),
    "tanh": ("tanh", "tanh_"),
    "dropout": ("native_dropout", "bernoulli_", "_fused_dropout"),
    "add": ("add", "add_", "sub", "sub_", "rsub"),
    "mul": ("mul", "mul_", "div", "div_", "neg", "addcmul", "addcmul_", "addcdiv", "addcdiv_"),
    "lerp": ("lerp", "lerp_"),
    "square_root": ("sqrt", "sqrt_", "rsqrt", "pow"),
    "cross_entropy": ("cross_entropy_loss", "nll_loss", "nll_loss_forward", "nll_loss2d_forward"),
    "reduction": ("sum", "mean", "amax", "amin", "max", "min", "argmax", "linalg_vector_norm", "_foreach_norm"),
    "copy": (
        "clone",
        "copy_",
        "_to_copy",
        "contiguous",
        "cat",
        "stack",
        "select_backward",
        "slice_backward",
        "_foreach_copy_",
    ),
    "fill": ("zeros", "ones", "full", "zero_", "fill_", "zeros_like", "ones_like", "full_like", "new_zeros"),
    "allocation": ("empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided"),
    "adamw": ("_fused_adamw_",),
    "adam": ("_fused_adam_",),
    "sgd": ("_fused_sgd_",),
    "adagrad": ("_fused_adagrad_",),
}
_KINDS = {name: kind for kind, names in _NAMES.items() for name in names}
_BACKWARD = "_backward"
_FOREACH = "_foreach_"  # of operators on lists of tensors, which have the kind of the operator on one tensor
_RNN_MODES = {2: "lstm", 3: "gru"}  # of oneDNN and cuDNN; the others are RNNs without gates


def kind_of(name: str, dimensions: int, mode: int = 0) -> str:
    """Return the kind of an operator by its name without overload; kinds of gradients end in `_backward`.

    `dimensions` are those of a convolution, as in `conv2d`. `mode` is that of an RNN, and gives the kind of its cells.
    """
    base = name[: -len(_BACKWARD)] if name.endswith(_BACKWARD) else name
    suffix = _BACKWARD if name != base else ""
    if base in _CONVOLUTIONS:
        return "conv%dd%s" % (dimensions, suffix)
    if base.startswith(("mkldnn_rnn_layer", "_cudnn_rnn", "miopen_rnn")):
        return _RNN_MODES.get(mode, "rnn") + suffix
    for candidate in (base, base + "_forward", "native_" + base):
        if candidate in _KINDS:
            return _KINDS[candidate] + suffix
    return _KINDS.get(base[len(_FOREACH) :], OTHER) if base.startswith(_FOREACH) else OTHER
