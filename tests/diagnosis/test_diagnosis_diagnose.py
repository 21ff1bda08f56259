"""The object that `tammes.diagnose` returns, what it needs, and what it refuses."""

from __future__ import annotations

import json
from collections import UserList

import numpy as np
import pytest
import torch
from scipy import stats

import tammes
from tammes.diagnosis import NEEDS, Measure
from tammes.diagnosis.geometry import Spectra, gaussian_moments
from tammes.diagnosis.input import as_pairs
from tammes.diagnosis.measure import jackknife, row_jackknife, wilson
from tammes.estimate import Estimate


class NotAvailable:
    """Missing value like that of pandas, which compares to nothing."""

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> NotAvailable:  # type: ignore[override]
        return self

    def __ne__(self, other: object) -> NotAvailable:  # type: ignore[override]
        return self

    def __bool__(self) -> bool:
        raise TypeError("boolean value of NA is ambiguous")


def points(n: int = 120, dim: int = 6) -> torch.Tensor:
    return torch.randn(n, dim, generator=torch.Generator().manual_seed(0))


def test_a_summary_has_each_measure_and_says_what_is_missing() -> None:
    found = tammes.diagnose(points())
    summary = json.loads(found.json())
    assert tuple(summary) == tuple(NEEDS)
    assert all(
        set(each) == {"value", "low", "high", "ceiling", "null", "verdict"} for each in summary.values()
    )
    assert summary["alignment"]["value"] is None
    assert summary["alignment"]["verdict"] == "not measured: it needs pairs"
    assert summary["rankme"]["low"] < summary["rankme"]["value"] < summary["rankme"]["high"]
    assert all(each["verdict"] for each in summary.values())
    assert found["hubs"].verdict.endswith("10 nearest of far too many others (19 at most, and 10 on average)")
    assert str(found).startswith("fine: no fault found\n")
    assert found.holds("rankme < 50 and rows == 120")
    with pytest.raises(KeyError, match="rankme"):
        found["rank"]


def test_the_embeddings_stay_as_they_are_and_the_seed_decides() -> None:
    for x in (points(), points().numpy()):
        before = x.copy() if isinstance(x, np.ndarray) else x.clone()
        first, second = tammes.diagnose(x), tammes.diagnose(x)
        assert (x == before).all()
        assert first.summary() == second.summary()


class Table(UserList[object]):
    """Table that hands out its own memory as an array, like a data frame of one column."""

    def __array__(self, dtype: object = None, copy: object = None) -> np.ndarray:
        return np.asarray(self.data[0])


def test_a_table_and_an_array_that_is_read_only_stay_as_they_are() -> None:
    frozen = points().numpy()
    frozen.flags.writeable = False
    for given in (Table([points().numpy()]), frozen):
        before = np.array(given)
        tammes.diagnose(given)
        assert np.array_equal(np.asarray(given), before)


@pytest.mark.parametrize("kind", [">f4", "longdouble", "f2", "u8"])
def test_numbers_of_every_type_are_read(kind: str) -> None:
    x = (100 * points()).round().abs().numpy() + 1
    assert tammes.diagnose(x.astype(kind))["rankme"] == tammes.diagnose(x)["rankme"]


def test_values_do_not_change_by_rotation_scale_or_order() -> None:
    x = points().double()
    turn = torch.linalg.qr(torch.randn(6, 6, dtype=torch.float64))[0]
    a = tammes.diagnose(x)
    b = tammes.diagnose((4 * x @ turn)[torch.randperm(120)])
    for name in ("rankme", "nesum", "isoscore", "mean_share", "uniformity", "intrinsic_dimension", "hubness"):
        assert a[name].value == pytest.approx(b[name].value, rel=1e-4), name


@pytest.mark.parametrize("scale", [1e-30, 1e-14, 1e19, 1e30])
def test_no_measure_depends_on_the_unit(scale: float) -> None:
    """A row near the mean is a Euclidean hub; squares of these numbers underflow or overflow."""
    x = torch.randn(300, 48, generator=torch.Generator().manual_seed(1))
    x[3] *= 0.01
    usual, scaled = tammes.diagnose(x, against=x), tammes.diagnose(scale * x, against=scale * x)
    assert usual.rows["hub"].nonzero()[0].tolist() == scaled.rows["hub"].nonzero()[0].tolist() == [3]
    for name in ("neighbor_overlap", "cka", "procrustes", "rsa"):
        assert scaled[name].value == pytest.approx(usual[name].value, abs=1e-6), name


