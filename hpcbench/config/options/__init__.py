"""The options of the command line that define or change an experiment."""
