"""The adversary plays the worst that its constraints allow, and an encoder gives in or does not."""

import itertools
import math

import pytest
import torch
from torch.nn.functional import normalize, softplus

from tammes.coupling import Transport, Uniform
from tammes.papers.jiang.minmax import MARGINALS, NO_SELF, Encoder, draw_batches, logistic, train


def views(pairs: int, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return tuple(
        normalize(torch.randn(pairs, 3, generator=generator, dtype=torch.float64), dim=1) for _ in range(2)
    )


@pytest.mark.parametrize("seed", range(3))
def test_marginals_alone_match_everyone_with_itself(seed):
    # Eq. 2: the worst coupling of Omega_mar is x- = x, and E[psi(v)] is E[psi(1 - f(x).f(x+))].
    view_a, view_b = views(7, seed)
    assert MARGINALS.matched(view_a, view_b).tolist() == list(range(14))
    expected = softplus(1 - (view_a * view_b).sum(dim=1)).mean()
    torch.testing.assert_close(MARGINALS(view_a, view_b), expected)


def test_negatives_under_marginals_alone_have_no_gradient():
    # In front of the normalization: what is left of the loss' gradient is that of the positives.
    raw_a, raw_b = (view.clone().requires_grad_() for view in views(5))
    v = 1 - (normalize(raw_a, dim=1) * normalize(raw_b, dim=1)).sum(dim=1)
    alignment_only = torch.autograd.grad(softplus(v).mean(), (raw_a, raw_b))
    worst_case = torch.autograd.grad(MARGINALS(raw_a, raw_b), (raw_a, raw_b))
    torch.testing.assert_close(worst_case, alignment_only)


def test_without_self_coupling_the_best_permutation_is_found():
    view_a, view_b = views(3)
    z = torch.cat([view_a, view_b])
    similarity = z @ z.T

    def allowed(permutation: tuple[int, ...]) -> bool:
        return all(i % 3 != j % 3 for i, j in enumerate(permutation))

    sums = [
        similarity[range(6), permutation].sum().item()
        for permutation in itertools.permutations(range(6))
        if allowed(permutation)
    ]
    found = NO_SELF.matched(view_a, view_b)
    assert allowed(tuple(found.tolist()))
    assert similarity[range(6), found].sum().item() == pytest.approx(max(sums))


@pytest.mark.parametrize(
    "adversary", [MARGINALS, NO_SELF, logistic(Transport(epsilon=0.3)), logistic(Uniform())]
)
def test_a_constant_map_has_the_loss_of_a_point_under_every_adversary(adversary):
    point = torch.tensor([[0.6, 0.0, 0.8]], dtype=torch.float64).expand(8, 3)
    assert adversary(point, point).item() == pytest.approx(math.log(2), abs=1e-6)


@pytest.mark.parametrize("adversary", [MARGINALS, NO_SELF, logistic(Transport(epsilon=0.3))])
def test_marginals_are_met(adversary):
    weights = adversary.weights(*views(8)).double()
    torch.testing.assert_close(weights.sum(dim=0), torch.ones(16, dtype=torch.float64), atol=1e-4, rtol=0)
    torch.testing.assert_close(weights.sum(dim=1), torch.ones(16, dtype=torch.float64), atol=1e-4, rtol=0)


def test_more_entropy_is_less_hard():
    # Section VI-A: the hardness of negatives decreases as epsilon increases.
    view_a, view_b = views(32)
    z = torch.cat([view_a, view_b])
    adversaries = [
        NO_SELF,
        *(logistic(Transport(epsilon=epsilon)) for epsilon in (0.1, 0.3, 1.0)),
        logistic(Uniform()),
    ]
    hardness = [
        (adversary.weights(view_a, view_b) * (z @ z.T)).sum(dim=1).mean().item() for adversary in adversaries
    ]
    assert hardness == sorted(hardness, reverse=True)


def test_the_encoder_is_the_same_for_every_adversary_of_a_seed():
    untrained = [train(adversary, (), seed=4).embeddings for adversary in (MARGINALS, NO_SELF)]
    assert (untrained[0] == untrained[1]).all()
    assert Encoder()(torch.zeros(2, 1, 8, 8)).norm(dim=1).tolist() == pytest.approx([1.0, 1.0])


def test_theorem_1_in_sixty_steps():
    """The claim of the entry, small: marginals alone collapse, entropy does not."""
    batches = draw_batches(60, seed=0)
    collapsed = train(MARGINALS, batches, seed=0).score
    spread = train(logistic(Transport(epsilon=0.3)), batches, seed=0).score
    assert collapsed.cosine > 0.99
    assert collapsed.loss == pytest.approx(math.log(2), abs=1e-3)
    assert collapsed.value == pytest.approx(0, abs=1e-3)
    assert spread.cosine < 0.6
    assert spread.loss < math.log(2)
    assert spread.knn > collapsed.knn + 0.2
    assert min(collapsed.value_marginals, spread.value_marginals) > -1e-5
