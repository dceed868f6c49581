"""Wheels that are compiled here are kept for the next build of the same, and only for that."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from hpcbench.environments import wheel_cache
from hpcbench.environments.build_commands import clean_variables
from hpcbench.errors import UserError

BASE = {"install": ["other==1.0"]}
COMPILED = {"install": ["tiny==1.0"], "compile": {"needs": ["sh"]}}


def compiled(**changes):
    return {**COMPILED, **changes}


@pytest.fixture
def key(bench):
    """What a wheel of a step is kept under."""

    def make(step, tag="cpython-311-x86_64-linux-gnu"):
        bench.recipe("keyed", step)
        return wheel_cache.ingredients(bench.read("keyed").steps[0], wheel_cache.Target(tag, {"other": "1.0"}))

    return make


@pytest.fixture
def passed_on(bench, monkeypatch, tmp_path):
    """The words that the real compiler gets."""

    def run(keys, *words):
        real = tmp_path / "real-c++"
        real.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
        real.chmod(0o755)
        monkeypatch.setenv("CXX", str(real))
        bench.recipe("one", compiled(compile=keys))
        with wheel_cache.workshop(bench.read("one").steps[0]) as (_, variables):
            return subprocess.check_output([variables["CXX"], *words], text=True).splitlines()

    return run


def test_a_second_environment_takes_the_wheel_of_the_first(bench, build, reported):
    for name in ("one", "two"):
        bench.recipe(name, BASE, compiled())
        assert build(name).packages["tiny"] == "1.0"
    assert bench.built.count("tiny ") == 1
    assert [what for number, _, what in reported if number == 3] == [
        "compiling tiny==1.0, which may take several minutes",
        "installing tiny==1.0, compiled before",
    ]
    (key,) = wheel_cache.cache_folder().glob("*/key.json")
    assert json.loads(key.read_text())["against"] == {"other": "1.0"}


@pytest.mark.parametrize(
    "step",
    [
        compiled(env={"FLAVOUR": "sweet"}),
        compiled(compile={"needs": ["sh"], "cxx_standard": 17}),
        compiled(compile={"needs": ["sh"], "tools": ["other==1.0"]}),
    ],
    ids=["variables", "standard", "tools"],
)
def test_another_way_of_compiling_makes_another_key(key, step):
    assert key(step) != key(compiled())


def test_a_wheel_is_compiled_anew_against_another_version(bench, build):
    bench.package("other", "2.0")
    bench.package("later")
    bench.recipe("one", BASE, compiled(), {"install": ["later==1.0"]})  # what comes later does not matter
    bench.recipe("two", {"install": ["other==2.0"]}, compiled())
    build("one")
    build("two")
    assert bench.built.count("tiny ") == 2


@pytest.mark.parametrize(
    "variable", ["CXXFLAGS", "TINY_WITH_MPI", "CMAKE_GENERATOR", "LOADEDMODULES", "CPATH", "LD_LIBRARY_PATH"]
)
def test_variables_that_steer_compilers_are_part_of_the_key(key, monkeypatch, variable):
    before = key(compiled())
    monkeypatch.setenv("EDITOR", "ed")
    assert key(compiled()) == before
    monkeypatch.setenv(variable, "other")
    assert key(compiled()) != before


def test_another_python_is_part_of_the_key(key):
    assert key(compiled()) != key(compiled(), tag="cpython-312-x86_64-linux-gnu")


def test_the_compiler_is_part_of_the_key_with_its_version(key, monkeypatch, tmp_path):
    other = tmp_path / "other-c++"
    other.write_text("#!/bin/sh\necho other-c++ 99.0\n")
    other.chmod(0o755)
    monkeypatch.setenv("CXX", str(other))
    assert key(compiled())["compiler"] == "other-c++ 99.0"


def test_a_package_without_an_exact_version_is_never_taken_from_the_cache(bench, build):
    for name in ("one", "two"):
        bench.recipe(name, compiled(install=["tiny>=1"]))
        build(name)
    assert bench.built.count("tiny ") == 2


def test_a_damaged_wheel_is_compiled_anew(bench, build):
    bench.recipe("one", compiled())
    build("one")
    (wheel,) = wheel_cache.cache_folder().glob("*/*.whl")
    wheel.write_bytes(wheel.read_bytes()[:100])
    build("one", fresh=True)
    assert bench.built.count("tiny ") == 2
    assert wheel_cache.kept_wheels(json.loads((wheel.parent / "key.json").read_text())) == [wheel]


def test_a_cache_that_cannot_be_written_costs_nothing_but_time(bench, build, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", "/dev/null")
    bench.recipe("one", compiled())
    assert build("one").packages["tiny"] == "1.0"


def test_tools_do_not_stay_in_the_environment(bench, build):
    bench.recipe("one", compiled(compile={"needs": ["sh"], "tools": ["other==1.0"]}))
    assert "other" not in build("one").packages
    assert bench.built == ["other ", "tiny "]


def test_what_a_build_needs_of_the_system_is_named(bench, build):
    bench.recipe("one", compiled(compile={"needs": ["sh", "no-such-compiler", "no-such.h"]}))
    with pytest.raises(UserError, match=r"needs no-such-compiler, no-such\.h, not found on this machine") as caught:
        build("one")
    assert "apt-get install" in caught.value.hint
    assert bench.built == []


def test_a_missing_compiler_is_missed_by_the_name_that_the_user_gave_it(bench, build, monkeypatch):
    monkeypatch.setenv("CXX", "/no/such/c++ -fast")
    bench.recipe("one", compiled(compile={"needs": ["g++"]}))
    with pytest.raises(UserError, match=r"needs g\+\+"):
        build("one")


@pytest.mark.parametrize(
    ("given", "passed"),
    [
        ("-std=c++11", "-std=c++17"),
        ("-std=gnu++14", "-std=c++17"),
        ("-std=c++98", "-std=c++17"),
        ("-std=c++17", "-std=c++17"),
        ("-std=c++20", "-std=c++20"),
        ("-DNAME=two words", "-DNAME=two words"),
        ('-DTEXT="quoted; $HOME"', '-DTEXT="quoted; $HOME"'),
    ],
)
def test_an_older_standard_becomes_the_one_that_is_asked_for(passed_on, given, passed):
    assert passed_on({"cxx_standard": 17}, "-c", given, "a.cc") == ["-c", passed, "a.cc"]


@pytest.mark.parametrize("keys", [{}, {"cxx_standard": 17}], ids=["as the package asks", "standard"])
def test_what_is_compiled_has_no_debug_information(passed_on, keys):
    assert passed_on(keys, "-O3", "-g", "-DNAME=-g", "a.cc") == ["-O3", "-DNAME=-g", "a.cc"]


@pytest.mark.parametrize(
    ("variables", "flags"),
    [
        ({"MAKEFLAGS": "-j1"}, "-j1"),
        ({"MAKEFLAGS": " -j --jobserver-auth=3,4 -s", "MFLAGS": "-s -j", "MAKELEVEL": "1"}, "-j2"),
        ({}, "-j2"),
    ],
    ids=["of the user", "of a make that runs hpcbench", "none"],
)
def test_options_of_the_user_reach_make_and_those_of_a_make_around_it_do_not(bench, monkeypatch, variables, flags):
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 1})
    for name in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    bench.recipe("one", compiled())
    with wheel_cache.workshop(bench.read("one").steps[0]) as (_, added):
        seen = clean_variables(added)
    assert (seen["MAKEFLAGS"], seen.get("MFLAGS"), seen.get("MAKELEVEL")) == (flags, None, None)


def test_a_workshop_is_cleared_away(bench):
    bench.recipe("one", compiled())
    with wheel_cache.workshop(bench.read("one").steps[0]) as (folder, _):
        assert Path(folder).is_dir()
    assert not Path(folder).exists()


def test_asked_to_build_anew_a_wheel_is_compiled_anew_and_the_old_one_replaced(bench, build):
    bench.recipe("demo", BASE, compiled())
    build("demo")
    (kept,) = wheel_cache.cache_folder().glob("*/*.whl")
    before = kept.stat().st_ino
    build("demo", fresh=True)
    assert bench.built.count("tiny ") == 2
    assert kept.stat().st_ino != before


def test_of_two_builds_that_end_at_once_the_first_ones_wheel_stays(bench, build, key):
    bench.recipe("demo", BASE, compiled())
    build("demo")
    (kept,) = wheel_cache.cache_folder().glob("*/*.whl")
    before = kept.stat().st_ino
    wheel_cache.keep(kept.parent, json.loads((kept.parent / "key.json").read_text()), replace=False)
    assert kept.stat().st_ino == before
