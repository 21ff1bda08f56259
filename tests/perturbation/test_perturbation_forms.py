"""Forms of feature modification: each against its equations, written out for one anchor at a time."""

from __future__ import annotations

import dataclasses
import itertools
import math

import pytest
import torch
from torch import Tensor
from torch.nn.functional import cosine_similarity, normalize, softplus

import tammes
from tammes import Pairs, Queue
from tammes.group import Single
from tammes.perturbation import (
    BeforeNormalization,
    Ellipsoid,
    FeatureModification,
    ModificationForm,
    Renormalized,
    Shifted,
)
from tammes.reduce import Dense, moved

T = 0.4
EPSILON = 0.3
AXES = (1.0, 0.2, 0.0, 0.5, 2.0)
FORMS = [
    Shifted(),
    Ellipsoid(axes=AXES),
    Renormalized(),
    BeforeNormalization(steps=1),
    BeforeNormalization(steps=4),
]
MOVING = FORMS[2:]


def modified_similarity(form: ModificationForm, v: Tensor, u: Tensor, sign: float, epsilon: float) -> Tensor:
    """Similarity of the raw anchor v and the raw candidate u after its move: constant, in the raw space."""
    constant = v.detach() / v.detach().norm()
    if isinstance(form, Shifted):
        return torch.dot(v / v.norm(), u / u.norm()) + sign * epsilon
    if isinstance(form, Ellipsoid):
        axes = torch.tensor(form.axes, dtype=v.dtype)
        delta = epsilon * axes**2 * constant / (axes * constant).norm()  # argmax of v . delta
        return torch.dot(v / v.norm(), u / u.norm() + sign * delta)
    if isinstance(form, Renormalized):
        return cosine_similarity(v, u / u.norm() + sign * epsilon * constant, dim=0)
    assert isinstance(form, BeforeNormalization)
    at = u.detach()
    for _ in range(form.steps):  # Lemma 9, with the sign of the proof for v+
        at = at + sign * epsilon / form.steps * (
            constant - cosine_similarity(v, at, dim=0).detach() * at / at.norm()
        )
    return cosine_similarity(v, u + (at - u.detach()), dim=0)


def reference(
    modification: FeatureModification, anchors: Tensor, candidates: Tensor, ids: Tensor, others: Tensor
) -> Tensor:
    """InfoNCE, plain and modified, over all anchors; a row with itself (the same tensor) is no pair."""
    losses = []
    same = anchors is candidates
    for i, v in enumerate(anchors):
        plain, worst = [], []
        negatives = [j for j in range(len(candidates)) if others[j] != ids[i]]
        positives = [p for p in range(len(candidates)) if others[p] == ids[i] and not (same and p == i)]

        def logits(epsilon: float, columns: list[int], sign: float, v: Tensor = v) -> Tensor:
            form = modification.form if epsilon else Shifted()
            found = [modified_similarity(form, v, candidates[j], sign, epsilon) for j in columns]
            return torch.stack(found) / T

        for epsilon, into in ((0.0, plain), (modification.epsilon, worst)):
            total = torch.logsumexp(logits(epsilon, negatives, 1.0), 0)
            into.append(softplus(total - logits(epsilon, positives, -1.0)).mean())
        alpha = modification.alpha
        divisor = modification.divisor or 1 + alpha
        losses.append(worst[0] if alpha == math.inf else (plain[0] + alpha * worst[0]) / divisor)
    return torch.stack(losses).mean()


def rows(count: int, seed: int = 0) -> Tensor:
    """Raw embeddings of lengths between about 1 and 4, away from the length of a move."""
    generator = torch.Generator().manual_seed(seed)
    directions = normalize(torch.randn(count, len(AXES), generator=generator, dtype=torch.float64), dim=1)
    return directions * (1 + 3 * torch.rand(count, 1, generator=generator, dtype=torch.float64))


def objective(modification: FeatureModification) -> tammes.Objective:
    return tammes.Objective(temperature=T, perturbation=modification)


