"""Which device, and which of its clocks or power limits: recommendations from predictions and their errors."""
