"""The profiles of operators: where the time and the energy of a step go."""
