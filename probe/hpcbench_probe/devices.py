"""Wait for the devices of the frameworks that the program has imported."""

import sys


def synchronize() -> None:
    """Wait until the devices have finished all work that PyTorch, JAX or TensorFlow has started.

    Frameworks that the program has not imported, and CUDA if PyTorch has not initialized it, are not touched.
    """
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        torch.cuda.synchronize()
    jax = sys.modules.get("jax")
    if jax is not None:
        jax.block_until_ready(jax.live_arrays())
    tensorflow = sys.modules.get("tensorflow")
    if tensorflow is not None:
        tensorflow.test.experimental.sync_devices()
