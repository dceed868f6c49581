"""Tables of frameworks, models, operators, recipes and devices."""

from __future__ import annotations

from hpcbench.config.devices.load import load_devices
from hpcbench.config.recipe import load_recipe
from hpcbench.config.yaml_document import load_yaml
from hpcbench.core.frameworks import FRAMEWORKS, runtime_settings
from hpcbench.models.catalog import MODELS
from hpcbench.models.operators.catalog import OPERATORS, description_of, phases_of, sizes_of
from hpcbench.predict.devices.described import described
from hpcbench.util.package_data import shipped
from reference_parts.tables import code, codes, markdown_table


def frameworks() -> list[str]:
    """Return the table of the frameworks."""
    rows = []
    for name, framework in FRAMEWORKS.items():
        several = (framework.strategies, framework.executions, runtime_settings(name))
        rows.append((code(name), framework.description, *map(codes, several)))
    return markdown_table(("`framework`", "description", "`strategy`", "`execution`, default first", "settings"), rows)


def models() -> list[str]:
    """Return the table of the models."""
    rows = [
        (
            code(name),
            network.description,
            codes(f"{key}: {str(value).lower()}" for key, value in network.options.items()),
        )
        for name, network in MODELS.items()
    ]
    return markdown_table(("`model`", "description", "`model_options` and their defaults"), rows)


def operators() -> list[str]:
    """Return the table of the operators."""
    rows = [
        (
            code(name),
            description_of(name),
            codes(phases_of(name)),
            codes(f"{key}: {str(value).lower()}" for key, value in sizes_of(name).items()),
        )
        for name in OPERATORS
    ]
    return markdown_table(("`operator`", "description", "`phase`", "`sizes` and their defaults"), rows)


def recipes() -> list[str]:
    """Return the table of the shipped recipes."""
    rows = []
    for file in sorted((shipped("configs") / "environments").glob("*.yaml")):
        recipe = load_recipe(load_yaml(file))
        installed = [package for step in recipe.steps for package in step.install]
        rows.append((code(file.stem), recipe.description, code(recipe.python), codes(installed)))
    return markdown_table(("recipe", "description", "Python", "packages"), rows)


def devices() -> list[str]:
    """Return the table of the shipped devices, with rates in TFLOP/s."""
    table = load_devices()
    rows = []
    for name in sorted(table):
        device, rates = table.descriptions[name], table.descriptions[name].matrix_tflops
        matrix = (rates.tf32 or rates.float32, rates.float16, rates.float8)
        memory, power_w = (device.memory_gb, device.memory_gb_per_s), described(name, device).board_power_w
        numbers = (device.fp32_tflops, *matrix, *memory, power_w)
        shown = ("" if number is None else f"{number:.10g}" for number in numbers)
        rows.append((code(name), device.architecture, device.year, *shown))
    rates_of = ("float32", "TF32, float32 matrix", "float16", "float8")
    heads = ("device", "architecture", "year", *rates_of, "memory (GB)", "GB/s", "power (W)")
    return markdown_table(heads, rows)
