"""Metrics of one line of YAML for outputs as HPC and ML programs print them; the samples were written for this test."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Any

import pytest

from hpcbench.config.metrics import Metric
from hpcbench.config.yaml_document import parse_yaml
from hpcbench.core.metrics.error import MetricError
from hpcbench.core.metrics.plain_text import decoded
from hpcbench.core.metrics.value import value_of

DOCUMENTATION = Path(__file__).parents[3] / "docs" / "guides" / "programs.md"


def found(metric: str, output: str | bytes) -> float:
    """The value that a metric, as a line of YAML, has in an output."""
    given = parse_yaml(f"m: {metric}", "f.yaml").data["m"]
    spec: dict[str, Any] = Metric.model_validate(given).model_dump(mode="json")
    text = decoded([output if isinstance(output, bytes) else output.encode()])
    value: float = value_of(spec, [text], "the output")["value"]
    return value


HPL = """\
T/V                N    NB     P     Q               Time                 Gflops
--------------------------------------------------------------------------------
WR11C2R4       29184   192     2     2             123.45             1.3422e+02
HPL_pdgesv() start time Thu Nov 26 10:00:00 2026
--------------------------------------------------------------------------------
||Ax-b||_oo/(eps*(||A||_oo*||x||_oo+||b||_oo)*N)=   1.66e-03 ...... PASSED
"""
STREAM = """\
Number of Threads requested = 4
-------------------------------------------------------------
Function    Best Rate MB/s  Avg time     Min time     Max time
Copy:           12345.6     0.013000     0.012960     0.013050
Triad:          13456.7     0.017900     0.017835     0.018020
-------------------------------------------------------------
Solution Validates: avg error less than 1.000000e-13 on all three arrays
"""
OSU = """\
# OSU MPI Latency Test v7.4
# Datatype: MPI_CHAR.
# Size       Avg Latency(us)
1                       0.25
2                       0.26
4194304               890.12
"""
NCCL = """\
# nThread 1 nGpus 8 minBytes 8 maxBytes 134217728 step: 2(factor) warmup iters: 5 iters: 20
#
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
           8             2     float     sum      -1    12.30    0.00    0.00      0    12.10    0.00    0.00    N/A
   134217728      33554432     float     sum      -1   1040.2  129.03  225.80      0   1030.1  130.30  228.02    N/A
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 113.455
#
"""
IOR = """\
access    bw(MiB/s)  IOPS       Latency(s)  block(KiB) xfer(KiB)  open(s)    wr/rd(s)   close(s)   total(s)   iter
------    ---------  ----       ----------  ---------- ---------  --------   --------   --------   --------   ----
write     1234.56    1236.00    0.003230    262144     1024.00    0.001      0.207      0.0005     0.2074     0
read      5678.90    5690.00    0.000700    262144     1024.00    0.0003     0.0449     0.0001     0.0451     0
Max Write: 1234.56 MiB/sec (1294.53 MB/sec)
Max Read:  5678.90 MiB/sec (5954.75 MB/sec)
"""
LAMMPS = """\
Setting up Verlet run ...
   Step          Temp          E_pair         E_mol          TotEng         Press
         0   1.44          -6.7733681      0             -4.6134356     -5.0197073
       100   0.7574531     -5.7585055      0             -4.6223613      0.20726105
Loop time of 0.578 on 1 procs for 100 steps with 4000 atoms

Performance: 74757.000 tau/day, 173.049 timesteps/s, 692.196 katom-step/s
Histogram: 1 0 0 0 0 0 0 0 0 0
"""
GROMACS = """\
               Core t (s)   Wall t (s)        (%)
       Time:       96.004       12.002      799.9
                 (ns/day)    (hour/ns)