def test_dropped_rows_keep_their_numbers() -> None:
    x = points().numpy()
    x[4], x[9, 2] = 0, np.nan
    with pytest.raises(
        ValueError, match=r"1 of 120 rows of the embeddings has NaN .*row 9.* and 1 has length"
    ):
        tammes.diagnose(x)
    pairs = np.arange(120) ^ 1
    labels = np.arange(120) % 3
    found = tammes.diagnose(x, drop=True, pairs=pairs, labels=labels, splits=labels, against=points())
    assert found["rows"].value == 118
    assert 4 not in found.rows["row"]
    assert found.about == {"dropped": "2"}
    x[119] = 0  # the pair of the last row goes with it
    for given in (pairs, np.stack([np.arange(120), pairs], axis=1)):
        assert tammes.diagnose(x, drop=True, pairs=given)["lidar"].ceiling == 6
        with pytest.raises(ValueError, match=r"pairs of rows from 0 to 119, got .*120"):
            tammes.diagnose(x, drop=True, pairs=np.where(given == 117, 120, given))
    with pytest.raises(ValueError, match="no row is left"):
        tammes.diagnose(np.zeros((30, 3)), drop=True)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"labels": [0, 1]}, "labels, one for each of the 120 rows, got 2"),
        ({"labels": [1] * 120}, "two classes at least, got one alone, 1"),
        ({"labels": list(range(120))}, "labels that rows share"),
        ({"labels": [None, "a"] * 60}, "got none for 60"),
        ({"labels": [float("nan"), 1.0] * 60}, "got none for 60"),
        ({"labels": ["a", "b", float("nan")] * 40}, "labels for all 120 rows, got none for 40"),
        ({"labels": ["a", "b", ""] * 40}, "labels for all 120 rows, got none for 40"),
        ({"labels": np.array(["a", "b", ""] * 40)}, "labels for all 120 rows, got none for 40"),
        ({"labels": np.array(["a", "b", NotAvailable()] * 40)}, "got none for 40"),
        ({"pairs": np.array([NotAvailable(), 0, "x"] * 40)}, "row numbers from 0, got 'x'"),
        ({"labels": np.array(["2026", "2025", "NaT"] * 40, "M8[Y]")}, "got none for 40"),
        ({"splits": ["train", "test", float("nan")] * 40}, "splits for all 120 rows, got none for 40"),
        ({"names": ["a", "", float("nan")] * 40}, "names for all 120 rows, got none for 40"),
        ({"labels": np.zeros((120, 2))}, "got an array"),
        ({"splits": ["a"] * 120}, "two splits at least"),
        ({"pairs": [500] * 120}, "pairs of rows from 0 to 119"),
        ({"pairs": list(range(120))}, "row 0 as its own positive"),
        ({"pairs": [0.5] * 120}, "got fractions"),
        ({"pairs": [1, 0, float("inf")] * 40}, "row numbers from 0, got inf"),
        ({"pairs": [1, 0, -1e30] * 40}, r"row numbers from 0, got -1e\+30"),
        ({"pairs": ["a"] * 120}, "row numbers from 0, got 'a'"),
        ({"pairs": [-1] * 120}, "two pairs at least, got 0"),
        ({"pairs": [1, 2]}, "pairs, one for each of the 120 rows"),
        ({"against": points(7)}, "same 120 rows, got 7"),
        (
            {"neighbors": 120},
            "more rows than the 120 neighbors of each, got 120: give neighbors=119 or fewer",
        ),
        ({"neighbors": 0}, "neighbors must be an integer"),
    ],
)
def test_what_does_not_fit_is_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        tammes.diagnose(points(), **changes)  # type: ignore[arg-type]


def test_a_single_row_is_refused_whatever_the_neighbors() -> None:
    with pytest.raises(ValueError, match="than the 20 neighbors of each, got 1: give two rows or more"):
        tammes.diagnose(points(1))


