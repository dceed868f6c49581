"""What runs inside a job: standard library only, Python 3.8 and later, no import from the rest of hpcbench.

Each sweep carries this package as one zipapp, so that it runs in whatever environment a framework needs.
"""
