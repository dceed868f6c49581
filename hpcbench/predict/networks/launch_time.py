"""Time in which the host launches one kernel on a GPU, in seconds, by execution mode.

In eager mode, it is 20 us in the public sets of image networks, and over 30 us in those of transformers. That of
generated code is an assumption.
"""

from __future__ import annotations

from hpcbench.predict.tables.networks import COMPILED, EAGER

LAUNCH_S = {EAGER: 20e-6, COMPILED: 3e-6}
