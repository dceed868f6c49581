"""Metrics that nobody has defined, in the output of programs as they print it; and what is not one."""

from __future__ import annotations

import random
import time

import pytest

from hpcbench.analysis.cases.quantities import ACCURACIES, QUANTITIES, short_column
from hpcbench.collect import metric_names
from hpcbench.collect.found_metrics import MOST, FoundMetric, Printed, found_metrics
from hpcbench.core.metrics.error import MetricError
from hpcbench.core.metrics.plain_text import decoded
from hpcbench.core.metrics.value import value_of

PAIRS = """\
[INFO] 2026-01-01 12:30:01,123 listening on node01:29500, pid: 1234, torch: 2.3.0
Epoch 1: Train loss: 0.75, Test accuracy: 98.5 %, lr=0.1
Epoch 2: Train loss: 0.5, Test accuracy: 99.5 %, lr=0.1
Throughput: 1,812.4 images/sec
Latency (ms): 5.25
memory used: 3.5 GB
batch: 1/10
train.py:37: UserWarning: slow
"""
TQDM = (
    "  1%|          | 1/100 [00:02<03:18,  2.00s/it]\r 50%|#####     | 50/100 [00:20<00:10,  4.80it/s, loss=0.5]\r"
    "100%|##########| 100/100 [00:30<00:00,  5.20it/s, loss=0.4]\n"
)
OWN_UNIT = "100%|####| 90.0k/90.0k [00:12<00:00, 4.80ksamples/s]\n"
KERAS = """\
Epoch 1/2
1875/1875 - 3s - loss: 0.2912 - accuracy: 0.9152 - 3s/epoch - 2ms/step
Epoch 2/2
1875/1875 - 3s - loss: 0.1000 - accuracy: 0.9500 - 3s/epoch - 4ms/step
"""
KERAS_BAR = (
    "\x1b[1m   1/1875\x1b[0m \x1b[37m━━\x1b[0m \x1b[1m4:11\x1b[0m 134ms/step - accuracy: 0.1250 - loss: 2.4"
    "\b\b\b\b\r\x1b[1m1875/1875\x1b[0m \x1b[32m━━\x1b[0m \x1b[1m3s\x1b[0m 2ms/step - accuracy: 0.9152 - loss: 0.2912\n"
)
TRAINER = """\
{'loss': 0.7512, 'grad_norm': 1.25, 'learning_rate': 4.9e-05, 'epoch': 0.5}
{'loss': 0.251, 'grad_norm': 0.75, 'learning_rate': 0.0, 'epoch': 1.0}
{'train_runtime': 30.0, 'train_samples_per_second': 33.3, 'train_steps_per_second': 4.2, 'train_loss': 0.5}
"""
TRAINER_TABLE = """\
***** train metrics *****
  epoch                    =        3.0
  total_flos               =     1234GF
  train_loss               =     0.5123
  train_runtime            = 0:00:30.12
  train_samples            =       1000
  train_samples_per_second =       33.3
"""
LIGHTNING = """\
┏━━━━━━━━━━━━━━━━━━━━━━━━━━━┳━━━━━━━━━━━━━━━━━━━━━━━━━━━┓
┃        Test metric        ┃       DataLoader 0        ┃
┡━━━━━━━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━━━━━━━━━━━━━━━━━━┩
│         test_acc          │    0.9800000190734863     │
│         test_loss         │   0.07961630821228027     │
└───────────────────────────┴───────────────────────────┘
"""
LIGHTNING_PLAIN = """\
────────────────────────────────────────
       Test metric             DataLoader 0
────────────────────────────────────────
        test_acc            0.9800000190734863
────────────────────────────────────────
"""
LIGHTNING_BAR = "Epoch 0: 100%|###| 10/10 [00:02<00:00,  5.50it/s, v_num=0, train_loss=1.90]\n"
MLLOG = """\
:::MLLOG {"namespace": "", "time_ms": 1, "event_type": "POINT_IN_TIME", "key": "seed", "value": 7, "metadata": {}}
:::MLLOG {"namespace": "", "time_ms": 2, "event_type": "POINT", "key": "eval_accuracy", "value": 0.61, "metadata": {}}
0: :::MLLOG {"time_ms": 3, "event_type": "X", "key": "tracked_stats", "value": {"throughput": 2345.6}, \
"metadata": {}}
:::MLLOG {"namespace": "", "time_ms": 4, "event_type": "INTERVAL_END", "key": "run_stop", "value": null, "metadata": {}}
"""
JSON_LINES = """\
{"step": 10, "rate": 2.5, "gpu": {"mem.used": 5}, "ok": true}
2026-01-01 INFO {"step": 20, "rate": 2.7, "gpu": {"mem.used": 6}, "ok": true}
"""

