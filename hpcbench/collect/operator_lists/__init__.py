"""The operators of cases that have not run, from the environment of their framework."""