Performance:       71.993        0.333
"""
FIO = """\
fio: this platform does not support process shared mutexes
{
  "fio version" : "fio-3.36",
  "jobs" : [
    {
      "jobname" : "a",
      "read" : {"bw_bytes" : 1294532608, "iops" : 316048.6}
    }
  ]
}
"""
FIO_TEXT = "   READ: bw=1234MiB/s (1294MB/s), 1234MiB/s-1234MiB/s (1294MB/s-1294MB/s), io=1024MiB (1074MB)\n"
TRAINER = """\
{'loss': 0.7512, 'grad_norm': 1.25, 'learning_rate': 4.9e-05, 'epoch': 0.5}
 50%|#####     | 50/100 [00:20<00:10,  4.80it/s]
{'loss': nan, 'grad_norm': nan, 'learning_rate': 1e-05, 'epoch': 0.75}
{'loss': 0.251, 'grad_norm': 0.75, 'learning_rate': 0.0, 'epoch': 1.0}
{'train_runtime': 30.0, 'train_samples_per_second': 33.3, 'train_loss': 0.5, 'epoch': 1.0}
"""
LIGHTNING = (
    "Epoch 0:  50%|#####     | 5/10 [00:01<00:01,  4.50it/s, v_num=0, train_loss=2.10]\r"
    "Epoch 0: 100%|##########| 10/10 [00:02<00:00,  5.50it/s, v_num=0, train_loss=1.90]\n"
)
MLLOG = """\
:::MLLOG {"namespace": "", "time_ms": 1773225059000, "event_type": "POINT_IN_TIME", "key": "eval_accuracy", \
"value": 0.61, "metadata": {"file": "train.py", "lineno": 7, "epoch_num": 1}}
0: :::MLLOG {"namespace": "", "time_ms": 1773225059123, "event_type": "POINT_IN_TIME", "key": "eval_accuracy", \
"value": 0.71, "metadata": {"file": "train.py", "lineno": 7, "epoch_num": 2}}
:::MLLOG {"namespace": "", "time_ms": 1773225059124, "event_type": "POINT_IN_TIME", "key": "tracked_stats", \
"value": {"throughput": 2345.6}, "metadata": {}}
:::MLLOG {"namespace": "", "time_ms": 1773225060456, "event_type": "INTERVAL_END", "key": "run_stop", "value": null, \
"metadata": {"status": "success"}}
"""
PREFIXED = """\
2026-01-01 12:00:00 INFO {"step": 10, "rate": 2.5}
[2026-01-01 12:00:05] [INFO] evaluating {model}
2026-01-01 12:00:09 INFO {"step": 20, "rate": 2.7}
"""
TABLE = """\
#       size         count    time   algbw   busbw
        1024           256   12.30    0.08    0.15
     1048576        262144   60.10   17.45   32.72
"""
TQDM = (
    "  1%|          | 1/100 [00:02<03:18,  2.00s/it]\r 50%|#####     | 50/100 [00:20<00:10,  4.80it/s]\r"
    "100%|##########| 100/100 [00:30<00:00,  5.20it/s]\n"
)
TQDM_IN_MULTIPLES = "10%|# | 9k/90k [00:10<01:30, 900.0it/s]\r 20%|## | 18k/90k [00:12<00:20, 4.80kit/s]\n"
DD = "dd: 512 MB copied, 1 s, 512 MB/s\ndd: 1.2 GB copied, 1 s, 1.2 GB/s\n"
MARKDOWN = """\
| model         |       size | threads |     t/s |
| ------------- | ---------: | ------: | ------: |
| llama 7B Q4_0 |   3.56 GiB |      16 |   23.45 |
| llama 7B Q4_0 |   3.56 GiB |      32 |   34.56 |

