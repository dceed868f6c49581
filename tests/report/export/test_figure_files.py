"""Figures of results of every shape, as a user gets them: files that can be read, axes with units, names of files."""

from __future__ import annotations

import re
import struct
import zlib
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import vl_convert

from hpcbench.analysis.cases.quantities import QUANTITIES
from hpcbench.errors import UserError
from hpcbench.report.charts.components import Figure
from hpcbench.report.charts.figures import MAX_WORKS, MIN_SAMPLES, chosen
from hpcbench.report.charts.theme import AS_FILE, IN_PAPER, PlotSize
from hpcbench.report.export.figure_files import specification, write
from tests.report import vega_lite
from tests.report.synthetic_results import HOSTILE, SHAPES, USER_PARAMETER, case, drawn, figures, results, shape

pytestmark = pytest.mark.integration

EVERY = [pytest.param(name, id=name.replace(" ", "-")) for name in SHAPES]
# Each family of figures, and what makes them wide or odd: the others are checked as specifications.
DRAWN = ("numbers", "60 names", "heat", "threads by way", "hostile lines", "odd values")
DRAWN_IN_PAPER = ("frameworks", "facets", "50 axes", "hostile lines", "inference")
COLUMN_OF_A_PAPER = 3.33 * 72  # points
# Axes that count something, or are a part or a ratio, have no unit.
UNITLESS = re.compile(
    r"(CPUs|GPUs|nodes|tasks per node|(intra|inter) op threads|batch size|n+\.\.\.|efficiency|"
    r"gain|batch size, network|speedup over the fewest \w+|cumulative fraction of steps)"
)


def tree(svg: str | bytes) -> ElementTree.Element:
    return ElementTree.fromstring(svg)  # noqa: S314 - of our own making


@pytest.mark.usefixtures("fonts")
@pytest.mark.parametrize(
    ("name", "place"), [*((name, AS_FILE) for name in DRAWN), *((name, IN_PAPER) for name in DRAWN_IN_PAPER)]
)
def test_figures_of_every_family_are_drawn_and_keep_to_their_width(name: str, place: PlotSize) -> None:
    widest = COLUMN_OF_A_PAPER + 1 if place == IN_PAPER else 1.05 * AS_FILE.width
    for figure, spec in drawn(name, place):
        if figure.id.startswith("strong") and name != "numbers":
            continue  # to be quick
        svg = vl_convert.vegalite_to_svg(spec)
        assert tree(svg).tag.endswith("svg")
        assert "NaN" not in svg, figure.id
        assert "undefined" not in svg, figure.id
        assert svg.count("<path") > 4, f"nothing to be seen in {figure.id}"
        width = re.search(r'<svg[^>]* width="([0-9.]+)"', svg)
        assert width, figure.id
        assert float(width[1]) <= widest, figure.id


@pytest.mark.parametrize("name", EVERY)
def test_figures_of_every_shape_are_valid_and_their_data_have_what_is_drawn(name: str) -> None:
    for _, spec in drawn(name):
        vega_lite.check(spec)


@pytest.mark.parametrize("name", EVERY)
def test_every_axis_of_numbers_has_a_unit(name: str) -> None:
    for figure, spec in drawn(name):
        found = {
            str(encoding["title"])
            for channel, encoding in vega_lite.encodings(spec)
            if channel in ("x", "y", "color") and encoding["type"] == "quantitative" and "title" in encoding
        }
        assert found, figure.id
        for title in found:
            assert re.search(r" \(\S.*\)$", title) or UNITLESS.fullmatch(title), f"{figure.id}: {title}"


@pytest.mark.parametrize("name", EVERY)
def test_names_of_users_are_never_names_of_fields(name: str) -> None:
    """Vega takes dots, brackets and quotes in the name of a field for a path."""
    for _, spec in drawn(name):
        fields = {encoding["field"] for _, encoding in vega_lite.encodings(spec)}
        assert all(re.fullmatch(r"[a-z]+", field) for field in fields), fields
        assert not [part for part in vega_lite.parts(spec) if "url" in part], "a figure needs no network"


