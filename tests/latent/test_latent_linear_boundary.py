"""The classifier of many runs at once: against least squares run by run, and the boundary of `positives`."""

import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.nn.functional import normalize

from tammes.latent import LinearBoundary
from tammes.positives import Boundary
from tammes.theory import margins

RUNS = 3


def drawn(classes: int, d: int, *, seed: int, n: int = 40) -> tuple[Tensor, Tensor]:
    """Embeddings (runs, n, d) and labels (runs, n)."""
    generator = torch.Generator().manual_seed(seed)
    z = normalize(torch.randn(RUNS, n, d, dtype=torch.float64, generator=generator), dim=-1)
    return z, torch.randint(classes, (RUNS, n), generator=generator)


@given(st.integers(2, 5), st.integers(2, 6), st.integers(0, 99))
def test_what_is_learned_is_least_squares_run_by_run(classes: int, d: int, seed: int) -> None:
    z, labels = drawn(classes, d, seed=seed)
    found = LinearBoundary.fit(z, labels, classes=classes).weight
    for run in range(RUNS):
        # The penalty as points: 1e-3 for each of the 40, at targets of 0.
        rows = torch.cat([z[run], 0.04**0.5 * torch.eye(d, dtype=z.dtype)])
        signs = torch.where(labels[run][:, None] == torch.arange(classes), 1.0, -1.0).to(z)
        targets = torch.cat([signs, signs.new_zeros(d, classes)])
        torch.testing.assert_close(found[run].mT, torch.linalg.lstsq(rows, targets).solution)


@given(st.integers(2, 6), st.integers(0, 99))
def test_of_two_classes_the_distance_is_that_of_positives(d: int, seed: int) -> None:
    z, labels = drawn(2, d, seed=seed)
    q = LinearBoundary.fit(z, labels, classes=2)
    for run, distances in enumerate(q.distances(z)):
        boundary = Boundary(weight=q.weight[run], offset=torch.zeros(2, dtype=z.dtype))
        torch.testing.assert_close(distances, boundary.distance(z[run]))


@given(st.integers(3, 6), st.integers(2, 6), st.integers(0, 99))
def test_of_more_classes_another_boundary_may_be_nearer_but_none_is_farther(
    classes: int, d: int, seed: int
) -> None:
    z, labels = drawn(classes, d, seed=seed)
    q = LinearBoundary.fit(z, labels, classes=classes)
    for run, distances in enumerate(q.distances(z)):
        boundary = Boundary(weight=q.weight[run], offset=torch.zeros(classes, dtype=z.dtype))
        assert bool((boundary.distance(z[run]) <= distances + 1e-12).all())


@given(st.integers(2, 5), st.integers(2, 6), st.integers(0, 99))
def test_margins_are_those_of_the_theory(classes: int, d: int, seed: int) -> None:
    z, labels = drawn(classes, d, seed=seed)
    q = LinearBoundary.fit(z, labels, classes=classes)
    found, scores = q.margins(z, labels), q.scores(z)
    for run in range(RUNS):
        expected = margins(scores[run].numpy(), labels[run].numpy())
        torch.testing.assert_close(found[run], torch.from_numpy(expected))


def test_embeddings_in_a_subspace_have_a_classifier() -> None:
    z, labels = drawn(2, 4, seed=0)
    z[..., 1:] = 0.0
    q = LinearBoundary.fit(z, labels, classes=2)
    assert bool(q.weight.isfinite().all())
    assert bool(q.distances(z).isfinite().all())
