"""Choose how the clock of a device is changed: by what the driver and the rights of the user permit."""

import uuid
from typing import Optional

from ..host import gpus
from ..host.sysfs import System
from .control import Control, NotPermitted
from .cpufreq import FrequencyLimits
from .nvidia import LockedClocks, PowerLimits


def control_of(system: System, gpu_index: Optional[int]) -> Control:
    """Return the control of a visible GPU, or of the CPUs if the index is None.

    Raise NotPermitted, with the reason of each method, if none can be used.
    """
    if gpu_index is None:
        return FrequencyLimits(system)
    identity = gpus.identity(gpu_index)
    if identity is None:
        raise NotPermitted("only the clocks of NVIDIA's GPUs can be changed")
    name = "GPU-%s" % uuid.UUID(identity)
    reasons = []
    for kind in (LockedClocks, PowerLimits):
        try:
            return kind(name)
        except NotPermitted as error:
            reasons.append("%s: %s" % (kind.method, error))
    raise NotPermitted("; ".join(reasons))