SAMPLES: dict[str, tuple[str, dict[str, tuple[float, str, int]]]] = {
    "pairs": (
        PAIRS,
        {
            "printed_throughput": (1812.4, "images/s", 1),
            "train_loss": (0.5, "", 2),
            "test_accuracy": (99.5, "%", 2),
            "latency": (5.25, "ms", 1),
            "memory_used": (3.5, "GB", 1),
        },
    ),
    "tqdm": (TQDM, {"it_per_s": (5.2, "it/s", 3), "loss": (0.4, "", 2)}),
    "tqdm with a unit": (OWN_UNIT, {"samples_per_s": (4800.0, "samples/s", 1)}),
    "Keras": (
        KERAS,
        {
            "epoch_per_s": (1 / 3, "epoch/s", 2),
            "step_per_s": (250.0, "step/s", 2),
            "loss": (0.1, "", 2),
            "accuracy": (0.95, "", 2),
        },
    ),
    "the progress bar of Keras": (
        KERAS_BAR,
        {"step_per_s": (500.0, "step/s", 2), "accuracy": (0.9152, "", 2), "loss": (0.2912, "", 2)},
    ),
    "Hugging Face": (
        TRAINER,
        {
            "train_samples_per_second": (33.3, "samples/s", 1),
            "train_steps_per_second": (4.2, "steps/s", 1),
            "loss": (0.251, "", 2),
            "train_loss": (0.5, "", 1),
            "train_runtime": (30.0, "s", 1),
            "grad_norm": (0.75, "", 2),
        },
    ),
    "the table of Hugging Face": (
        TRAINER_TABLE,
        {"train_samples_per_second": (33.3, "samples/s", 1), "train_loss": (0.5123, "", 1)},
    ),
    "Lightning": (LIGHTNING, {"test_acc": (0.9800000190734863, "", 1), "test_loss": (0.07961630821228027, "", 1)}),
    "Lightning without rich": (LIGHTNING_PLAIN, {"test_acc": (0.9800000190734863, "", 1)}),
    "the progress bar of Lightning": (LIGHTNING_BAR, {"it_per_s": (5.5, "it/s", 1), "train_loss": (1.9, "", 1)}),
    "MLPerf": (MLLOG, {"eval_accuracy": (0.61, "", 1), "tracked_stats_throughput": (2345.6, "", 1)}),
    "JSON lines": (JSON_LINES, {"rate": (2.7, "", 2), "gpu_mem_used": (6.0, "", 2)}),
    "a name at the end of a longer one": (
        "Test loss: 0.5\nloss: 0.25\nINFO loss: 0.125\n",
        {"test_loss": (0.5, "", 1), "loss": (0.125, "", 3)},
    ),
    "a rate after a step": ("epoch 1: 812.4 samples/s\n", {"samples_per_s": (812.4, "samples/s", 1)}),
    "a rate as a name": ("samples/s: 912\n", {"samples_per_s": (912.0, "samples/s", 1)}),
    "units that vary": ("step time: 2.5 ms\nstep time: 1 s\n", {"step_time": (1.0, "s", 2)}),
    "a prefix apart from its unit": (
        "Throughput: 1.2 k samples/s\n",
        {"printed_throughput": (1200.0, "samples/s", 1)},
    ),
    "a prefix at the number": ("speed = 1.5k images/sec\n", {"speed": (1500.0, "images/s", 1)}),
    "a prefix of a rate without a name": ("trained, 1.2 k samples/s\n", {"samples_per_s": (1200.0, "samples/s", 1)}),
    "a rate of words that begin like a prefix": ("trained, 5 Tokens/s\n", {"tokens_per_s": (5.0, "Tokens/s", 1)}),
    "words that begin like a prefix": ("trained, 500 keys/s\n", {"keys_per_s": (500.0, "keys/s", 1)}),
    "such a word after a blank": ("trained, 5 Messages/s\n", {"messages_per_s": (5.0, "Messages/s", 1)}),
    "a bar without prefixes, and such a word": (
        "100%|####| 90/90 [00:12<00:00, 7.50keys/s]\n",
        {"keys_per_s": (7.5, "keys/s", 1)},
    ),
    "a bar without prefixes of unknown length": (
        "90keys [00:12,  7.50keys/s]\n",
        {"keys_per_s": (7.5, "keys/s", 1)},
    ),
    "a bar whose rate alone has a prefix": (
        "640/640 [00:00<00:00, 1.20kimg/s]\n",
        {"img_per_s": (1200.0, "img/s", 1)},
    ),
    "prefixes that vary": (
        "941 Mbits/sec\n1.10 Gbits/sec\n1.2 ksamples/s\n",
        {"bits_per_s": (1.1e9, "bits/s", 2), "samples_per_s": (1200.0, "samples/s", 1)},
    ),
    "a named rate with a prefix": ("trained, 900 samples/s\nspeed: 1.5ksamples/s\n", {"speed": (1.5, "ksamples/s", 1)}),
    "a prefix of a time per time": ("speed: 1.2 k s/s\nloss=0.5\n", {"loss": (0.5, "", 1)}),
    "names after numbers, which are no units": (
        "INFO:root:epoch=3 train/loss=0.25 train/throughput=812.5 h: 0.5 s\n",
        {"train_loss": (0.25, "", 1), "train_throughput": (812.5, "", 1), "h": (0.5, "s", 1)},
    ),
    "a unit before a colon": ("latency=5ms: high\n", {"latency": (5.0, "ms", 1)}),
    "equal numbers": ("loss=0.5\nloss=0.5\n", {"loss": (0.5, "", 2)}),
}


