"""The reasons why the clock of a GPU is throttled, as bits."""

# The bits of NVML (nvmlClocksEventReasons), also for GPUs of other vendors. Its other bits are harmless: 0x1 means that
# the GPU is idle, 0x2 that a user has set the clock.
POWER_CAP = 0x4
HARDWARE_SLOWDOWN = 0x8
SOFTWARE_THERMAL = 0x20
HARDWARE_THERMAL = 0x40
POWER_BRAKE = 0x80
HEAT = HARDWARE_SLOWDOWN | SOFTWARE_THERMAL | HARDWARE_THERMAL
