"""An operator for hpcbench in C++: the sums of `width` neighbours in each row.

    hpcbench sweep own-operators --local

PyTorch builds the extension when hpcbench imports this file, before the measurement. The node needs a C++ compiler, and
the environment needs ninja. For longer sources, use torch.utils.cpp_extension.load, and name its files in SOURCES.
"""

import numpy
from torch.utils.cpp_extension import load_inline

SOURCE = """
#include <ATen/Parallel.h>
#include <torch/extension.h>

// Returns the sums of `width` neighbours (rows, columns - width + 1), for float and double.
torch::Tensor moving_sum(const torch::Tensor& x, int64_t width) {
  TORCH_CHECK(x.dim() == 2 && x.is_contiguous(), "x must be a contiguous matrix");
  const int64_t columns = x.size(1), count = columns - width + 1;
  auto y = torch::empty({x.size(0), count}, x.options());
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "moving_sum", [&] {
    const scalar_t* from = x.data_ptr<scalar_t>();
    scalar_t* to = y.data_ptr<scalar_t>();
    at::parallel_for(0, x.size(0), 16, [&](int64_t first, int64_t last) {
      for (int64_t row = first; row < last; ++row)
        for (int64_t column = 0; column < count; ++column) {
          scalar_t sum = 0;
          for (int64_t k = 0; k < width; ++k) sum += from[row * columns + column + k];
          to[row * count + column] = sum;
        }
    });
  });
  return y;
}

// Returns the gradient of x (rows, columns) for that of the sums.
torch::Tensor moving_sum_backward(const torch::Tensor& cotangent, int64_t width) {
  auto padded = torch::constant_pad_nd(cotangent, {width - 1, width - 1}).contiguous();
  return moving_sum(padded, width);
}
"""

extension = load_inline("moving_sum", SOURCE, functions=["moving_sum", "moving_sum_backward"], extra_cflags=["-O3"])


def inputs(random, rows=256, columns=1024, width=8):
    """Return the arrays. The other arguments are the sizes, which the other functions receive if they name them."""
    return {"x": random.standard_normal((rows, columns))}


def forward(x, width):
    """Return the result."""
    return extension.moving_sum(x, width)


def backward(cotangent, width):
    """Return the gradients by name. Without this function, PyTorch's autograd computes them."""
    return {"x": extension.moving_sum_backward(cotangent, width)}


def reference(x, width):
    """Return the result by NumPy, in float64."""
    return numpy.lib.stride_tricks.sliding_window_view(x, width, 1).sum(-1)


def reference_backward(cotangent, width):
    """Return the gradients by NumPy, in float64. Without this function, only central differences check them."""
    padded = numpy.pad(cotangent, ((0, 0), (width - 1, width - 1)))
    return {"x": numpy.lib.stride_tricks.sliding_window_view(padded, width, 1).sum(-1)}


def terms(width):
    """Return the length of sums, for the bounds of rounding errors."""
    return width


def flops(rows, columns, width, phase):
    """Return the operations of a phase, for the FLOP rate."""
    return rows * (columns - width + 1 if phase == "forward" else columns) * width
