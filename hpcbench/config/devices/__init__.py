"""Descriptions of devices: the format of their files, its checks, and the table of all described devices."""
