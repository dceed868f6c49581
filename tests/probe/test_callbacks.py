"""The callbacks for frameworks with a training loop of their own."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import hpcbench_probe.callbacks
import pytest
from hpcbench_probe import Probe
from hpcbench_probe.callbacks import Steps

from hpcbench.node.results.probe_files import ProbedProcess, read_all

PROBE = Path(__file__).parents[2] / "probe"
LIGHTNING = """
import time
import hpcbench_probe, lightning, torch
from hpcbench_probe.lightning import ProbeCallback

class Module(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(32, 10)

    def training_step(self, batch, index):
        loss = torch.nn.functional.cross_entropy(self.layer(batch[0]), batch[1])
        self.log("train/loss", loss)
        return loss

    def validation_step(self, batch, index):
        self.log("val/loss", torch.nn.functional.cross_entropy(self.layer(batch[0]), batch[1]))

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), 0.1)

data = torch.utils.data.TensorDataset(torch.randn(512, 32), torch.randint(0, 10, (512,)))
trainer = lightning.Trainer(
    max_epochs=3, callbacks=[ProbeCallback(items=16)], logger=False, accelerator="cpu",
    enable_progress_bar=False, log_every_n_steps=8, val_check_interval=0.5,
)
class Slow(lightning.pytorch.callbacks.ModelCheckpoint):
    def on_train_batch_end(self, *arguments):
        if trainer.global_step == 50:
            time.sleep(1)

trainer.callbacks.append(Slow())
trainer.fit(Module(), torch.utils.data.DataLoader(data, 16), torch.utils.data.DataLoader(data, 64))
trainer.validate(Module(), torch.utils.data.DataLoader(data, 64))
assert len(list(hpcbench_probe.probe([]))) == 0
"""
TRAINER = """
import hpcbench_probe, torch
import time
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainerCallback, TrainingArguments
from hpcbench_probe.transformers import ProbeCallback

sizes = dict(hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=64, vocab_size=100)
data = [{"input_ids": torch.randint(0, 100, (16,)), "labels": torch.tensor(item % 2)} for item in range(160)]
arguments = TrainingArguments(
    output_dir="out", num_train_epochs=2, per_device_train_batch_size=8, gradient_accumulation_steps=2,
    logging_steps=4, eval_strategy="steps", eval_steps=5, save_strategy="steps", save_steps=5, report_to=[],
    disable_tqdm=True, use_cpu=True,
)
model = BertForSequenceClassification(BertConfig(**sizes))
class Slow(TrainerCallback):
    def on_save(self, *arguments, **named):
        time.sleep(1)

trainer = Trainer(
    model=model, args=arguments, train_dataset=data, eval_dataset=data[:32], callbacks=[ProbeCallback(), Slow()]
)
trainer.train()
trainer.evaluate()
assert len(list(hpcbench_probe.probe([]))) == 0
"""


@pytest.fixture
def steps(probe: Probe, monkeypatch: pytest.MonkeyPatch) -> Steps:
    monkeypatch.setattr(hpcbench_probe.callbacks, "probe", probe)
    return Steps(8, synchronize=False)


def test_a_step_that_begins_anew_is_not_recorded(steps: Steps, recorded: Callable[[], ProbedProcess]) -> None:
    steps.restart()  # outside a training
    steps.ready()
    steps.end()
    steps.train()
    for _ in range(2):
        steps.restart()
        steps.restart()
        steps.ready()
        steps.end()
    steps.restart()
    steps.stop()
    steps.end()
    found = recorded()
    assert found.items.tolist() == [8, 8]
    assert [step for step, _ in found.phases["data"]] == [0, 1]


def test_only_numbers_that_have_changed_are_logged(steps: Steps, recorded: Callable[[], ProbedProcess]) -> None:
    steps.train()
    steps.restart()
    steps.end()
    for loss in (0.5, 0.5, 0.25):
        steps.log({"loss": loss, "name": "bert", "done": False})
    assert list(recorded().logs) == ["loss"]
    assert list(recorded().logs["loss"]) == [(1, 0.5), (1, 0.25)]


def test_outside_hpcbench_callbacks_do_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HPCBENCH_RUN", raising=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(hpcbench_probe.callbacks, "probe", Probe())
    steps = Steps(8, synchronize=True)
    for method in (steps.train, steps.restart, steps.ready, steps.end, steps.stop):
        method()
    steps.log({"loss": 0.5})
    assert not hpcbench_probe.callbacks.probe.active
    assert list(tmp_path.iterdir()) == []


@pytest.fixture(scope="module")
def python(environment_python: Callable[[str], str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python with PyTorch, Lightning and Transformers, which also sees the packages of the environment `pytorch`."""
    base, folder = environment_python("pytorch"), tmp_path_factory.mktemp("trainers")
    subprocess.run([base, "-m", "venv", folder], check=True, timeout=120)
    found = folder / "bin" / "python"
    where = "import sysconfig; print(sysconfig.get_path('purelib'))"
    packages, own = (
        subprocess.run([each, "-c", where], check=True, capture_output=True, text=True).stdout.strip()
        for each in (base, found)
    )
    (Path(own) / "base.pth").write_text(packages)
    install = [str(found), "-m", "pip", "install", "--quiet", "lightning", "transformers", "accelerate"]
    subprocess.run(install, check=True, timeout=400)
    return found


@pytest.mark.long
@pytest.mark.framework
@pytest.mark.parametrize(
    ("program", "count", "logged"),
    [
        (LIGHTNING, 96, {"train/loss": 12, "val/loss": 6}),
        (TRAINER, 20, {"loss": 5, "eval_loss": 4}),
    ],
)
def test_a_trainer_of_a_framework_records_its_steps(
    python: Path, tmp_path: Path, program: str, count: int, logged: dict[str, int]
) -> None:
    environment = {"HPCBENCH_RUN": str(tmp_path / "run"), "PYTHONPATH": str(PROBE), "HOME": str(tmp_path)}
    done = subprocess.run(
        [python, "-c", program], env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    (process,), _ = read_all(str(tmp_path))
    assert process.items.tolist() == [16] * count
    assert len(list(process.phases["data"])) == count
    pauses = (start - end for start, end in zip(process.starts[1:], process.ends, strict=False))
    assert max(pauses) >= 1, "the slow checkpoint is between two steps"
    assert {name: len(list(process.logs[name])) for name in logged} == logged


@pytest.mark.integration
def test_the_package_needs_no_framework() -> None:
    program = "import sys, hpcbench_probe.callbacks; print({'torch', 'lightning', 'transformers'} & set(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", program], env={"PYTHONPATH": str(PROBE)}, capture_output=True, text=True
    )
    assert done.stdout == "set()\n"
