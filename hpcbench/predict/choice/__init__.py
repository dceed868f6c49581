"""Which device, and which clock or power limit of it: recommendations from predictions and their errors."""