@pytest.mark.parametrize("form", FORMS, ids=repr)
@pytest.mark.parametrize(("alpha", "divisor"), [(1.0, None), (0.5, 2.0), (math.inf, None)])
def test_two_views_have_the_value_and_the_gradient_of_the_equations(
    form: ModificationForm, alpha: float, divisor: float | None
) -> None:
    modification = FeatureModification(epsilon=EPSILON, alpha=alpha, divisor=divisor, form=form)
    a, b = rows(5, 1).requires_grad_(), rows(5, 2).requires_grad_()
    found = objective(modification)(a, b)
    both, ids = torch.cat([a, b]), torch.arange(5).repeat(2)
    expected = reference(modification, both, both, ids, ids)
    torch.testing.assert_close(found, expected)
    for one, other in zip(*(torch.autograd.grad(loss, (a, b)) for loss in (found, expected)), strict=True):
        torch.testing.assert_close(one, other)


@pytest.mark.parametrize("form", FORMS, ids=repr)
def test_a_queue_has_the_value_and_the_gradient_of_the_equations(form: ModificationForm) -> None:
    """MoCo: the queries are modified against the keys of the batch and those of the queue."""
    modification = FeatureModification(epsilon=EPSILON, form=form)
    queue = Queue(size=6, dim=len(AXES), dtype=torch.float64)
    queue(rows(6, 3), rows(6, 4), ids=torch.arange(10, 16))
    queries, keys = rows(4, 5).requires_grad_(), rows(4, 6)
    found = objective(modification)(queue(queries, keys, ids=torch.arange(4)))
    candidates = torch.cat([keys, rows(6, 4)])
    expected = reference(
        modification, queries, candidates, torch.arange(4), torch.cat([torch.arange(4), torch.arange(10, 16)])
    )
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(
        *(torch.autograd.grad(loss, queries)[0] for loss in (found, expected)), rtol=1e-6, atol=1e-8
    )


@pytest.mark.parametrize("form", FORMS, ids=repr)
def test_several_positives_are_averaged_outside_the_logarithm(form: ModificationForm) -> None:
    ids = torch.tensor([0, 1, 0, 2, 1, 0, 2])
    z = rows(7, 7).requires_grad_()
    modification = FeatureModification(epsilon=EPSILON, form=form)
    found = objective(modification)(Pairs(anchors=z, ids=ids))
    expected = reference(modification, z, z, ids, ids)
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(*(torch.autograd.grad(loss, z)[0] for loss in (found, expected)))


@pytest.mark.parametrize("form", MOVING, ids=repr)
def test_blocks_of_rows_change_nothing(form: ModificationForm, monkeypatch: pytest.MonkeyPatch) -> None:
    modification = FeatureModification(epsilon=EPSILON, form=form)
    a, b = rows(6, 1).requires_grad_(), rows(6, 2)
    whole = objective(modification)(a, b)
    monkeypatch.setattr(moved, "_ENTRIES", 30)  # two rows of twelve
    parts = objective(modification)
    loss = parts(a, b)
    torch.testing.assert_close(loss, whole)
    torch.testing.assert_close(*(torch.autograd.grad(each, a)[0] for each in (loss, whole)))
    assert parts.last["overtaken_positives"] == overtaken(form, EPSILON, 6)


