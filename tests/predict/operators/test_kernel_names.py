"""Names of kernels."""

import numpy as np
import pandas as pd

from hpcbench.predict.operators.kernel_names import kernels


def test_names_of_products() -> None:
    names = [
        "volta_sgemm_128x64_nn",
        "ampere_sgemm_64x32_sliced1x4_tn",
        "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize32x256x8_stage3",
        "void implicit_convolve_sgemm<float, float, 1024, 5, 5, 3, 3, 3>",
        "vllm_default",
        "",
    ]
    found = kernels(pd.Series(names))
    unknown = np.nan
    np.testing.assert_equal(found.columns, [128, 64, 32, unknown, unknown, unknown])
    np.testing.assert_equal(found.rows, [64, 32, 256, unknown, unknown, unknown])
    np.testing.assert_equal(found.is_sliced, [0, 1, 0, unknown, unknown, unknown])


def test_no_names_have_no_kernels() -> None:
    assert kernels(pd.Series([], dtype="object")).rows.shape == (0,)