@pytest.mark.parametrize("name", EVERY)
def test_ids_are_names_of_files_and_different(name: str) -> None:
    ids = [figure.id for figure in figures(name)]
    assert len(ids) == len(set(ids))
    assert all(re.fullmatch(r"[a-z0-9][a-z0-9-]{0,80}", each) for each in ids), ids


@pytest.mark.parametrize("name", EVERY)
def test_every_figure_says_in_words_what_it_shows(name: str) -> None:
    for figure, spec in drawn(name):
        assert figure.title[0].isupper()
        assert figure.caption.endswith(".")
        assert len(figure.description) > 40
        assert spec["description"].startswith(figure.description[:20])


def test_the_highest_and_the_lowest_are_described_with_their_units() -> None:
    (figure,) = figures("two frameworks")
    found = re.fullmatch(
        r"Throughput of 2 cases. The highest is framework=pytorch with (\S+) samples/s. "
        r"The lowest is framework=jax with (\S+) samples/s.",
        figure.description,
    )
    assert found
    assert float(found[1]) == pytest.approx(320, rel=0.05)
    assert float(found[2]) == pytest.approx(160, rel=0.05)


def test_what_was_not_measured_has_no_figure() -> None:
    assert figures("all failed") == ()
    assert figures("one case") == ()
    assert "jax" not in str(specification(*figures("incomplete"), AS_FILE)), "it failed"


def test_each_kind_of_work_has_a_figure_up_to_a_number() -> None:
    ids = [figure.id for figure in figures("eight workloads") if figure.id.startswith("throughput")]
    assert ids == [f"throughput-model{number}-{number + 1}" for number in range(MAX_WORKS)]


def test_what_is_shown_is_chosen_from_the_shape() -> None:
    def kinds(name: str) -> list[str]:
        return [re.sub(r"-?[0-9]*$", "", figure.id) for figure in figures(name)]

    scaling = ["strong-scaling-speedup-cpus", "strong-scaling-efficiency-cpus"]
    assert kinds("numbers") == ["throughput", *scaling]
    assert kinds("frameworks") == ["throughput"]
    assert kinds("weak") == ["throughput", "weak-scaling-speedup-cpus", "weak-scaling-efficiency-cpus"]
    assert kinds("GPUs")[1:] == ["strong-scaling-speedup-gpus", "strong-scaling-efficiency-gpus"]
    assert kinds("inference") == ["throughput", "latency"]
    assert kinds("commands") == ["rate-study"]


def test_few_samples_have_no_distribution() -> None:
    def latencies(samples: int) -> list[Figure]:
        found = results(case(0.1, task="inference"), repetitions=1, samples=samples)
        return [figure for figure in chosen(found, None) if figure.id.startswith("latency")]

    assert latencies(MIN_SAMPLES - 1) == []
    assert len(latencies(MIN_SAMPLES)) == 1


def test_a_plot_is_drawn_for_each_kind_of_work() -> None:
    found = chosen(shape("eight workloads"), "x=intra_op_threads")
    assert [figure.id for figure in found] == [f"plot-{number}" for number in range(1, 9)]


@pytest.mark.parametrize("plot", ["x=intra_op_threads,facet=model", "x=intra_op_threads,color=model"])
def test_a_plot_that_tells_kinds_of_work_apart_is_one_figure(plot: str) -> None:
    (figure,) = chosen(shape("eight workloads"), plot)
    spec = specification(figure, AS_FILE)
    (data,) = (rows for rows in spec["datasets"].values() if len(rows) > 1)
    key = "facet" if "facet" in plot else "colour"
    assert {row[key] for row in data} == {f"model{number}" for number in range(8)}
    assert figure.caption.startswith("8 workloads.")


def test_a_plot_of_what_no_case_has_is_told() -> None:
    missing = next(column for column in QUANTITIES if column.startswith("price"))
    with pytest.raises(UserError, match="no case has a value of price"):
        chosen(shape("numbers"), f"y={missing}")


