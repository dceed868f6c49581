"""Operators: the layers of networks one by one, as Deep500's level 0 measures them (Ben-Nun et al., 2019)."""