@pytest.mark.parametrize("bad", [[[1, 2], [3]], np.ones(5), [["a"]], torch.ones(2, 2, dtype=torch.complex64)])
def test_what_is_no_matrix_is_refused(bad: object) -> None:
    with pytest.raises(ValueError, match="expected a matrix of numbers"):
        tammes.diagnose(bad)  # type: ignore[arg-type]


def test_a_class_of_one_row_is_taken_whether_the_probe_learns_from_it_or_not() -> None:
    found = []
    for seed in range(8):
        labels = torch.arange(60) == 7
        found.append(tammes.diagnose(points(60), labels=labels, seed=seed)["probe_accuracy"].value)
    assert None in found  # the row is tested: one class alone to learn from
    assert any(each is not None and each > 0.9 for each in found)


@pytest.mark.parametrize("neighbors", [1, 5, 20])
def test_the_null_of_the_neighbors_accuracy_is_that_of_a_gaussian(neighbors: int) -> None:
    """Nine rows of ten have one class, which more neighbors outvote the other with more often."""
    labels = torch.arange(2000) % 10 == 0
    found = tammes.diagnose(points(2000, 16), labels=labels, neighbors=neighbors)["knn_accuracy"]
    assert found.null == pytest.approx(found.value, abs=0.02)
    if neighbors == 1:
        assert found.null == pytest.approx(0.82, abs=0.01)
    assert found.verdict.startswith("note: not above chance")


def test_a_row_without_a_positive_has_none_nan_or_nothing() -> None:
    for missing in (None, float("nan"), "nan", "", -1):
        assert as_pairs([1, missing, 3, missing], 4).tolist() == [[0, 1], [2, 3]]


def test_pairs_may_be_a_matrix() -> None:
    x = points()
    x[1::2] = x[::2] + 0.1 * torch.randn(60, 6)
    matrix = np.stack([np.arange(0, 120, 2), np.arange(1, 120, 2)], axis=1)
    found = tammes.diagnose(x, pairs=matrix, batch=64)
    assert found["alignment"].value < 0.1
    assert found["lidar"].value > 5
    share = found["collision_share"]
    assert (
        share.verdict == "note: estimated from pairs of views: up to 40 times too large or 3 times too small"
    )
    assert (share.value, share.low, share.high) == (0, None, None)


def test_the_share_of_false_negatives_has_the_range_of_its_estimate() -> None:
    x = points()
    matrix = torch.arange(120).view(60, 2)  # views that are no more alike than other rows
    share = tammes.diagnose(x, pairs=matrix.numpy(), batch=64)["collision_share"]
    assert share.value > 0.2
    assert share.low == share.value / 40
    assert share.high == min(1.0, 3 * share.value)


def test_small_and_equal_embeddings_have_a_diagnosis_too() -> None:
    flat = tammes.diagnose(np.ones((30, 1)), neighbors=1)
    assert "collapse" in flat.faults
    assert flat["rankme"].value == pytest.approx(1)
    assert flat["intrinsic_dimension"].value is None
    line = tammes.diagnose(np.linspace(1, 2, 50, dtype=np.float32)[:, None].repeat(7, 1))
    assert line["uniformity"].low <= line["uniformity"].value <= line["uniformity"].high == 0
    wide = tammes.diagnose(torch.randn(12, 40), neighbors=5)
    assert wide.faults == ()


def test_the_jackknife_of_a_mean_is_students_interval() -> None:
    values = torch.randn(20, dtype=torch.float64)
    value, low, high = row_jackknife(lambda rows: float(rows.mean()), values)
    half = stats.t.ppf(0.975, 19) * float(values.std()) / 20**0.5
    assert value is not None
    assert high == pytest.approx(value + half, rel=1e-9)
    assert low == pytest.approx(value - half, rel=1e-9)
    assert jackknife(lambda _: None, 20, 1.0) == (None, None)
    assert jackknife(lambda _: 1.0, 1, 1.0) == (None, None)


def test_wilsons_interval_is_that_of_an_estimate() -> None:
    for successes, trials in ((0, 10), (10, 10), (342, 360)):
        reference = Estimate.of_share(successes / trials, trials)
        assert wilson(successes, trials) == pytest.approx((reference.mean, reference.low, reference.high))


