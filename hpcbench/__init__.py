"""hpcbench: benchmark deep-learning frameworks on Slurm clusters."""

__version__ = "0.1.0"
