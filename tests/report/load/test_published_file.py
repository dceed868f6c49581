"""Published times in the format of DeepBench's results; none of these numbers was measured."""

from __future__ import annotations

from pathlib import Path

import pytest

from hpcbench.analysis.cases.published import Times
from hpcbench.errors import UserError
from hpcbench.models.operators.catalog import operator_of
from hpcbench.report.load.published import read_published

HEADER = (
    "device,precision,op,phase,m,n,k,a_trans,b_trans,w,h,c_in,c_out,filter_w,filter_h,pad_w,pad_h,stride_w,stride_h,"
    "hidden,timesteps,floats,ranks,time_ms,source\n"
)
GEMM = "A_1,Float,gemm,forward,8,4,2,N,T,,,,,,,,,,,,,,,0.5,Speech\n"
CONV = "A_1,Float,conv,backward_inputs,,4,,,,7,9,3,16,5,3,2,0,2,1,,,,,1.5,Vision\n"
CELLS = (
    'A_1,"16 bit inputs, 32 bit addition",lstm,backward,,2,,,,,,,,,,,,,,16,3,,,2,\n'
    "B,Float,rnn_vanilla,backward_weights,,2,,,,,,,,,,,,,,16,3,,,3,\nB,Float,gru,forward,,2,,,,,,,,,,,,,,16,3,,,4,\n"
)
ALL_REDUCE = "B,Float,all_reduce,all_reduce,,,,,,,,,,,,,,,,,,100000,2,0.1,MPI\n"


def times_of(rows: str, folder: Path) -> Times:
    file = folder / "times.csv"
    file.write_text(HEADER + rows)
    return read_published(str(file)).times


def test_each_device_and_precision_is_a_column(tmp_path: Path) -> None:
    cell = {"hidden": 16, "batch": 2, "timesteps": 3}
    conv = {"n": 4, "w": 7, "h": 9, "c_in": 3, "c_out": 16, "filter_w": 5, "filter_h": 3, "pad_w": 2, "pad_h": 0}
    assert times_of(GEMM + CONV + CELLS + ALL_REDUCE, tmp_path) == {
        "published_ms_A_1_Float": {
            (operator_of("gemm", {"m": 8, "n": 4, "k": 2, "b_trans": True}), "forward", 1): 0.5,
            (operator_of("conv2d", {**conv, "stride_w": 2, "stride_h": 1}), "backward_inputs", 1): 1.5,
        },
        "published_ms_A_1_16_bit_inputs_32_bit_addition": {(operator_of("lstm_cell", cell), "both", 1): 2.0},
        "published_ms_B_Float": {
            (operator_of("rnn_cell", cell), "backward_weights", 1): 3.0,
            (operator_of("gru_cell", cell), "forward", 1): 4.0,
            (operator_of("all_reduce", {"floats": 100000}), "forward", 2): 0.1,
        },
    }


def test_a_file_has_only_the_columns_of_its_operators(tmp_path: Path) -> None:
    file = tmp_path / "times.csv"
    file.write_text("device,precision,op,phase,m,n,k,a_trans,b_trans,time_ms\nA,Float,gemm,forward,8,4,2,N,T,0.5\n")
    problem = (operator_of("gemm", {"m": 8, "n": 4, "k": 2, "b_trans": True}), "forward", 1)
    assert read_published(str(file)).times == {"published_ms_A_Float": {problem: 0.5}}


def test_several_times_of_a_problem_become_their_median(tmp_path: Path) -> None:
    found = times_of(GEMM + GEMM.replace("0.5", "1") + GEMM.replace("0.5", "9"), tmp_path)
    assert list(found["published_ms_A_1_Float"].values()) == [1.0]


@pytest.mark.parametrize(
    ("text", "what", "line"),
    [
        ("framework,time\npytorch,1\n", "column 'device' not found", 1),
        (HEADER.replace(",k,", ",kk,") + GEMM, "column 'k' not found; op 'gemm' requires it", 1),
        (HEADER.replace(",ranks,", ",tasks,") + ALL_REDUCE, "column 'ranks' not found; op 'all_reduce' requires it", 1),
        ("device,precision,op,phase,time_ms\nA,B,gem,forward,1\n", "unknown op 'gem'; did you mean 'gemm'?", 2),
        (HEADER + GEMM.replace("gemm", "gem"), "unknown op 'gem'; did you mean 'gemm'?", 2),
        (HEADER + GEMM.replace("forward", "forwards"), "unknown phase 'forwards'; did you mean 'forward'?", 2),
        (HEADER + CONV + GEMM.replace(",N,", ",X,"), "the size 'a_trans' of gemm must be true or false, not 'X'", 3),
        (HEADER + GEMM.replace(",8,", ",,"), "the size 'm' of gemm must be an integer", 2),
        (HEADER + ALL_REDUCE.replace(",2,", ",,"), "ranks must be a positive integer, not ", 2),
        (HEADER + GEMM.replace("0.5", "0"), "time_ms must be a positive number, not 0", 2),
        (HEADER + GEMM.replace("0.5", "fast"), "time_ms must be a positive number, not 'fast'", 2),
        (HEADER + "A,B\n", "the row has 2 cells", 2),
        ("", "the file is empty", None),
    ],
)
def test_a_file_of_another_format_is_an_error_with_its_line(
    text: str, what: str, line: int | None, tmp_path: Path
) -> None:
    file = tmp_path / "times.csv"
    file.write_text(text)
    with pytest.raises(UserError) as caught:
        read_published(str(file))
    assert what in caught.value.what
    assert caught.value.where == (f"{file}:{line}" if line else str(file))


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="not found") as caught:
        read_published(str(tmp_path / "none.csv"))
    assert caught.value.where == "--published"
