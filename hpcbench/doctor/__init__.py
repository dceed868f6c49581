"""Checks of `hpcbench doctor`: Slurm, environments, this machine and, by small jobs, nodes."""