def test_the_gaussian_beside_a_spectrum_has_its_moments_without_its_rows() -> None:
    generator = torch.Generator().manual_seed(0)
    drawn = [gaussian_moments(400, 5, generator).covariance for _ in range(200)]
    mean, spread = torch.stack(drawn).mean(dim=0), torch.stack(drawn).std(dim=0)
    expected = torch.eye(5, dtype=torch.float64) * 399 / 400
    assert bool((mean - expected).abs().max() < 0.015)
    # Entries of a Wishart matrix: variance 2 (n - 1) on the diagonal, n - 1 beside it.
    assert spread.diagonal().mean() == pytest.approx((2 * 399) ** 0.5 / 400, rel=0.1)
    assert spread[~torch.eye(5, dtype=torch.bool)].mean() == pytest.approx(399**0.5 / 400, rel=0.1)


def test_measures_are_finite() -> None:
    with pytest.raises(AssertionError, match="value is nan"):
        Measure(value=float("nan"))
    spectra = Spectra.of(points(), torch.Generator().manual_seed(0))
    assert sum(part.count for part in spectra.parts) == 120


def test_it_draws_what_the_page_draws() -> None:
    x = torch.randn(80, 6, generator=torch.Generator().manual_seed(0))
    found = tammes.diagnose(x, labels=np.arange(80) % 3, against=x.flip(1))
    for figure in (
        found.plot_spectrum(),
        found.plot_occurrence(),
        found.plot_map(),
        found.plot_confusion(),
        found.plot_overlap(),
    ):
        assert figure.axes
    alone = tammes.diagnose(x)
    with pytest.raises(ValueError, match="needs labels"):
        alone.plot_confusion()
    with pytest.raises(ValueError, match="needs a second embedding"):
        alone.plot_overlap()


def test_labels_in_bytes_are_texts_and_a_name_may_be_empty() -> None:
    labels = np.array(["é", "b"] * 60)
    names = ["", "caption"] * 60
    for given in (labels, np.char.encode(labels, "utf-8")):
        found = tammes.diagnose(points(), labels=given, names=names)
        assert set(found.rows["label"]) == {"é", "b"}
    assert list(found.rows["name"]) == names


def test_names_are_a_column_of_the_rows_and_must_fit() -> None:
    x = torch.randn(60, 4, generator=torch.Generator().manual_seed(0))
    x[5] = 0
    found = tammes.diagnose(x, names=[f"row {row}" for row in range(60)], drop=True)
    assert next(iter(found.rows)) == "name"
    assert found.rows["name"][5] == "row 6"
    with pytest.raises(ValueError, match="expected names, one for each of the 60 rows, got 2"):
        tammes.diagnose(torch.randn(60, 4), names=["a", "b"])


def test_thousands_of_copies_leave_room_for_hubs_and_near_duplicates_on_the_page() -> None:
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(3_000, 16, generator=generator)
    x[1_000:2_000] = x[:1_000]
    x[2_900:2_950] = x[2_800:2_850] + 1e-4
    x[2_999] = 0.01 * x.mean(dim=0)
    drawn = tammes.diagnose(x).drawn
    assert (drawn.ratios == 0).sum() >= 50
    assert ((drawn.ratios > 0) & (drawn.ratios < drawn.threshold)).sum() == 50
    found = tammes.diagnose(x)
    near = found.rows["near_duplicate"]
    assert near[found.drawn.shown].sum() == near.sum() == 100


def test_a_long_summary_prints_all_digits_of_counts() -> None:
    assert " 3,000  fine: rows measured" in str(tammes.diagnose(torch.randn(3_000, 4)))


def test_the_order_of_the_rows_says_nothing_about_the_width_of_an_interval() -> None:
    values = torch.randn(1000, generator=torch.Generator().manual_seed(0))
    exact = 2 * 1.96 * float(values.std()) / 1000**0.5
    for rows in (values, values.sort().values, values.sort().values.view(20, 50).T.flatten()):
        _, low, high = row_jackknife(lambda some: float(some.mean()), rows)
        assert low is not None
        assert high is not None
        assert 0.6 * exact < high - low < 1.6 * exact
