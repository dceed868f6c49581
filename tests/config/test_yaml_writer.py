"""What is written as YAML is read back as it was, by the reader of this project."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcbench.config.site import load_site
from hpcbench.config.yaml_document import parse_yaml
from hpcbench.config.yaml_writer import yaml_text

KEYS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=10)
TEXTS = st.one_of(
    st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=20),
    st.sampled_from(
        ["1e5", "0x1f", "1.", "00:10:00", "yes", "no", "~", "null", "", " a ", "- a", "a: b", "{{ x }}", "#", "1_000"]
    ),
)
VALUES = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(10**18), 10**18),
        st.floats(allow_nan=False, allow_infinity=False),
        TEXTS,
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(KEYS, inner, max_size=4)),
    max_leaves=12,
)


@given(st.dictionaries(KEYS, VALUES, min_size=1, max_size=5))
def test_any_data_is_read_as_it_was_written(data: dict[str, object]) -> None:
    assert parse_yaml(yaml_text(data), "data").data == data


def test_a_list_that_stands_twice_is_written_twice() -> None:
    modules = ["gcc/12"]
    assert "&" not in yaml_text({"a": modules, "b": modules})


@pytest.mark.parametrize("value", ["1e5", "0x10", "00:10:00", "true"])
def test_a_site_keeps_what_looks_like_something_else(value: str) -> None:
    slurm, variables = f"slurm: {{account: '{value}'}}", f"environments: {{pytorch: {{env: {{A: '{value}'}}}}}}"
    text = f"name: c\nscheduler: slurm\n{slurm}\n{variables}\n"
    site = load_site(parse_yaml(text, "site"))
    again = load_site(parse_yaml(yaml_text(site.model_dump(mode="json", exclude_unset=True)), "again"))
    assert again.model_dump() == site.model_dump()
    assert again.slurm.model_fields_set == site.slurm.model_fields_set
