"""One file that holds a sweep: written on one machine, read on another."""
