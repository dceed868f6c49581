"""The outcomes of a run. Each outcome is a record; only COMPLETED is a measurement."""

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
# Outcomes that another run would not change.
FINAL = (COMPLETED, UNSUPPORTED)
NOT_FAILED = (COMPLETED, SKIPPED, UNSUPPORTED)

# The exit status of a shell whose program was ended by SIGKILL or SIGTERM.
KILLED, TERMINATED = 128 + 9, 128 + 15
SIGNALLED = 128  # this and all above: ended by a signal
JOB_TIME = "job_time"  # error type: the time limit of the job was over, not that of the run
TIME_LIMIT = "time limit"  # what stopped a rank, if not a signal
METRIC_NOT_FOUND = "metric not found"  # begins the message of a completed run that lacks a metric
STOPPED = "stopped"  # error type: skipped, because the sweep has stopped after failures
TOO_LARGE = "skip_larger_on_oom"  # error type: skipped, because a smaller case ran out of memory
LAST_LINES = 30  # of a log or a traceback, in a record
GAVE_UP = "hpcbench: gave up: "  # begins the line in which a job script or the node code prints why it cannot continue
INTERNAL = "hpcbench"  # error type: hpcbench itself failed when it evaluated what a run had left
UNEXPECTED = "expect"  # error type: the command ended without an error, but its output lacks a pattern of `expect`
MISSED = "missed"  # error type: a training missed its target accuracy
PARAMETERS = "parameters"  # error type: a library lacks the model or an option of the case
SETUP = "setup"  # type of the error of a run whose job or rank gave up
