"""The monitor: one process per node that runs alongside the workload and reads counters; and the evaluation of these.

Standard library only, Python 3.8 and later, no import from the rest of hpcbench except `core` and `models`: it is part
of the zipapp that each sweep carries to its nodes.
"""
