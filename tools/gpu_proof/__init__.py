"""The steps of `tools/gpu-proof`. They use the standard library only, and call hpcbench as users do.

Whatever touches the GPU is a process of its own with a time limit, so that a driver that hangs ends only its step.
"""
