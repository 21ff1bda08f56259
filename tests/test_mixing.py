"""Mixed hard negatives: each anchor's loss as the sum over real and synthetic negatives, written out."""

from __future__ import annotations

import dataclasses

import pytest
import torch
from torch import Tensor
from torch.nn.functional import normalize, softplus

import tammes
from tammes import HardMixing, Pairs, Queue
from tammes.group import Single
from tammes.reduce import KeyRanges, Negatives, mixtures

T = 0.4
MIXING = HardMixing(hardest=4, pairs=6, with_anchor=5)


def rows(count: int, seed: int) -> Tensor:
    return torch.randn(count, 5, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def seeded() -> torch.Generator:
    return torch.Generator().manual_seed(7)


def made_for(anchors: Tensor, candidates: Tensor, keys: Tensor, others: Tensor | None) -> Tensor:
    """The mixtures of a call with `seeded`, whose seed is drawn as the objective draws it."""
    ranges = KeyRanges(keys=keys) if others is None else KeyRanges(keys=keys, candidate_keys=others)
    negatives = Negatives(
        anchors=anchors, ranges=ranges, bound=1.0, candidates=None if others is None else candidates
    )
    seed = int(torch.randint(2**62, (), generator=seeded()))
    return mixtures(negatives, hardest=4, pairs=6, with_anchor=5, seed=seed)


@pytest.mark.parametrize("beta", [0.0, 1.0])
def test_one_way_pairs_have_the_value_and_the_gradient_of_the_formula(beta: float) -> None:
    """InfoNCE over N + s + s' negatives, weighted by e^{beta l}: real and synthetic ones alike."""
    a, b, ids = rows(6, 1).requires_grad_(), rows(6, 2).requires_grad_(), torch.arange(6)
    objective = tammes.Objective(temperature=T, mixing=MIXING, coupling=tammes.Hard(beta=beta))
    found = objective(Pairs(anchors=a, ids=ids, candidates=b, candidate_ids=ids), generator=seeded())
    v, u = normalize(a, dim=1), normalize(b, dim=1)
    made = made_for(v.detach(), u.detach(), ids, ids)
    losses = []
    for i in range(6):
        negatives = torch.cat([u[ids != i], made[i]]) @ v[i] / T
        weights = torch.softmax(beta * negatives, 0) * len(negatives)
        losses.append(softplus(torch.log((weights * negatives.exp()).sum()) - v[i] @ u[i] / T))
    expected = torch.stack(losses).mean()
    torch.testing.assert_close(found, expected)
    for one, other in zip(*(torch.autograd.grad(each, (a, b)) for each in (found, expected)), strict=True):
        torch.testing.assert_close(one, other)


@pytest.mark.parametrize(
    "contrast",
    [tammes.InfoNCE(), tammes.BCL(), tammes.Softplus(), tammes.Sigmoid(), tammes.Triplet(margin=0.3)],
    ids=repr,
)
@pytest.mark.parametrize("coupling", [tammes.Uniform(), tammes.Hard(beta=0.7)], ids=repr)
def test_mixtures_of_one_negative_are_copies_of_it(
    contrast: tammes.Contrast, coupling: tammes.Coupling
) -> None:
    plain = tammes.Objective(temperature=T, coupling=coupling, contrast=contrast)
    mixed = dataclasses.replace(plain, mixing=HardMixing(hardest=3, pairs=5, with_anchor=0))
    a, b, ids = rows(2, 1).requires_grad_(), rows(2, 2), torch.arange(2)
    found = mixed(Pairs(anchors=a, ids=ids, candidates=b, candidate_ids=ids))
    copied = [
        plain(
            Pairs(
                anchors=a[i : i + 1],
                ids=ids[i : i + 1],
                candidates=torch.cat([b[i : i + 1], b[1 - i].expand(6, -1)]),
                candidate_ids=torch.tensor([i, *[1 - i] * 6]),
            )
        )
        for i in range(2)
    ]
    expected = (copied[0] + copied[1]) / 2
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(*(torch.autograd.grad(each, a)[0] for each in (found, expected)))


def test_mixtures_lie_between_hard_negatives() -> None:
    v = normalize(rows(9, 1), dim=1)
    negatives = Negatives(anchors=v, ranges=KeyRanges(keys=torch.arange(9) // 3), bound=1.0)
    made = mixtures(negatives, hardest=2, pairs=40, with_anchor=30, seed=0)
    torch.testing.assert_close(made.norm(dim=2), torch.ones(9, 70, dtype=torch.float64))
    for i in range(9):
        others = [j for j in range(9) if j // 3 != i // 3]
        hard = sorted(others, key=lambda j, i=i: -float(v[i] @ v[j]))[:2]
        for k in range(40):  # both of the two: a nonnegative combination of them
            shares = torch.linalg.lstsq(v[hard].T, made[i, k]).solution
            torch.testing.assert_close(v[hard].T @ shares, made[i, k])
            assert bool((shares >= 0).all())
        for k in range(40, 70):
            fits = [torch.linalg.lstsq(torch.stack([v[i], v[j]]).T, made[i, k]).solution for j in hard]
            errors = [
                float((torch.stack([v[i], v[j]]).T @ shares - made[i, k]).norm())
                for j, shares in zip(hard, fits, strict=True)
            ]
            shares = fits[int(errors[1] < errors[0])]
            assert min(errors) < 1e-9
            assert 0 <= shares[0] <= shares[1]  # less of the anchor than of the negative


def test_a_generator_repeats_the_mixtures_and_a_queue_feeds_them() -> None:
    queue = Queue(size=8, dim=5, dtype=torch.float64)
    queue(rows(8, 3), rows(8, 4))
    objective = tammes.recipes.mochi(temperature=T, hardest=4, pairs=6, with_anchor=5)
    queue.eval()
    losses = [
        objective(queue(rows(4, 5), rows(4, 6)), generator=generator)
        for generator in (seeded(), seeded(), torch.Generator().manual_seed(8))
    ]
    assert losses[0] == losses[1] != losses[2]
    assert objective.last["negatives"] == 11.0  # those of S; mixtures are counted beside them
    assert losses[0] > tammes.recipes.simclr(temperature=T)(queue(rows(4, 5), rows(4, 6)))


@pytest.mark.parametrize("each", [False, True])
def test_a_learned_temperature_gets_its_gradient(each: bool) -> None:
    objective = tammes.Objective(temperature=T, mixing=HardMixing(hardest=4, pairs=6, with_anchor=0))
    views = rows(4, 1), rows(4, 2)
    value = (
        torch.linspace(0.3, 0.6, 4, dtype=torch.float64) if each else torch.tensor(0.5, dtype=torch.float64)
    )

    def loss(temperature: Tensor) -> Tensor:
        return objective(*views, temperature=temperature, generator=seeded())

    assert torch.autograd.gradcheck(loss, value.requires_grad_())


def test_what_is_refused() -> None:
    with pytest.raises(ValueError, match="nothing is mixed"):
        HardMixing(pairs=0, with_anchor=0)
    with pytest.raises(ValueError, match="hardest must be an integer of at least 1"):
        HardMixing(hardest=0)
    for parts, said in (
        ({"normalize": False}, "makes unit vectors"),
        ({"coupling": tammes.Transport(epsilon=0.3)}, "transports a batch to itself"),
        ({"correction": tammes.Debias(class_prior=0.1)}, "classes of real candidates"),
        (
            {"perturbation": tammes.FeatureModification(epsilon=0.1, form=tammes.Renormalized())},
            "does not move the negatives",
        ),
        ({"contrast": tammes.Hinge()}, "looks at one real negative"),
        ({"mixing": 3}, "mixing must be a HardMixing, got 3"),
    ):
        with pytest.raises(ValueError, match=said):
            tammes.Objective(**{"temperature": T, "mixing": MIXING, **parts})  # type: ignore[arg-type]

    class Two(Single):
        @property
        def size(self) -> int:
            return 2

    ids = torch.arange(3)
    pairs = Pairs(anchors=rows(3, 1), ids=ids, candidates=rows(3, 2), candidate_ids=ids, group=Two())
    with pytest.raises(ValueError, match="of the candidates of one process"):
        tammes.Objective(temperature=T, mixing=MIXING)(pairs)
