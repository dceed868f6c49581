"""Run hpcbench as `python -m hpcbench`, if its command is not on the PATH."""

from hpcbench.cli import main

main()
