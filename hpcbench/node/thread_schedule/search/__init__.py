"""The search for a schedule: find sections, time them at each thread count, choose, and confirm the gain."""
