"""How a repetition can end. Every one of these is a record; only the first is a measurement."""

COMPLETED = "completed"
FAILED = "failed"
OUT_OF_MEMORY = "out_of_memory"
TIMEOUT = "timeout"
CANCELLED = "cancelled"
PREEMPTED = "preempted"
NODE_FAILURE = "node_failure"
NEVER_STARTED = "never_started"
SKIPPED = "skipped"
UNSUPPORTED = "unsupported"

STATUSES = (
    *(COMPLETED, FAILED, OUT_OF_MEMORY, TIMEOUT, CANCELLED, PREEMPTED, NODE_FAILURE, NEVER_STARTED),
    *(SKIPPED, UNSUPPORTED),
)
# Running these again would end the same way.
FINAL = (COMPLETED, UNSUPPORTED)

# The exit status by which a shell says that what it ran was killed, or told to end.
KILLED, TERMINATED = 128 + 9, 128 + 15
SIGNALLED = 128  # and from here on all such
JOB_TIME = "job_time"  # the type of the error where the time of the job was over, and not that of the repetition
TIME_LIMIT = "time limit"  # by what a rank was stopped, where not by a signal
TOO_LARGE = "monotone"  # the type of the error of what was skipped because something smaller ran out of memory
LAST_LINES = 30  # of a log or a traceback, kept in a record
