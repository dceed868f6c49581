"""Mistakes that Slurm and PyTorch users often make in a YAML file, and their corrections."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from typing import Any

# Other names of parameters, of options of the `slurm` section, and of other keys.
_CALLED = {
    **dict.fromkeys(("gres", "gpu", "gpus", "gpus_per_node", "gpus_per_socket"), "gpus_per_task"),
    **dict.fromkeys(("ngpus", "n_gpus", "num_gpus", "tres_per_task"), "gpus_per_task"),
    **dict.fromkeys(
        ("tasks", "ntasks_per_node", "nproc_per_node", "processes", "ranks", "world_size"), "tasks_per_node"
    ),
    **dict.fromkeys(("cpus", "cpu", "ncpus", "cores", "num_cpus", "mincpus"), "cpus_per_task"),
    **dict.fromkeys(("nnodes", "num_nodes", "node_count"), "nodes"),
    **dict.fromkeys(("batch", "bs", "global_batch_size", "train_batch_size"), "batch_size"),
    **dict.fromkeys(("lr", "learning_rate"), "optimizer.learning_rate"),
    **dict.fromkeys(("optim", "optimiser"), "optimizer"),
    **{name: f"optimizer.{name}" for name in ("momentum", "betas", "eps", "weight_decay", "clip_norm", "clip_value")},
    **dict.fromkeys(("max_grad_norm", "gradient_clip_val", "grad_clip"), "optimizer.clip_norm"),
    **dict.fromkeys(
        ("accumulation", "accumulate_grad_batches", "gradient_accumulation", "gradient_accumulation_steps"),
        "optimizer.gradient_accumulation_steps",
    ),
    **dict.fromkeys(("epochs", "num_epochs"), "max_epochs"),
    **dict.fromkeys(("precision", "amp", "data_type", "torch_dtype"), "dtype"),
    **dict.fromkeys(("network", "net", "arch", "architecture"), "model"),
    **dict.fromkeys(("omp_num_threads", "num_threads", "nthreads"), "intra_op_threads"),
    **dict.fromkeys(("cmd", "script", "program"), "command"),
    **dict.fromkeys(("compile", "torch_compile", "jit"), "execution"),
    **dict.fromkeys(("dataset", "data_dir"), "data"),
    **dict.fromkeys(("walltime", "wall_time", "time_limit", "timelimit", "timeout"), "time"),
    **dict.fromkeys(("memory", "ram", "mem_gb", "mem_per_node"), "mem"),
    **dict.fromkeys(("queue", "partitions"), "partition"),
    **dict.fromkeys(("project", "charge"), "account"),
    **dict.fromkeys(("params", "args", "constants", "settings"), "parameters"),
    **dict.fromkeys(("grid", "axes", "sweep", "search_space", "hyperparameters"), "matrix"),
    **dict.fromkeys(("tags", "user_params", "own_parameters"), "user_parameters"),
    **dict.fromkeys(("sbatch", "job", "resources"), "slurm"),
    **dict.fromkeys(("reps", "repeat", "repeats", "trials", "runs"), "repetitions"),
    **dict.fromkeys(("warmup", "warmup_s"), "max_warmup_s"),
    **dict.fromkeys(("venv", "virtualenv", "conda", "interpreter"), "python"),
}
_ENVIRONMENT = "define an environment in the site file, and name it with the parameter environment"
_INSTEAD = {
    **dict.fromkeys(("ntasks", "world_size"), "use the parameters nodes and tasks_per_node: it is their product"),
    "job_name": "name the sweep: hpcbench sweep --name NAME",
    **dict.fromkeys(("output", "error"), "hpcbench sets the log file; to read it: hpcbench logs SWEEP CASE"),
    "array": "hpcbench submits job arrays; to limit the running jobs, write `max_running: N` under `slurm:`",
    **dict.fromkeys(("module", "modules", "container", "image", "env", "environments"), _ENVIRONMENT),
}
_SBATCH_OPTIONS = {
    *("acctg_freq", "begin", "comment", "core_spec", "cores_per_socket", "cpu_freq", "dependency", "distribution"),
    *("export", "gpu_bind", "gpu_freq", "licenses", "mail_type", "mail_user", "mem_bind", "nice", "priority"),
    *("profile", "sockets_per_node", "switches", "threads_per_core", "tmp", "wckey"),
}
_VALUES = {
    "device": dict.fromkeys(("cuda", "cuda:0", "nvidia", "rocm", "hip", "gpus"), "gpu"),
    "dtype": {
        **dict.fromkeys(("bf16", "bfloat", "torch.bfloat16"), "bfloat16"),
        **dict.fromkeys(("fp16", "half", "f16", "torch.float16", "torch.half"), "float16"),
        **dict.fromkeys(("fp32", "float", "single", "f32", "tf32", "torch.float32"), "float32"),
    },
    "framework": {
        "torch": "pytorch",
        "tf": "tensorflow",
        "onnx": "onnxruntime",
        "ort": "onnxruntime",
        "script": "command",
        "bash": "command",
    },
    "model": {
        **dict.fromkeys(("bert", "vit"), "transformer"),
        **dict.fromkeys(("gpt2", "gpt-2", "llama"), "gpt"),
        "rnn": "lstm",
    },
    "task": {"train": "training", "infer": "inference", "eval": "inference", "test": "inference"},
    "strategy": {
        **dict.fromkeys(("distributed", "dist", "distributed_data_parallel", "torchrun"), "ddp"),
        **dict.fromkeys(("zero", "zero2", "zero3"), "deepspeed"),
        **dict.fromkeys(("none", "no", "null"), "single"),
    },
    "execution": {**dict.fromkeys(("compile", "jit", "inductor", "xla"), "compiled"), "script": "graph"},
    "scheduler": {"sbatch": "slurm", "none": "local", "laptop": "local"},
}
_WORDS = {"yes": "true", "on": "true", "y": "true", "no": "false", "off": "false", "n": "false"}  # of YAML 1.1
_SCALAR = ("string_type", "int_type", "float_type", "bool_type", "literal_error")
_FOR_NUMBER = {
    "measure": "write `measure: {repetitions: %s}`",
    "retry": "write `retry: {max: %s}`",
    "threads": "use the parameter intra_op_threads: %s",
}
_ENDS = ("from", "start", "begin", "min", "first", "to", "stop", "end", "max", "last")
_DOTS = re.compile(r"(-?\d+)\s*\.{2,3}\s*(-?\d+)(?::(\*?\d+))?")
_SPAN = re.compile(r"(\d+)\s*[-:]\s*(\d+)")


def canonical(name: str) -> str:
    """Return the name that hpcbench has for a key: `mem` for `memory`, `cpus_per_task` for `--cpus-per-task`."""
    plain = name.lower().strip("-").replace("-", "_")
    return _CALLED.get(plain, plain)


def hint_for_key(key: str, section: str, known: Collection[str], sections: Mapping[str, Collection[str]]) -> str:
    """Return a hint for an unknown key in a section of a file, or no text if it is not a common mistake.

    `known` are the keys of this section; `sections` are the keys that other sections of the file have, by their names,
    with the names of parameters as `parameters`, or as `experiment` if they belong into another file.
    """
    plain, meant = key.lower().strip("-").replace("-", "_"), canonical(key)
    if meant in known:
        return f"did you mean '{meant}'?"
    if plain in _INSTEAD:
        return _INSTEAD[plain]
    if plain in _SBATCH_OPTIONS and "slurm" in sections:
        return f"write `{plain.replace('_', '-')}: ...` in `options: {{}}` under `slurm:`"
    return next((_in_section(meant, name) for name, keys in sections.items() if name != section and meant in keys), "")


def _in_section(key: str, section: str) -> str:
    if section == "parameters":
        return f"use the parameter {key}, under `parameters:` or `matrix:`"
    if section == "experiment":
        return f"use the parameter {key} of the experiment"
    if section == "model_options":
        return f"write `model_options: {{{key}: ...}}` under `parameters:`"
    return f"write `{key}: ...` under `{section}:`"


def hint_for_value(key: str, value: Any, kind: str, section: str = "", written: Any = None) -> str:
    """Return a hint for a value of a key in a section that has an error of pydantic's type `kind`, or no text.

    `written` is what the file has at the key: a list, with the value in it, if the key is an axis.
    """
    if isinstance(value, list) and kind in _SCALAR:
        if section == "slurm":
            return f"write {','.join(map(str, value))}"
        return f"to measure several values, write `{key}: [...]` under `matrix:`"
    if kind == "list_type":
        return _list_instead_of(key, value, written)
    if isinstance(value, int) and key in _FOR_NUMBER:
        return _FOR_NUMBER[key] % value
    if not isinstance(value, str):
        return ""
    if section == "metrics":
        return f"write `{key}: {{regex: '{value}'}}`"
    if kind.startswith("int") and value.isdecimal():
        return f"remove the quotes: {value}"
    meant = _VALUES.get(key, {}).get(value.lower()) or (_WORDS.get(value.lower()) if kind.startswith("bool") else None)
    return f"did you mean '{meant}'?" if meant else ""


def _list_instead_of(key: str, value: Any, written: Any) -> str:
    if isinstance(written, list) and len(written) > 1 and not any(isinstance(each, list | dict) for each in written):
        return f"to give a list as one value, write [{json.dumps(written)}]"
    if key == "betas":
        return "write [0.9, 0.999]"
    if not isinstance(value, dict):
        return f"write [{value}]"
    if key == "user_parameters":
        return f"write [{', '.join(map(str, value))}], and give the values under `parameters:` or `matrix:`"
    return "begin each element of the list with `- `"


def hint_for_axis(axis: Any) -> str:
    """Return what to write instead of an axis that is neither a list nor a range."""
    if isinstance(axis, dict):
        values, ends = axis.get("values"), [axis[key] for key in _ENDS if key in axis]
        if isinstance(values, list):
            return f"write the list alone: {values}"
        return f"write {{range: {ends if len(ends) == 2 else '[FIRST, LAST]'}}}"
    if isinstance(axis, str) and "," in axis:
        return f"write [{', '.join(axis.replace(',', ' ').split())}]"
    return f"write {range_in(axis, spans=True) or f'[{axis}]'}"


def range_in(text: Any, *, spans: bool = False) -> str:
    """Return text such as `1..4`, or also `1-4`, as a range of YAML; an empty text if it is not one."""
    found = isinstance(text, str) and (_DOTS.fullmatch(text) or (spans and _SPAN.fullmatch(text)))
    if not found:
        return ""
    first, last, *step = (part for part in found.groups() if part)
    return f"{{range: [{first}, {last}]{_step(step)}}}"


def _step(step: list[str]) -> str:
    return f", step: {step[0]}" if step and step[0].isdecimal() else f', step: "{step[0]}"' if step else ""
