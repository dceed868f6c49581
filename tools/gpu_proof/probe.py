"""A program that reads NVML for one GPU directly, without hpcbench.

`probe.py once` prints one JSON object: each function that hpcbench calls, with its value or its error, and its cost.
`probe.py FILE` appends a JSON line with readings every PERIOD_S until it is terminated.
"""

import json
import os
import sys
import time
from pathlib import Path

import pynvml

PERIOD_S = 0.05
CALLS = 10
FIELDS = {"power_instant_mw": 186, "energy_mj": 83}  # of nvml.h


def handle():
    """Return the first GPU of CUDA_VISIBLE_DEVICES."""
    pynvml.nvmlInit()
    first = os.environ.get("CUDA_VISIBLE_DEVICES", "0").split(",")[0]
    if first.isdigit():
        return pynvml.nvmlDeviceGetHandleByIndex(int(first))
    return pynvml.nvmlDeviceGetHandleByUUID(first)


def functions():
    """Return the functions that hpcbench calls, by name."""
    one = {
        name: getattr(pynvml, name, None)
        for name in (
            "nvmlDeviceGetName",
            "nvmlDeviceGetUUID",
            "nvmlDeviceGetCudaComputeCapability",
            "nvmlDeviceGetEnforcedPowerLimit",
            "nvmlDeviceGetMigMode",
            "nvmlDeviceGetPersistenceMode",
            "nvmlDeviceGetPowerUsage",
            "nvmlDeviceGetTotalEnergyConsumption",
            "nvmlDeviceGetCurrentClocksThrottleReasons",
            "nvmlDeviceGetCurrentClocksEventReasons",
        )
    }
    return {
        **one,
        "driver": lambda gpu: pynvml.nvmlSystemGetDriverVersion(),
        "temperature_c": lambda gpu: pynvml.nvmlDeviceGetTemperature(gpu, pynvml.NVML_TEMPERATURE_GPU),
        "clock_sm_mhz": lambda gpu: pynvml.nvmlDeviceGetClockInfo(gpu, pynvml.NVML_CLOCK_SM),
        "clock_memory_mhz": lambda gpu: pynvml.nvmlDeviceGetClockInfo(gpu, pynvml.NVML_CLOCK_MEM),
        "utilisation_percent": lambda gpu: pynvml.nvmlDeviceGetUtilizationRates(gpu).gpu,
        "memory_used_bytes": lambda gpu: pynvml.nvmlDeviceGetMemoryInfo(gpu).used,
        "processes": processes,
        "fields": fields,
    }


def processes(gpu):
    """Return the ID and the memory of each process that computes on the GPU."""
    return [[each.pid, each.usedGpuMemory] for each in pynvml.nvmlDeviceGetComputeRunningProcesses(gpu)]


def fields(gpu):
    """Return the return code, type and value of instantaneous power and of energy."""
    found = pynvml.nvmlDeviceGetFieldValues(gpu, list(FIELDS.values()))
    values = [each.value.uiVal if each.valueType == 1 else each.value.ullVal for each in found]
    return {
        name: [each.nvmlReturn, each.valueType, value] for name, each, value in zip(FIELDS, found, values, strict=True)
    }


def reasons(gpu):
    """Return the throttle reasons, by the new or the old name of the function."""
    try:
        return pynvml.nvmlDeviceGetCurrentClocksEventReasons(gpu)
    except pynvml.NVMLError:
        return pynvml.nvmlDeviceGetCurrentClocksThrottleReasons(gpu)


def tried(function, gpu):
    """Return the value of a function, or its error as an object."""
    try:
        value = function(gpu)
        return value.decode() if isinstance(value, bytes) else value
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}


def cost_ms(function, gpu):
    """Return wall time and CPU time of one call in ms, the means of CALLS calls."""
    start_s, start_cpu_s = time.perf_counter(), time.thread_time()
    for _ in range(CALLS):
        tried(function, gpu)
    elapsed_s, cpu_s = time.perf_counter() - start_s, time.thread_time() - start_cpu_s
    return [round(1e3 * value / CALLS, 3) for value in (elapsed_s, cpu_s)]


def reading(gpu):
    """Return time (monotonic), energy in mJ, power in mW, throttle reasons, SM clock in MHz, and processes."""
    start_s = time.monotonic()
    power = tried(fields, gpu)
    mw = power.get("power_instant_mw", [1])
    energy = tried(pynvml.nvmlDeviceGetTotalEnergyConsumption, gpu)
    taken_s = (start_s + time.monotonic()) / 2
    return {
        "time_s": taken_s,
        "energy_mj": energy,
        "power_mw": mw[2] if mw[0] == 0 else tried(pynvml.nvmlDeviceGetPowerUsage, gpu),
        "reasons": tried(reasons, gpu),
        "clock_sm_mhz": tried(functions()["clock_sm_mhz"], gpu),
        "pids": tried(processes, gpu),
    }


def main(target):
    """Print the results of NVML once, or append readings to a file until this process ends."""
    gpu = handle()
    if target == "once":
        known = {name: function for name, function in functions().items() if function}
        found = {name: tried(function, gpu) for name, function in known.items()}
        found["cost_ms"] = {name: cost_ms(function, gpu) for name, function in known.items()}
        found["visible_gpus"] = pynvml.nvmlDeviceGetCount()
        found["pynvml"] = getattr(pynvml, "__version__", "")
        print(json.dumps(found))
        return
    with Path(target).open("a", buffering=1) as file:
        while True:
            file.write(json.dumps(reading(gpu)) + "\n")
            time.sleep(PERIOD_S)


if __name__ == "__main__":
    main(sys.argv[1])
