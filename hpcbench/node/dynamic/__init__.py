"""Threads by section of the network: find the sections, time them under each count, choose counts, and prove the gain."""
