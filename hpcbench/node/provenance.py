"""What a record says about where it was made. Environment variables come in by an allow-list, secrets never."""

import re
from typing import Any, Dict, Mapping

SLURM_VARIABLES = (
    "SLURM_JOB_ID",
    "SLURM_ARRAY_JOB_ID",
    "SLURM_ARRAY_TASK_ID",
    "SLURM_JOB_NAME",
    "SLURM_JOB_PARTITION",
    "SLURM_JOB_ACCOUNT",
    "SLURM_JOB_QOS",
    "SLURM_JOB_NODELIST",
    "SLURM_JOB_NUM_NODES",
    "SLURM_CLUSTER_NAME",
    "SLURM_RESTART_COUNT",
)
# Settings that change how fast a framework runs.
_ALLOWED = re.compile(
    r"(OMP|KMP|GOMP|MKL|OPENBLAS|BLIS|VECLIB|NUMEXPR|NCCL|GLOO|CUDA|CUBLAS|CUDNN|ROCR|HIP|TORCH|PYTORCH|TF_(?:NUM|XLA|GPU|FORCE|ENABLE)|XLA|"
    r"NVIDIA|KERAS|JAX|MXNET|HOROVOD|ONEDNN|DNNL|MALLOC|PYTHONHASHSEED|LD_PRELOAD|LD_LIBRARY_PATH|CUDA_VISIBLE_DEVICES|"
    r"LOADEDMODULES)(_[A-Z0-9_]+)?\Z"
)
_SECRET = re.compile(r"TOKEN|KEY|SECRET|PASS|CREDENTIAL|AUTH(?!OR)|JWT|_PWD\Z|_PAT\Z", re.IGNORECASE)
_SHORTEST_SECRET = 6  # shorter values would blot out ordinary words


def slurm_facts(environment: Mapping[str, str]) -> Dict[str, str]:
    """`SLURM_JOB_ID` as `job_id`, and so on, as far as they are set."""
    return {name[len("SLURM_") :].lower(): environment[name] for name in SLURM_VARIABLES if name in environment}


def allowed_variables(environment: Mapping[str, str]) -> Dict[str, str]:
    """The variables that may stand in a record."""
    return {
        name: value for name, value in sorted(environment.items()) if _ALLOWED.match(name) and not _SECRET.search(name)
    }


def redacted(value: Any, environment: Mapping[str, str]) -> Any:
    """`value` with the content of every variable that looks like a secret blotted out, wherever it appears."""
    secret = [content for name, content in environment.items() if _SECRET.search(name)]
    lines = {line for content in secret for line in content.splitlines() if len(line) >= _SHORTEST_SECRET}
    secrets = sorted(lines, key=len, reverse=True)  # one may begin with another
    return _blotted(value, secrets) if secrets else value


def _blotted(value: Any, secrets: Any) -> Any:
    if isinstance(value, str):
        for secret in secrets:
            value = value.replace(secret, "[redacted]")
        return value
    if isinstance(value, dict):
        return {key: _blotted(item, secrets) for key, item in value.items()}
    if isinstance(value, list):
        if value and isinstance(value[0], float):  # samples
            return value
        return [_blotted(item, secrets) for item in value]
    return value
