"""Threads by section of the network: find sections, time them under each count, choose, and prove the gain."""
