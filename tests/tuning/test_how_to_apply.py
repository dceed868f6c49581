"""How a setting is used outside hpcbench."""

from __future__ import annotations

from typing import Any

from hpcbench.config.parameters import Parameters
from hpcbench.config.slurm_options import SlurmOptions
from hpcbench.plan.case import Case
from hpcbench.tuning.how_to_apply import Usage, usage
from tests.fixtures.records import a_record

RECORD = a_record(environment={"LD_PRELOAD": "/usr/lib/libjemalloc.so.2"}, affinity=[[0, 1], [2, 3]])


def case(**parameters: Any) -> Case:
    given = {"framework": "pytorch", "model": "lstm", "cpus_per_task": 4, **parameters}
    return Case("c0", 0, Parameters.model_validate(given), {}, SlurmOptions())


def test_threads_are_a_variable_and_two_calls() -> None:
    assert usage(case(intra_op_threads=2, inter_op_threads=1), case(), RECORD) == Usage(
        {"OMP_NUM_THREADS": "2"}, (), ("torch.set_num_threads(2)", "torch.set_num_interop_threads(1)")
    )


def test_threads_of_onnx_runtime_are_options_of_its_session() -> None:
    of_file = {"framework": "onnxruntime", "model": "onnx:net.onnx"}
    found = usage(case(**of_file, intra_op_threads=2, inter_op_threads=3), case(**of_file), RECORD)
    intra_op, inter_op = found.lines
    assert intra_op == "session_options.intra_op_num_threads = 2"
    assert inter_op.startswith("session_options.inter_op_num_threads = 3; session_options.execution_mode = ")


def test_a_library_is_preloaded_from_where_the_repetition_had_it() -> None:
    found = usage(case(allocator="jemalloc", wait_policy="passive"), case(), RECORD)
    assert found.variables == {"LD_PRELOAD": "/usr/lib/libjemalloc.so.2", "OMP_WAIT_POLICY": "PASSIVE"}
    assert usage(case(wait_policy="passive"), case(), RECORD).variables == {"OMP_WAIT_POLICY": "PASSIVE"}


def test_glibcs_allocator_needs_two_variables_and_no_library() -> None:
    retaining = case(allocator="glibc-retain")
    assert usage(retaining, case(), RECORD).variables == {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": "-1"}


def test_instances_have_cpus_of_their_own() -> None:
    assert usage(case(instances=2), case(), RECORD).cpus == ((0, 1), (2, 3))
    assert usage(case(), case(), RECORD) == Usage()


def test_what_is_set_from_inside_is_a_line_each() -> None:
    found = usage(
        case(flush_denormals=True, onednn=False, execution="compiled", compile_mode="default"), case(), RECORD
    )
    assert found.lines == (
        "torch.set_flush_denormal(True)",
        "torch.backends.mkldnn.set_flags(False)",
        "model = torch.compile(model, mode='default')",
    )


def test_jax_has_as_many_threads_as_cpus() -> None:
    one_cpu = a_record(affinity=[[3]])
    found = usage(case(framework="jax", intra_op_threads=1), case(framework="jax"), one_cpu)
    assert found == Usage({}, ((3,),), (), {})


def test_what_has_no_variable_is_told_as_it_is() -> None:
    compiled = usage(case(framework="tensorflow", execution="eager"), case(framework="tensorflow"), RECORD)
    assert compiled.others == {"execution": "eager"}
    keras = {"framework": "keras-torch", "execution": "compiled"}
    compiled = usage(case(**keras, compile_mode="max-autotune"), case(framework="keras-torch"), RECORD)
    assert compiled.others == {"execution": "compiled", "compile_mode": "max-autotune"}
    assert usage(case(dtype="bfloat16", batch_size=8), case(), RECORD).others == {"dtype": "bfloat16", "batch_size": 8}
    assert usage(case(execution="compiled"), case(), RECORD).others == {}


def test_an_environment_that_nobody_names_is_told_by_its_name() -> None:
    nightly, usual = case(environment="pytorch-nightly"), case()
    assert usage(usual, nightly, RECORD).others == {"environment": "pytorch"}
    assert usage(nightly, usual, RECORD).others == {"environment": "pytorch-nightly"}
    assert usage(usual, case(environment="pytorch"), RECORD).others == {}
    assert usage(case(framework="jax"), usual, RECORD).others == {"framework": "jax"}


def test_a_command_is_told_as_it_is() -> None:
    own = {"framework": "command", "model": None}
    found = usage(case(**own, command="./solve 4", intra_op_threads=2), case(**own, command="./solve 1"), RECORD)
    assert found == Usage({"OMP_NUM_THREADS": "2"}, command="./solve 4")


def test_tensorflow_has_calls_of_its_own() -> None:
    (line,) = usage(case(framework="tensorflow", intra_op_threads=3), case(framework="tensorflow"), RECORD).lines
    assert line == "tf.config.threading.set_intra_op_parallelism_threads(3)"