build: 1234
"""
LOGURU = "\x1b[32m12:00:00\x1b[0m | \x1b[1mINFO \x1b[0m | \x1b[32mthroughput:\x1b[0m \x1b[1m123.4\x1b[0m img/s\n"
RICH = (
    "\x1b]8;;https://example.org\x1b\\run\x1b]8;;\x1b\\ "
    "\x1b[?25l\x1b[2K\x1b[1Grate \x1b[38;5;2m7.5\x1b[m it/s\x1b[1A\x1b[?25h\n"
)

SAMPLES: dict[str, tuple[str, str | bytes, float]] = {
    "HPL": ("{csv: Gflops, unit: GFLOP/s}", HPL, 134.22),
    "HPL by pattern": ("{regex: '^W[RC].* ([0-9.e+]+)$', unit: GFLOP/s}", HPL, 134.22),
    "STREAM": ("{csv: Best Rate MB/s, unit: MB/s, reduce: last}", STREAM, 13456.7),
    "STREAM by pattern": (r"{regex: 'Triad: +(\S+)', unit: MB/s}", STREAM, 13456.7),
    "OSU": ("{csv: Avg Latency(us), unit: us, reduce: min}", OSU, 0.25),
    "nccl-tests": ("{csv: 'busbw[1]', unit: GB/s, reduce: max}", NCCL, 228.02),
    "nccl-tests, average": ("{regex: 'Avg bus bandwidth *: ([0-9.]+)', unit: GB/s}", NCCL, 113.455),
    "IOR": ("{csv: bw(MiB/s), unit: MiB/s, reduce: max}", IOR, 5678.9),
    "IOR in MB/s": (
        r"{regex: 'Max Write: (?P<value>\S+) (?P<unit>\S+)', unit: MB/s}",
        IOR,
        1294.53,
    ),
    "LAMMPS": ("{csv: TotEng, reduce: last}", LAMMPS, -4.6223613),
    "LAMMPS, speed": ("{regex: '([0-9.]+) timesteps/s', unit: timesteps/s}", LAMMPS, 173.049),
    "GROMACS": (r"{regex: 'Performance: +(\S+)', unit: ns/day}", GROMACS, 71.993),
    "fio as JSON after text": ("{json: 'jobs[0].read.bw_bytes', unit: B/s}", FIO, 1294532608),
    "fio as text": (r"{regex: 'READ: bw=(?P<value>[0-9.]+)(?P<unit>\w+/s)', unit: GB/s}", FIO_TEXT, 1.2939),
    "trainer of Hugging Face": ("{json: loss, reduce: last}", TRAINER, 0.251),
    "trainer of Hugging Face, speed": ("{json: train_samples_per_second, unit: samples/s}", TRAINER, 33.3),
    "Lightning": (r"{regex: 'train_loss=([0-9.]+)', reduce: last}", LIGHTNING, 1.9),
    "Lightning, speed": (r"{regex: '^Epoch.*?([0-9.]+)it/s', unit: it/s, reduce: max}", LIGHTNING, 5.5),
    "MLPerf": ("{mllog: eval_accuracy, reduce: last}", MLLOG, 0.71),
    "MLPerf, statistics": ("{mllog: tracked_stats.throughput, unit: samples/s}", MLLOG, 2345.6),
    "JSON at the end of a line": ("{json: rate, unit: it/s, reduce: mean}", PREFIXED, 2.6),
    "a table with blanks": ("{csv: busbw, unit: GB/s, reduce: max}", TABLE, 32.72),
    "a table of Markdown": ("{csv: t/s, unit: tokens/s, reduce: max}", MARKDOWN, 34.56),
    "tqdm": (r"{regex: '(?P<value>[0-9.]+)(?P<unit>it/s|s/it)', unit: it/s, reduce: median}", TQDM, 4.8),
    "tqdm, times": (r"{regex: '(?P<value>[0-9.]+)(?P<unit>it/s|s/it)', unit: ms/it, reduce: first}", TQDM, 2000),
    "tqdm with unit_scale": (
        r"{regex: '(?P<value>[0-9.]+)(?P<unit>\w*it/s)', unit: it/s, reduce: last}",
        TQDM_IN_MULTIPLES,
        4800,
    ),
    "colours": ("{regex: 'throughput: ([0-9.]+) img/s', unit: img/s}", LOGURU, 123.4),
    "links and cursor movements": ("{regex: '^rate ([0-9.]+) it/s$', unit: it/s}", RICH, 7.5),
    "colours by tput in screen": ("{regex: 'rate: ([0-9.]+) it/s'}", "rate: \x1b[1m12.5\x1b[m\x0f it/s\a\n", 12.5),
    "doubles of Fortran": (r"{regex: 'rate: (\S+)'}", "rate: 0.125D+02\n", 12.5),
    "a decimal comma": ("{regex: 'time: (.*) s', unit: s}", "time: 3,14 s\n", 3.14),
    "German numbers": ("{regex: 'rate: (.*) it/s', unit: it/s, decimal: ','}", "rate: 1.234,5 it/s\n", 1234.5),
    "thousands": ("{regex: 'rate: (.*) it/s', unit: it/s}", "rate: 1,234,567.5 it/s\n", 1234567.5),
    "Latin-1": ("{regex: 'gr.+e: ([0-9]+)'}", "größe: 5\n".encode("latin-1"), 5),
    "UTF-16": ("{regex: 'rate: ([0-9.]+)'}", "rate: 2.5\r\n".encode("utf-16"), 2.5),
    "a byte order mark before CSV": ("{csv: rate}", b"\xef\xbb\xbfrate,step\r\n2.5,1\r\n", 2.5),
    "NUL characters": ("{regex: '^rate: ([0-9.]+)$'}", b"\0\0rate: 2\0.5\0\n", 2.5),
    "line ends of Windows": ("{regex: '^rate: ([0-9.]+)$'}", "rate: 2.5\r\n", 2.5),
    "a line of megabytes": ("{regex: 'rate: ([0-9.]+)'}", "x" * 3_000_000 + " rate: 2.5 " + "y" * 100, 2.5),
}


@pytest.mark.parametrize("sample", SAMPLES)
def test_the_output_of_a_program_is_read_with_one_line_of_yaml(sample: str) -> None:
    metric, output, value = SAMPLES[sample]
    assert found(metric, output) == pytest.approx(value, rel=1e-4)


def test_the_examples_of_the_documentation_are_tested() -> None:
    rows = re.findall(r"(?m)^\| [^|]+ \| `(\{.*\})` \|$", DOCUMENTATION.read_text())
    assert len(rows) == 13
    assert {row.replace("\\|", "|") for row in rows} <= {metric for metric, _, _ in SAMPLES.values()}


@pytest.mark.parametrize(
    ("metric", "output", "words"),
    [
        (
            r"{regex: '([0-9.]+)it/s', unit: it/s, reduce: mean}",
            TQDM,
            "numbers in both it/s and s/it; name the group for the number `value`",
        ),
        (
            r"{regex: '([0-9.]+)s/it', unit: s, reduce: last}",
            TQDM,
            "numbers in both s/it and it/s; name the group for the number `value`",
        ),
        (
            r"{regex: '([0-9.]+)(?:it/s|s/it)', reduce: last}",
            TQDM,
            "capture the unit with (?P<unit>s/it|it/s), and set `unit: it/s` in an experiment file",
        ),
        ("{regex: 'time: ([0-9.]+)'}", "time: 3,14 s", "'3' is only part of the number in 'time: 3,14 s'"),
        (r"{regex: '([0-9.]+)it/s', reduce: mean}", TQDM_IN_MULTIPLES, r"capture the unit with (?P<unit>\w*it/s)"),
        ("{regex: '([0-9.]+) GB/s'}", DD, "numbers in GB/s and in other multiples of B/s"),
        ("{regex: 'time: ([0-9.]+)'}", "time: 1e-3 s", "'1' is only part"),
        ("{regex: 'time: ([0-9.]+)'}", "time: 0.125D+02 s", "'0.125' is only part"),
        ("{regex: 'n: ([0-9.]+)'}", "n: 1'234.5", "'1' is only part"),
        ("{regex: '([0-9.]+) it'}", "1\u202f234 it", "'234' is only part"),
        ("{regex: 'time: ([0-9]+)'}", "time: 12.5 s", "'12' is only part"),
        ("{regex: 'time:.*([0-9.]+)'}", "time: 12.5 s", "'5' is only part"),
        ("{regex: 'energy.*?([0-9.]+)'}", "energy = -123.4", "'123.4' is only part"),
        ("{regex: 'n: ([0-9]+)', decimal: '.'}", "n: 1,234", "'1' is only part"),
        ("{regex: 'n: (.*)'}", "n: 1,234", "'1,234' may have a decimal comma or a thousands separator"),
        ("{csv: busbw, reduce: max}", NCCL, "the header has 2 columns with this name: use busbw[0] or busbw[1]"),
        ("{csv: 'busbw[2]', reduce: max}", NCCL, "was not found"),
        ("{csv: rate}", "step   rate\n1   2.5\n2   3.5   4\n", "a row has 3 cells, its header has 2"),
        ("{mllog: eval_accuracy}", ':::MLLOG {"key": "eval_accuracy", "val', "a line of the MLPerf log is not JSON"),
        ("{mllog: run_stop}", MLLOG, "the key 'run_stop' of the MLPerf log was not found"),
        ("{json: rate, reduce: mean}", PREFIXED + 'INFO {"step": 30, "ra\n', "a JSON object is truncated"),
        ("{json: rate, reduce: mean}", PREFIXED + 'INFO {"step": 30,\ndone\n', "a JSON object is truncated"),
        ("{json: jobs}", FIO[:-8], "a JSON object is truncated or invalid: {"),
        ("{json: loss, reduce: mean}", TRAINER, "has a value that is not finite"),
    ],
)
def test_a_doubtful_value_is_an_error(metric: str, output: str, words: str) -> None:
    with pytest.raises(MetricError) as caught:
        found(metric, output)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("metric", "output", "value"),
    [
        ("{json: rate, reduce: sum}", 'config={"lr": <class>, "a": 1}\n' + PREFIXED + "{'rate': x}", 5.2),
        ("{regex: 'sizes: ([0-9]+)', decimal: '.'}", "sizes: 1,2,3", 1),
        ("{regex: 'took ([0-9.]+)'}", "it took 12.5.", 12.5),
        ("{regex: 'loss=([0-9.]+)'}", "loss=0.5,acc=0.7", 0.5),
        ("{regex: ':([0-9.]+)$'}", "elapsed 0:03.21", 3.21),
        ("{regex: '([0-9]+) of'}", "2026-11-26 of", 26),
        ("{regex: 'Disk: ([0-9.]+) MB/s'}", "Network: 1.2 GB/s\nDisk: 512 MB/s (0.5 GB/s)", 512),
        ("{regex: '([0-9.]+) [MB/s]+$'}", "512 MB/s\n", 512),
        (r"{regex: '([0-9.]+)\D+Tokens/s'}", "512 Tokens/s\n", 512),
        ("{regex: '([0-9.]+)$'}", "columns: 12\u00a034", 34),
        (
            "{csv: rate, reduce: max}",
            "the rate is unknown\nstep rate\n1 2.5\nwarning: slow\n2 3.5\n\nrate 3 4 5 6\n",
            3.5,
        ),
    ],
)
def test_other_marks_next_to_a_number_do_not_belong_to_it(metric: str, output: str, value: float) -> None:
    assert found(metric, output) == value


@pytest.mark.parametrize(
    ("metric", "line"),
    [
        ("{json: rate}", "[2026-11-26 10:00:00] step 5 loss 0.5\n"),
        ("{json: rate}", 'options {"a" : b}\n'),
        ("{csv: loss}", "# step loss\n"),
        ("{csv: loss}", "step loss\n\n"),
    ],
)
def test_the_time_for_a_long_output_is_proportional_to_its_length(metric: str, line: str) -> None:
    """A log of 20 MB must not take hours, in which the nodes of the job wait."""
    before_s = time.process_time()
    with pytest.raises(MetricError, match="was not found"):
        found(metric, 40_000 * line)
    assert time.process_time() - before_s < 15
