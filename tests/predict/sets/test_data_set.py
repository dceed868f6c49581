"""Files in the documented formats become tables; bad files are refused; bad rows are left out and counted."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from hpcbench.errors import UserError
from hpcbench.predict.sets.data_set import DataSet, merged, rows_to_predict, rows_to_train_on
from hpcbench.predict.sets.formats import format_of
from hpcbench.predict.sets.row_digest import data_hash
from hpcbench.predict.tables import operators as table
from tests.predict.sets import raw_files


def hash_of(data: DataSet) -> str:
    return data_hash({"operators": data.operators, "networks": data.networks, "lists": data.lists}, data.devices)


def test_a_folder_becomes_tables_in_si_units() -> None:
    data = rows_to_train_on(raw_files.folder())
    assert len(data.operators) == 7
    assert len(data.networks) == 5
    assert len(data.lists) == 4
    assert set(data.files) == {"operators_time.csv", "networks_time_torchvision.csv", "networks_time_transformers.csv"}
    assert data.flaws == ()
    linear, bmm, conv, scalar, add, _, decode = data.operators.to_dict("records")
    assert (linear["kind"], linear["batch"], linear["m"], linear["time_s"]) == (table.GEMM, 1, 16, pytest.approx(1e-4))
    assert (bmm["kind"], bmm["batch"], bmm["m"]) == (table.BATCHED_GEMM, 2, 8)
    assert (conv["m"], conv["n"], conv["k"], conv["batch"]) == (2 * 64, 8, 27, 1)
    assert (scalar["function"], scalar["inputs"], add["inputs"]) == ("add", 1, 2)
    assert (decode["columns"], decode["dtype"], decode["timing"]) == (100, "float8", table.STREAM)
    assert linear["timing"] == table.CALL
    assert list(data.networks["time_s"]) == pytest.approx([3e-3, 9e-3, 11e-3, 5e-3, 15e-3])
    assert list(data.lists["fused_node"]) == ["", "", "one~two", "one~two"]


def test_float32_of_image_networks_is_that_of_the_framework() -> None:
    images = raw_files.torchvision().assign(dtype="float32")
    data = rows_to_train_on({**raw_files.folder(), "networks_time_torchvision.csv": images})
    assert data.networks["dtype"].tolist() == ["tf32"] * 3 + ["float32"] * 2


def test_the_name_of_a_file_decides_what_a_row_is_and_not_its_columns() -> None:
    images = raw_files.torchvision().assign(dataset="imagenet", output_tokens=5.0)
    data = rows_to_train_on({"networks_time_torchvision.csv": images, "networks_energy_llm.csv": raw_files.requests()})
    assert data.networks["unit"].tolist() == ["step"] * len(images) + ["request"] * len(raw_files.requests())


def test_the_longest_beginning_of_a_name_decides_its_format() -> None:
    assert [
        format_of(stem).stem for stem in ("operators_time_x", "networks_time_timm", "networks_operators_bf16_a")
    ] == [
        "operators_time",
        "networks_time",
        "networks_operators_bf16",
    ]  # type: ignore[union-attr]
    assert format_of("operators") is None


def test_targets_may_be_absent_from_rows_to_predict() -> None:
    files = {
        name: rows.drop(columns=["latency_ms", "time_ms"], errors="ignore") for name, rows in raw_files.folder().items()
    }
    data = rows_to_predict(files)
    assert data.operators["time_s"].isna().all()
    assert len(data.networks) == 5
    with pytest.raises(UserError, match=r"no measurements: none of the columns 'latency_ms'"):
        rows_to_train_on(files)


def test_columns_of_text_from_csv_become_numbers() -> None:
    text = {
        name: rows.astype("object").where(rows.notna(), None).map(lambda x: None if x is None else str(x))
        for name, rows in raw_files.folder().items()
    }
    data, same = rows_to_train_on(text), rows_to_train_on(raw_files.folder())
    pd.testing.assert_frame_equal(data.operators, same.operators)
    pd.testing.assert_frame_equal(data.lists, same.lists)


def test_errors_name_the_file_the_column_and_a_similar_column() -> None:
    files = raw_files.folder()
    with pytest.raises(UserError, match="missing column 'flops'") as error:
        rows_to_predict({"operators_time.csv": files["operators_time.csv"].rename(columns={"flops": "flop"})})
    assert error.value.where == "operators_time.csv"
    assert "did you mean 'flop'" in error.value.hint
    with pytest.raises(UserError, match="missing columns 'flops' and 'bytes'"):
        rows_to_predict({"operators_time.csv": files["operators_time.csv"].drop(columns=["flops", "bytes"])})
    with pytest.raises(UserError, match="missing column 'padding'"):
        rows_to_predict({"operators_time.csv": files["operators_time.csv"].drop(columns="padding")})
    wrong = files["operators_time.csv"].astype({"m": "object"})
    wrong.loc[1, "m"] = "8 rows"
    with pytest.raises(UserError, match=r"column 'm' has text in row 1 \(line 3\): '8 rows'"):
        rows_to_predict({"operators_time.csv": wrong})
    with pytest.raises(UserError, match="no rows"):
        rows_to_predict({"operators_time.csv": files["operators_time.csv"].head(0)})
    with pytest.raises(UserError, match=r"row 0 \(line 2\) is not an operator: Linear \[1, 2"):
        rows_to_predict({"networks_operators.csv": files["networks_operators.csv"].assign(shape="[1, 2")})
    huge = f"[1, 2, {10**400}]"
    with pytest.raises(UserError, match="is not an operator: Linear"):
        rows_to_predict({"networks_operators.csv": files["networks_operators.csv"].assign(shape=huge)})
    nested = files["operators_time.csv"].assign(op=[["linear"]] * 7)
    assert (rows_to_predict({"operators_time.csv": nested}).operators["kind"] == table.UNKNOWN).all()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"memory_gb_per_s": 1.5}, "memory_gb_per_s is 1.5, which is not plausible"),
        ({"fp32_gflops": 19.2}, "fp32_gflops is 19.2, which is not plausible"),
        ({"board_power_w": 0}, "board_power_w is 0, which is not plausible"),
        ({"fp32_gflops": 96}, "fp32_gflops: 0.096 TFLOP/s is 0.64 FLOPs per clock for each of 100 units"),
        ({"matrix_fp16_gflops": 600}, "matrix_fp16_gflops: 0.6 TFLOP/s is 0.0312 times fp32_tflops"),
        ({"memory_gb_per_s": 12}, "memory_gb_per_s: 12 GB/s is one byte for 1600 FLOPs"),
        ({"l2_mb": None}, "l2_mb is empty"),
        ({"process_nm": 0}, "process_nm is 0, which is not plausible"),
        ({"device": None}, "column 'device' is empty"),
        ({"device": "GPU\nA"}, r"column 'device' has '\|' or a line break in row 0 \(line 2\): 'GPU\\nA'"),
        ({"device": "GPU|A"}, r"column 'device' has '\|' or a line break"),
        ({"device": "GPU B"}, "'GPU B' is the name of two different devices"),
        ({"aliases": "x; GPU B"}, "'GPU B' is the name of two different devices"),
    ],
)
def test_a_device_with_an_implausible_value_is_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(UserError, match=message):
        rows_to_predict({"devices.csv": raw_files.devices(**changes)})


def test_devices_are_known_by_aliases_and_rows_get_the_primary_name() -> None:
    files = raw_files.folder()
    files["operators_time.csv"]["device"] = ["A", "GPU-A", "GPU A", "X", "GPU B", "GPU B", "GPU B"]
    data = rows_to_predict(files)
    assert list(data.operators["device"]) == ["GPU A"] * 3 + ["X"] + ["GPU B"] * 3
    assert data.devices["Intel Core i1"].kind == "cpu"
    assert data.devices["A"].flops_per_s("bfloat16") == 3e14
    assert data.devices["GPU B"].flops_per_s("float16") == 1.8e13


def test_rows_with_interference_or_without_a_valid_time_are_left_out_and_counted() -> None:
    files = raw_files.folder()
    operators = files["operators_time.csv"].assign(interference=["clean", "unmonitored", 0.0, True, False, "no", None])
    operators.loc[4, "latency_ms"] = 0.0
    operators.loc[5, "latency_ms"] = np.nan
    operators.loc[6, "latency_ms"] = -1.0
    data = rows_to_train_on({**files, "operators_time.csv": operators})
    assert list(data.operators["row"]) == [0, 1, 2]
    assert data.flaws == (
        "operators_time.csv: 1 row left out (interference)",
        "operators_time.csv: 1 row left out (without measurement)",
        "operators_time.csv: 2 rows left out (time zero, negative or infinite)",
    )
    assert len(rows_to_predict({**files, "operators_time.csv": operators}).operators) == 7


def test_rows_with_invalid_sizes_are_left_out_and_counted() -> None:
    files = raw_files.folder()
    operators = files["operators_time.csv"].astype({"flops": "float64", "bytes": "float64", "b": "float64"})
    operators.loc[0, "flops"] = np.inf
    operators.loc[1, "flops"] = -1.0
    operators.loc[2, "bytes"] = np.inf
    operators.loc[3, "b"] = -10.0
    operators.loc[4, "flops"] = 0.0  # a copy has no FLOPs
    operators.loc[5, ["flops", "latency_ms"]] = [np.inf, 0.0]  # counted once
    networks = files["networks_time_torchvision.csv"].assign(batch_size=-12)
    changed = {**files, "operators_time.csv": operators, "networks_time_torchvision.csv": networks}
    data = rows_to_train_on(changed)
    assert list(data.operators["row"]) == [4, 6]
    assert data.networks.query("file == 'networks_time_torchvision.csv'").empty
    what = "left out (FLOPs, bytes or a size negative or infinite)"
    assert data.flaws == (
        "operators_time.csv: 1 row left out (time zero, negative or infinite)",
        f"operators_time.csv: 4 rows {what}",
        f"networks_time_torchvision.csv: {len(networks)} rows {what}",
    )
    assert len(rows_to_predict(changed).operators) == 7


def test_rows_that_contradict_each_other_are_reported() -> None:
    files = raw_files.folder()
    rows = files["operators_time.csv"]
    again = rows.assign(latency_ms=rows["latency_ms"] * [1.9, 2.1, 1, 1, 1, 1, 1])
    data = rows_to_train_on({**files, "operators_time_2.csv": again})
    assert len(data.operators) == 14
    (flaw,) = data.flaws
    expected = "GPU A: 2 rows contradict rows of the same workload: times differ by more than a factor of 2"
    assert flaw.startswith(expected)
    assert "row 1 (line 3) of operators_time.csv" in flaw


def test_products_with_flops_or_bytes_of_other_sizes_are_reported_and_kept() -> None:
    files = raw_files.folder()
    rows = files["operators_time.csv"]
    linear, bmm, conv = ((rows["op"] == op).to_numpy() for op in ("linear", "bmm", "conv2d"))
    wrong = rows.assign(
        flops=rows["flops"].where(~(linear | conv), rows["flops"] // 2), bytes=rows["bytes"].where(~bmm, 896)
    )
    data = rows_to_train_on({**files, "operators_time.csv": wrong})
    assert len(data.operators) == 7
    assert data.flaws == (
        "operators_time.csv: 2 rows with 'flops' that contradict the sizes, for example row 0 (line 2): 1024, not 2048",
        "operators_time.csv: 1 row with 'bytes' that contradict the sizes, for example row 1 (line 3): 896, not 1792",
    )


def test_columns_that_resemble_an_absent_target_are_reported() -> None:
    files = raw_files.folder()
    rows = files["operators_time.csv"].rename(columns={"latency_ms": "latency"})
    assert rows_to_predict({"operators_time.csv": rows}).flaws == (
        "operators_time.csv: column 'latency' is not read: did you mean 'latency_ms'?",
    )
    power = files["operators_time.csv"].assign(power=100.0, power_limit_w=200.0)
    flaw = "operators_power.csv: column 'power' is not read: did you mean 'power_w'?"
    assert rows_to_train_on({**files, "operators_power.csv": power}).flaws == (flaw,)
    assert rows_to_predict({"operators_time.csv": rows.drop(columns="latency")}).flaws == ()


@pytest.mark.parametrize(
    ("file", "column", "written", "words"),
    [
        ("operators_time.csv", "latency_ms", "latency_us", "it is in microseconds; write 'latency_ms' in milliseconds"),
        ("operators_time.csv", "latency_ms", "Latency_s", "it is in seconds; write 'latency_ms' in milliseconds"),
        ("operators_power.csv", "power_w", "power_mw", "it is in milliwatts; write 'power_w' in watts"),
        ("operators_power.csv", "energy_mj", "energy_j", "it is in joules; write 'energy_mj' in millijoules"),
        ("operators_power.csv", "energy_mj", "energy_kwh", "it is in kilowatt-hours; write 'energy_mj' in millijoules"),
        ("operators_time.csv", "latency_ms", "latency_m", "did you mean 'latency_ms'?"),
    ],
)
def test_a_target_in_another_unit_has_a_hint_to_convert_it(file: str, column: str, written: str, words: str) -> None:
    rows = raw_files.folder()["operators_time.csv"]
    if file == "operators_power.csv":
        rows = rows.assign(power_w=100.0, energy_mj=1.0)
    flaw = f"{file}: column '{written}' is not read: {words}"
    assert rows_to_predict({file: rows.rename(columns={column: written})}).flaws == (flaw,)


def test_a_file_whose_only_target_has_another_unit_is_refused_with_the_unit() -> None:
    rows = raw_files.folder()["operators_time.csv"].rename(columns={"latency_ms": "latency_us"})
    with pytest.raises(UserError, match="latency_ms: 'latency_us' is in microseconds; write 'latency_ms' in milli"):
        rows_to_train_on({"operators_time.csv": rows})


def test_rows_that_differ_in_the_type_of_the_cache_do_not_contradict_each_other() -> None:
    files = raw_files.folder()
    attention = files["operators_time.csv"].iloc[[6]].assign(kv_dtype="fp8")
    slower = attention.assign(latency_ms=9 * attention["latency_ms"])
    requests = raw_files.requests().assign(kv_dtype="auto")
    larger = requests.assign(time_s=9 * requests["time_s"])

    def flaws(operators: str, networks: str) -> list[str]:
        both = pd.concat([attention, slower.assign(kv_dtype=operators)], ignore_index=True)
        served = pd.concat([requests, larger.assign(kv_dtype=networks)], ignore_index=True)
        tables = {"operators_time.csv": both, "networks_energy_llm.csv": served}
        return [flaw.partition(" contradict")[0] for flaw in rows_to_train_on({**files, **tables}).flaws]

    assert flaws("bf16", "fp8") == []
    assert flaws("", "bf16") == ["GPU A: 2 rows", "GPU A: 4 rows"], "the usual types, with and without their names"


def test_rows_of_several_devices_are_left_out_and_counted() -> None:
    requests = raw_files.requests().assign(devices=[1, 4])
    files = {**raw_files.folder(), "networks_energy_llm.csv": requests}
    data = rows_to_train_on(files)
    assert data.networks.query("file == 'networks_energy_llm.csv'")["row"].tolist() == [0]
    assert data.flaws == ("networks_energy_llm.csv: 1 row left out (several devices)",)
    assert rows_to_predict(files).networks.query("file == 'networks_energy_llm.csv'")["devices"].tolist() == [1, 4]


def test_the_hash_depends_on_values_and_not_on_order_or_files() -> None:
    files = raw_files.folder()
    rows = files["operators_time.csv"]
    one = hash_of(rows_to_train_on(files))
    other = {
        **files,
        "operators_time.csv": rows.iloc[:3],
        "operators_time_b.csv": rows.iloc[:2:-1].reset_index(drop=True),
    }
    assert len(one) == 64
    assert hash_of(rows_to_train_on(other)) == one
    assert (
        hash_of(rows_to_train_on({**files, "operators_time.csv": rows.assign(latency_ms=rows["latency_ms"] * 1.001)}))
        != one
    )
    assert hash_of(rows_to_train_on({**files, "devices.csv": raw_files.devices(units=101)})) != one
    twice = {**files, "operators_time_b.csv": rows.iloc[:1]}
    assert hash_of(rows_to_train_on(twice)) != one


def test_the_last_list_and_the_last_device_of_merged_data_sets_count() -> None:
    files = raw_files.folder()
    train = rows_to_train_on(files)
    other = raw_files.neusight_list().head(1)
    test = rows_to_predict({"devices.csv": raw_files.devices(units=90), "networks_operators.csv": other})
    both = merged(train, test)
    assert len(both.lists) == 1
    assert both.devices["GPU A"].units == 90
    assert len(both.operators) == 7
    kept = both.where(np.arange(7) < 2, both.networks["device"].to_numpy() == "GPU B")
    assert (len(kept.operators), len(kept.networks), len(kept.lists)) == (2, 1, 1)