@pytest.mark.parametrize("form", MOVING, ids=repr)
@pytest.mark.parametrize(
    ("coupling", "correction", "contrast"),
    [
        (coupling, correction, contrast)
        for coupling, correction, contrast in itertools.product(
            [tammes.Uniform(), tammes.Hard(beta=1.0), tammes.Transport(epsilon=0.5)],
            [None, tammes.Debias(class_prior=0.1)],
            [tammes.InfoNCE(), tammes.BCL(), tammes.Softplus(), tammes.Triplet(margin=0.5)],
        )
        if correction is None or contrast.debiasable
    ],
    ids=repr,
)
@pytest.mark.filterwarnings("ignore::tammes.SinkhornWarning")
def test_a_move_of_no_length_is_the_plain_loss_with_every_part(
    form: ModificationForm,
    coupling: tammes.Coupling,
    correction: tammes.Correction | None,
    contrast: tammes.Contrast,
) -> None:
    """At epsilon = 0 the blocks of moved similarities are the unmoved ones, whatever reads them."""
    plain = tammes.Objective(temperature=T, coupling=coupling, correction=correction, contrast=contrast)
    ids = torch.tensor([0, 1, 0, 2, 1, 0, 2, 3, 3, 4, 4])
    z = rows(11, 7).requires_grad_()
    moving = dataclasses.replace(
        plain, perturbation=FeatureModification(epsilon=0.0, alpha=math.inf, form=form), engine=Dense()
    )
    losses = [
        each(Pairs(anchors=z, ids=ids)) for each in (moving, dataclasses.replace(plain, engine=Dense()))
    ]
    torch.testing.assert_close(*losses)
    torch.testing.assert_close(*(torch.autograd.grad(loss, z)[0] for loss in losses))


