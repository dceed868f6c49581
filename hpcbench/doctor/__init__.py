"""What hpcbench doctor finds out from the login node: Slurm, its limits, and, by small jobs, its nodes."""