def found(text: str) -> tuple[FoundMetric, ...]:
    return found_metrics(Printed(decoded([text.encode()])))


@pytest.mark.parametrize("sample", SAMPLES)
def test_metrics_are_found_and_their_definitions_find_them_again(sample: str) -> None:
    text, expected = SAMPLES[sample]
    metrics = found(text)
    assert {each.name: (each.last, each.unit, each.count) for each in metrics} == expected
    for each in metrics:
        made = value_of(each.spec, [decoded([text.encode()])], "the output")
        assert (made["value"], made["count"], made["unit"]) == (each.last, each.count, each.unit)
        assert made["better"] == each.better
        assert each.name.isidentifier()


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("throughput: 900 samples/s", 900.0),
        ("throughput: 1.2 k samples/s", 1200.0),
        ("throughput: 1.5k samples/s", 1500),
    ],
)
@pytest.mark.parametrize("latest", ["throughput: 900 samples/s\n", "throughput: 3 k samples/s\n"])
def test_a_definition_finds_the_numbers_of_other_runs_with_another_prefix(latest: str, text: str, value: float) -> None:
    (metric,) = found(latest)
    assert value_of(metric.spec, [text], "the output")["value"] == value


def test_a_number_without_unit_is_not_found_in_the_output_of_another_run_with_a_prefix() -> None:
    (metric,) = found("throughput: 900\n")
    with pytest.raises(MetricError):
        value_of(metric.spec, ["throughput: 1.2 k\n"], "the output")


@pytest.mark.parametrize(
    "text",
    [
        "started 2026-01-01 12:30:01 on host:8080 http://host:8080/ pid: 12\n",
        "Namespace(lr=0.1, width=3, name='x', dropout=0.5)\n",
        "version: 2.3.0\nversion: 2.3\n",
        "step: 5, epoch=1, seed: 3, batch_size=32, num_workers=4, learning_rate: 0.1\n",
        " 50%|#####     | 50/100 [00:20<00:10, ?it/s]\n",
        "loss: nan\n",
        "{'loss': nan}\n",
        '{"a": ["x", 1], "b": null, "c": "5"}\n',
        "elapsed: 0:03:21, address: 10.0.0.1, ratio: 1/3, speed: 3x\n",
        "it is the final value of all of these: 5.0\n",
        "größe: 5.0\ngröße: 5.0 s\n",
        "rate: 1.2 k, speed = 1.2k, width: 12,5 img/s\n",
        "training: 100%|####| 10/10\n",
        "get http://x/?page=1&loss=0.5 and https://host/a/loss=2.5\n",
        "\x01e=7 x: 0.5\n",
        ':::MLLOG {"key": "eval_accuracy", "val\n',
        "",
    ],
)
def test_other_numbers_are_not_metrics(text: str) -> None:
    assert found(text) == ()