def test_a_plot_is_described_by_its_own_quantity() -> None:
    """Not by the best cases of the ranking, which may be the worst ones of it."""
    found = results(*(case(time, batch_size=n, items_per_step=n) for n, time in ((1, 0.1), (64, 1.0))))
    (figure,) = chosen(found, "x=batch_size,y=time_median_s")
    assert re.search(
        r"The highest is batch_size=64 with (0\.9|1\.0|1 ).*The lowest is batch_size=1 with", figure.description
    )


@pytest.mark.parametrize("theme", ["screen", "paper"])
def test_files_are_what_their_names_say(tmp_path: Path, theme: Any) -> None:
    written = write(figures("two frameworks"), tmp_path / "a folder" / "of mine", ["svg", "png", "pdf"], theme)
    assert [path.name for path in written] == [f"throughput-1.{kind}" for kind in ("svg", "png", "pdf")]
    svg, png, pdf = (path.read_bytes() for path in written)
    assert tree(svg).tag.endswith("svg")
    assert png.startswith(b"\x89PNG")
    assert pdf.startswith(b"%PDF")
    assert sorted(path.name for path in written[0].parent.iterdir()) == sorted(path.name for path in written)


def test_a_figure_of_a_paper_is_as_wide_as_its_column(tmp_path: Path) -> None:
    (pdf,) = write(figures("frameworks"), tmp_path, ["pdf"], "paper")
    boxes = re.findall(rb"/MediaBox\s*\[\s*0 0 ([0-9.]+) ([0-9.]+)\s*\]", _uncompressed(pdf.read_bytes()))
    assert len(boxes) == 1
    width, height = map(float, boxes[0])
    assert 0.97 * COLUMN_OF_A_PAPER <= width <= COLUMN_OF_A_PAPER + 1
    assert 50 < height < width


def _uncompressed(pdf: bytes) -> bytes:
    """With what its compressed objects hold."""
    streams = re.findall(rb"stream\r?\n(.*?)endstream", pdf, re.DOTALL)
    return pdf + b"".join(zlib.decompressobj().decompress(each) for each in streams if each.startswith(b"\x78"))


def test_a_picture_of_pixels_has_many(tmp_path: Path) -> None:
    """300 to the inch, and twice what a screen has."""
    sizes = {}
    for theme in ("screen", "paper"):
        (png,) = write(figures("frameworks"), tmp_path / theme, ["png"], theme)  # type: ignore[arg-type]
        sizes[theme] = struct.unpack(">II", png.read_bytes()[16:24])[0]
    assert sizes["paper"] >= 280 * 3.33
    assert sizes["screen"] >= 1.9 * AS_FILE.width


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="cannot be created"):
        write(figures("two frameworks"), tmp_path / "file", ["svg"], "screen")


@pytest.mark.parametrize("text", HOSTILE[1:4])
def test_names_are_text_in_a_file(text: str, tmp_path: Path) -> None:
    found = results(*(case(0.1 * n, **{USER_PARAMETER + "name": f"{text}{n}"}) for n in (1, 2)))
    (svg,) = write(chosen(found, None), tmp_path, ["svg"], "screen")
    nodes = list(tree(svg.read_bytes()).iter())
    assert {f"{text}1", f"{text}2"} <= {node.text for node in nodes if node.tag.endswith("text")}
    assert not [node for node in nodes if node.tag.endswith("script")]


def test_control_characters_are_in_no_file(tmp_path: Path) -> None:
    found = results(*(case(0.1 * n, **{USER_PARAMETER + "\x1b[2J": f"\x1b[31m\x00{n}"}) for n in (1, 2)))
    (figure,) = chosen(found, None)
    assert specification(figure, AS_FILE)["description"].isprintable()
    (svg,) = write([figure], tmp_path, ["svg"], "screen")
    tree(svg.read_bytes())
    assert not {"\x1b", "\x00"} & set(svg.read_text())
