"""What stands beside the workload, one process on each node: it reads counters of the node, and judges by them whether
somebody else was using the machine.

Standard library only, Python 3.8 and later, no import from the rest of hpcbench: it is carried to the node with the
node code.
"""