def test_rates_come_first_then_quality_then_units_then_numbers_that_repeat() -> None:
    text = "other=1\nwidth=2\nwidth=3\ntook: 5.0 s\nval loss: 0.5\nspeed: 5.0 it/s\n"
    assert [each.name for each in found(text)] == ["speed", "val_loss", "took", "width", "other"]


def test_the_most_informative_are_kept() -> None:
    text = "".join(f"quantity{place}q=1.5\n" for place in range(100)) + "speed: 5.0 it/s\n"
    metrics = found(text)
    assert len(metrics) == MOST
    assert metrics[0].name == "speed"


@pytest.mark.parametrize(
    ("text", "last"),
    [
        ('loss=0.1\nloss: 0.9\n{"loss": 0.5}\nloss=0.2\n', 0.5),
        ("loss=0.1\nloss: 0.9\nloss=0.2\n", 0.2),
        ("loss: 0.9\nloss=0.1\nloss=0.2\n", 0.9),
        ('{"speed": 1.5}\nspeed: 2.5 it/s\n', 2.5),
        ('{"width": 1.5}\nwidth: 2.5 MB\n', 2.5),
        ('{"width": 1.5}\nwidth: 2.5\nwidth: 3.5\n', 3.5),
    ],
)
def test_one_form_of_a_name_counts(text: str, last: float) -> None:
    (metric,) = found(text)
    assert metric.last == last


def test_standard_error_is_searched_for_pairs_but_not_for_json() -> None:
    assert [each.name for each in found_metrics(Printed("", 'loss=0.5\n{"rate": 5}\n'))] == ["loss"]


def test_all_ranks_are_searched_and_the_last_number_is_that_of_the_definition() -> None:
    (metric,) = found_metrics(Printed("loss=0.5\n", "loss=0.25\n"), Printed("loss=0.125\n"))
    assert (metric.last, metric.count) == (0.125, 3)


def test_no_metric_has_a_name_that_ranks_by_another_quantity() -> None:
    known = {column for column, quantity in QUANTITIES.items() if quantity not in ACCURACIES}
    assert set(map(short_column, known)) <= metric_names.RESERVED, "a command has no accuracy but its own"
    (metric,) = found("time: 5.0 s\n")
    assert (metric.name, metric.better) == ("printed_time", "lower")


def test_long_outputs_are_searched_at_both_ends() -> None:
    text = "first loss: 0.5\n" + "x\n" * 2**20 + "last loss: 0.25\n"
    assert [each.name for each in found(text)] == ["first_loss", "last_loss"]


MIB = 2**20
HOSTILE = {
    "pairs": "a=1 b=2 c: 3\n" * MIB,
    "names": "".join(f"n{place}q=1.5\n" for place in range(MIB)),
    "JSON": '{"rate": 2.5, "x": {"y": 1}}\n' * (MIB // 2),
    "dictionaries": "{'loss': 0.5}\n" * MIB,
    "braces": "{'a" * 5 * MIB,
    "digits": "1" * 16 * MIB,
    "signs": "=1" * 8 * MIB,
    "letters": "x" * 16 * MIB,
    "words": "ab " * 5 * MIB,
    "blanks": " " * 16 * MIB,
    "commas": "=1,000" * 3 * MIB,
    "rates": "5it/s " * 3 * MIB,
    "box characters": "│ a " * 4 * MIB,
    "calls": "f(a=1" * 3 * MIB,
    "DataLoader 0": "DataLoader 0\n" + " a" * 8 * MIB,
    "MLPerf": ':::MLLOG {"key": "a", "value": 1}' * (MIB // 2),
    "random": "".join(random.Random(1).choices("ab01.,:= {}'\"\n/%│", k=MIB)) * 16,
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_the_time_for_16_mib_is_bounded(kind: str) -> None:
    before_s = time.process_time()
    found_metrics(Printed(HOSTILE[kind], HOSTILE[kind]))
    assert time.process_time() - before_s < 8
