"""`python -m hpcbench`, where the command is not on the PATH."""

from hpcbench.cli import main

main()
