"""The check of any loss under data-parallel training finds what is wrong, and by how much."""

from __future__ import annotations

import ddp_losses
import pytest

import tammes
from tammes.integrations import check_ddp

pytestmark = pytest.mark.processes


def test_a_gathered_objective_is_right_for_uneven_batches() -> None:
    report = check_ddp(ddp_losses.gathered, rows=(3, 6, 2))
    assert report.is_right
    assert report.loss == pytest.approx(report.reference, rel=1e-12)
    assert str(report) == "right: the gradient is that of one process with the whole batch"


def test_a_factor_is_named() -> None:
    report = check_ddp(ddp_losses.too_small)
    assert report.factor == pytest.approx(0.5, abs=1e-9)
    assert str(report) == "off by a factor: 0.5 times the gradient of one process with the whole batch"


def test_a_loss_of_each_process_by_itself_is_told() -> None:
    report = check_ddp(ddp_losses.by_itself)
    assert 0 < report.cosine < 0.999
    assert "rows of other processes are no candidates" in str(report)


def test_candidates_without_gradient_are_told() -> None:
    report = check_ddp(ddp_losses.without_gradient)
    assert report.cosine < 0.999
    assert report.local_cosine < 0.999
    assert "their gradient is lost or counted unevenly" in str(report)


@pytest.mark.parametrize(
    ("loss", "words"),
    [
        (ddp_losses.failing, "the loss failed on process 0 of 2: RuntimeError: no such loss"),
        (ddp_losses.flat, "the gradient of one process with the whole batch has length 0, with which"),
        (ddp_losses.without_graph, "expected a loss of one number with a gradient, got shape"),
    ],
)
def test_an_error_of_the_loss_is_repeated(loss: object, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        check_ddp(loss)  # type: ignore[arg-type]


def test_a_process_that_ends_early_is_told() -> None:
    with pytest.raises(ValueError, match=r"process 0 of 2 ended before the loss did: start check_ddp under"):
        check_ddp(ddp_losses.ended)


def test_processes_that_wait_for_each_other_are_ended() -> None:
    with pytest.raises(ValueError, match=r"the loss (did not end|failed on process 0)"):
        check_ddp(ddp_losses.waiting, timeout=5)


def test_a_loss_that_no_other_process_can_import_is_refused() -> None:
    with pytest.raises(ValueError, match="define it at the top of a module"):
        check_ddp(lambda a, b: tammes.recipes.simclr(temperature=0.5)(a, b))


@pytest.mark.parametrize("rows", [(4,), (3, 0)])
def test_two_processes_with_rows_are_needed(rows: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="expected the rows of two or more processes"):
        check_ddp(ddp_losses.by_itself, rows=rows)


def test_the_ranking_loss_of_sentence_transformers_is_right() -> None:
    assert check_ddp(ddp_losses.ranking).is_right


def test_the_wrapper_of_metric_learning_is_right_unless_it_is_efficient() -> None:
    assert check_ddp(ddp_losses.wrapped).is_right
    report = check_ddp(ddp_losses.wrapped_efficiently)
    assert not report.has_right_direction
    assert report.factor == pytest.approx(1.994, abs=1e-3)
