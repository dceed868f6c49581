"""The search for the best configuration of an experiment, with few measurements.

Pure, except `measurement_runner` and `result_file`.
"""
