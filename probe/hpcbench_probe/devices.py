"""Wait for the devices of the frameworks that the program uses."""

import sys
from typing import Any


def synchronize() -> None:
    """Wait until the devices have finished all work that PyTorch, JAX or TensorFlow has started.

    Frameworks that have not initialized their devices are not touched: initializing could allocate their memory.
    """
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        torch.cuda.synchronize()
    jax = sys.modules.get("jax")
    if jax is not None and _jax_is_initialized():
        jax.block_until_ready(jax.live_arrays())
    tensorflow = sys.modules.get("tensorflow")
    if tensorflow is not None and _tensorflow_is_initialized():
        tensorflow.test.experimental.sync_devices()


def _jax_is_initialized() -> bool:
    bridge: Any = sys.modules.get("jax._src.xla_bridge")  # the public API initializes the devices
    return bool(getattr(bridge, "_backends", True))


def _tensorflow_is_initialized() -> bool:
    module: Any = sys.modules.get("tensorflow.python.eager.context")
    context = getattr(module, "_context", None) if module is not None else True
    return bool(getattr(context, "_initialized", context))
