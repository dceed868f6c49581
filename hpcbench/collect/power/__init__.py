"""Power and energy from the timelines of the monitors of a sweep."""
