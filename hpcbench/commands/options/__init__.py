"""The arguments and options that several commands have, and their conventions."""
