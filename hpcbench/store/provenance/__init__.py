"""What a sweep says about itself, so that it can be run again: how it was asked for, with what, and from where."""