@pytest.mark.parametrize("form", MOVING, ids=repr)
def test_a_learned_temperature_gets_its_gradient(form: ModificationForm) -> None:
    views = rows(5, 1), rows(5, 2)
    moving = objective(FeatureModification(epsilon=EPSILON, form=form))

    def loss(temperature: Tensor) -> Tensor:
        return moving(*views, temperature=temperature)

    temperature = torch.tensor(0.5, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(loss, temperature)
    each = torch.linspace(0.3, 0.7, 5, dtype=torch.float64).requires_grad_()
    assert torch.autograd.gradcheck(loss, each)


@pytest.mark.parametrize("steps", [1, 3, 50])
def test_steps_stay_in_the_ball_and_below_its_worst_point(steps: int) -> None:
    """The worst point of a ball of radius epsilon about u is where a line through 0 touches it."""
    v, negatives = rows(1, 1)[0], rows(40, 2)
    moved_rows = negatives.clone()
    for _ in range(steps):
        cosine = cosine_similarity(v[None], moved_rows, dim=1)[:, None]
        along = v / v.norm() - cosine * normalize(moved_rows, dim=1)
        moved_rows = moved_rows + EPSILON / steps * along
    assert bool(((moved_rows - negatives).norm(dim=1) <= EPSILON).all())
    angle = torch.acos(cosine_similarity(v[None], negatives, dim=1))
    worst = torch.cos((angle - torch.asin(EPSILON / negatives.norm(dim=1))).clamp(min=0))
    reached = cosine_similarity(v[None], moved_rows, dim=1)
    assert bool((reached <= worst + 1e-12).all())
    assert bool((reached >= cosine_similarity(v[None], negatives, dim=1)).all())


def overtaken(form: ModificationForm, epsilon: float, count: int) -> float:
    both = torch.cat([rows(count, 1), rows(count, 2)])
    shares = []
    for i, v in enumerate(both):
        partner = (i + count) % (2 * count)
        negatives = [j for j in range(2 * count) if j not in (i, partner)]
        lowest = min(float(modified_similarity(form, v, both[j], 1.0, epsilon)) for j in negatives)
        shares.append(float(modified_similarity(form, v, both[partner], -1.0, epsilon)) < lowest)
    return sum(shares) / len(shares)


@pytest.mark.parametrize("form", FORMS, ids=repr)
@pytest.mark.parametrize("epsilon", [0.05, 0.6])
def test_the_share_of_overtaken_positives_is_measured(form: ModificationForm, epsilon: float) -> None:
    moving = objective(FeatureModification(epsilon=epsilon, form=form))
    a, b = rows(6, 1).requires_grad_(), rows(6, 2)
    moving(a, b)
    assert moving.last["overtaken_positives"] == pytest.approx(overtaken(form, epsilon, 6))


def test_equal_axes_are_a_ball() -> None:
    views = rows(6, 1), rows(6, 2)
    ball, ellipsoid = (
        objective(FeatureModification(epsilon=0.2, form=form))(*views)
        for form in (Shifted(), Ellipsoid(axes=(1.0,) * len(AXES)))
    )
    torch.testing.assert_close(ball, ellipsoid)


@pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("form", FORMS, ids=repr)
def test_a_low_temperature_is_finite_in_single_and_half_precision(
    form: ModificationForm, kind: torch.dtype
) -> None:
    a, b = rows(8, 1).to(kind).requires_grad_(), rows(8, 2).to(kind)
    steep = tammes.Objective(temperature=0.01, perturbation=FeatureModification(epsilon=0.1, form=form))
    loss = steep(a, b)
    loss.backward()
    assert bool(loss.isfinite())
    assert a.grad is not None
    assert bool(a.grad.isfinite().all())


@pytest.mark.parametrize("kind", [torch.float32, torch.float64])
@pytest.mark.parametrize("form", [Renormalized(), *(BeforeNormalization(steps=steps) for steps in (3, 10))])
@pytest.mark.parametrize("length", [1e-1, 1e-4, 1e-6])
def test_rows_much_shorter_than_a_move_have_the_loss_of_the_equations(
    length: float, form: ModificationForm, kind: torch.dtype
) -> None:
    modification = FeatureModification(epsilon=EPSILON, form=form)
    a, b = (length * rows(5, seed) for seed in (1, 2))
    found = objective(modification)(a.to(kind), b.to(kind))
    both, ids = torch.cat([a, b]), torch.arange(5).repeat(2)
    expected = reference(modification, both, both, ids, ids)
    torch.testing.assert_close(found.double(), expected, rtol=1e-4, atol=0)


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("form", [Renormalized(), BeforeNormalization(steps=10)])
def test_short_rows_along_the_anchor_are_finite(form: ModificationForm, sign: float) -> None:
    a = (1e-4 * rows(6)).float().requires_grad_()
    loss = objective(FeatureModification(epsilon=0.9999, form=form))(a, sign * a)
    loss.backward()
    assert bool(loss.isfinite())
    assert a.grad is not None
    assert bool(a.grad.isfinite().all())


def test_what_a_form_does_not_allow() -> None:
    with pytest.raises(ValueError, match=r"epsilon must be below 1 for Renormalized\(\), got 1.5"):
        FeatureModification(epsilon=1.5, form=Renormalized())
    with pytest.raises(ValueError, match="steps must be an integer of at least 1"):
        BeforeNormalization(steps=0)
    with pytest.raises(ValueError, match="axes must hold one number for each dimension"):
        Ellipsoid(axes=())
    for wrong in (1.0, [1.0, 0.5], torch.ones(2)):
        with pytest.raises(ValueError, match="one number for each dimension of the embeddings, as a tuple"):
            Ellipsoid(axes=wrong)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="axes must be a finite number at least 0"):
        Ellipsoid(axes=(1.0, -1.0))
    with pytest.raises(ValueError, match="one number for each of the 5 dimensions of the embeddings, got 2"):
        objective(FeatureModification(epsilon=0.1, form=Ellipsoid(axes=(1.0, 1.0))))(rows(4), rows(4, 1))


def test_what_moves_that_differ_cannot_do() -> None:
    moving = FeatureModification(epsilon=0.1, form=Renormalized())
    with pytest.raises(ValueError, match="normalize=False keeps lengths"):
        tammes.Objective(temperature=T, perturbation=moving, normalize=False)
    with pytest.raises(ValueError, match="looks at the hardest negative alone"):
        tammes.Objective(temperature=T, perturbation=moving, contrast=tammes.Hinge())


def test_moves_need_the_candidates_of_one_process() -> None:
    class Two(Single):
        @property
        def size(self) -> int:
            return 2

    moving = objective(FeatureModification(epsilon=0.1, form=Renormalized()))
    ids = torch.arange(3)
    pairs = Pairs(anchors=rows(3, 1), ids=ids, candidates=rows(3, 2), candidate_ids=ids, group=Two())
    with pytest.raises(ValueError, match="moves candidates of one process"):
        moving(pairs)
