"""The steps of `tools/gpu-proof`. They use only the standard library, and call hpcbench as users do.

Everything that uses the GPU is a separate process with a time limit, so that a driver that hangs fails only one step.
"""
