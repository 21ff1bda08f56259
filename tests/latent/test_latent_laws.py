"""Many runs as one model do what each would do alone, and the loss is that of a Tammes objective."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn.functional import normalize

from tammes import recipes
from tammes.latent import (
    Classes,
    EncoderShape,
    GaussianNoise,
    Laboratory,
    LatentModel,
    Mixing,
    Streams,
    algorithm_1,
    algorithm_2,
    contrastive_losses,
)
from tammes.pairs import Pairs
from tammes.positives import Quantile

SEEDS = (5, 2, 9)
MODEL = LatentModel(
    informative=3,
    uninformative=2,
    classes=Classes(count=2, spread=GaussianNoise(scale=0.3)),
    mixing=Mixing(observed=10, width=16),
)


def laboratory(**changed: object) -> Laboratory:
    settings: dict = {
        "model": MODEL,
        "encoder": EncoderShape(dim=4, width=12, depth=2),
        "temperature": 0.5,
        "rounds": 12,
        "pairs": 24,
        "batch": 24,
        "learning_rate": 1e-2,
        "dtype": torch.float64,
    }
    return Laboratory(**settings | changed)


def by_hand(seed: int) -> Tensor:
    """Embeddings after training of one seed: plain layers, one optimizer, a Tammes objective."""
    lab = laboratory()
    world = MODEL.draw((seed,), dtype=torch.float64)
    streams = Streams.of((seed,), "encoder", dtype=torch.float64)
    layers: list[nn.Module] = []
    for inputs, outputs in ((10, 12), (12, 12), (12, 4)):
        layer = nn.Linear(inputs, outputs, dtype=torch.float64)
        bound = inputs**-0.5
        with torch.no_grad():
            layer.weight.copy_(bound * (2 * streams.uniform(inputs, outputs)[0].T - 1))
            layer.bias.copy_(bound * (2 * streams.uniform(1, outputs)[0, 0] - 1))
        layers += [layer, nn.ReLU()]
    f = nn.Sequential(*layers[:-1])
    objective = recipes.simclr(temperature=lab.temperature)
    optimizer = torch.optim.Adam(f.parameters(), lr=lab.learning_rate)
    ids = torch.arange(lab.pairs)
    for t in range(lab.rounds):
        draw = Streams.of((seed,), f"round {t}", dtype=torch.float64)
        z = world.sample(lab.pairs, draw)
        assert z.uninformative is not None
        noise = GaussianNoise(scale=0.3)
        moved = type(z)(informative=noise(z.informative, draw), uninformative=noise(z.uninformative, draw))
        loss = objective(
            Pairs(
                anchors=f(world.observe(moved)[0]),
                ids=ids,
                candidates=f(world.observe(z)[0]),
                candidate_ids=ids,
            )
        )
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    test = world.sample(50, Streams.of((seed,), "measure", dtype=torch.float64))
    with torch.no_grad():
        return normalize(f(world.observe(test)[0]), dim=-1)


def test_many_runs_at_once_are_the_loop_over_seeds() -> None:
    trained = laboratory().train({"a": algorithm_2.info_active(), "b": algorithm_2.baseline()}, SEEDS)
    _, embeddings = trained["b"].embed(50)
    for run, seed in enumerate(SEEDS):
        torch.testing.assert_close(embeddings[run], by_hand(seed), atol=1e-9, rtol=1e-9)


@pytest.mark.parametrize(
    "strategy",
    [
        algorithm_1.random(),
        algorithm_1.active(acceptance=Quantile(share=0.4)),
        algorithm_1.double_active(acceptance=Quantile(share=0.4)),
        algorithm_1.adversarial(),
        algorithm_2.class_preserving(),
    ],
    ids=["random", "active", "double-active", "adversarial", "class-preserving"],
)
def test_a_run_does_not_depend_on_what_else_is_trained(strategy) -> None:  # type: ignore[no-untyped-def]
    lab = laboratory(rounds=4, updates=3, accumulate=True, own_negatives=True, batch=16)
    together = lab.train({"other": algorithm_2.active(), "this": strategy}, SEEDS)["this"]
    alone = lab.train({"this": strategy}, (2,))["this"]
    torch.testing.assert_close(together.embed(40)[1][1:2], alone.embed(40)[1], atol=1e-8, rtol=1e-8)
    assert float(together.tries[1]) == float(alone.tries[0])
    assert len(together.state.known[0]) == 4 * 24


@given(n=st.integers(2, 12), d=st.integers(2, 8), temperature=st.floats(0.05, 2.0), seed=st.integers(0, 99))
def test_the_loss_and_its_gradient_are_those_of_simclr_on_the_positives(
    n: int, d: int, temperature: float, seed: int
) -> None:
    generator = torch.Generator().manual_seed(seed)

    def rows() -> Tensor:
        drawn = torch.randn(n, d, dtype=torch.float64, generator=generator)
        return normalize(drawn, dim=-1).requires_grad_()

    x, x_plus = rows(), rows()
    ids = torch.arange(n)
    pairs = Pairs(anchors=x_plus, ids=ids, candidates=x, candidate_ids=ids)
    expected = recipes.simclr(temperature=temperature)(pairs)
    found = contrastive_losses(x[None], x_plus[None], temperature=temperature)[0]
    torch.testing.assert_close(found, expected)
    # The objective brings its rows to unit length: only what lies along the sphere is compared.
    for row, wanted, got in zip(
        (x, x_plus),
        torch.autograd.grad(expected, (x, x_plus)),
        torch.autograd.grad(found, (x, x_plus)),
        strict=True,
    ):
        row = row.detach()
        torch.testing.assert_close(got - (got * row).sum(-1, keepdim=True) * row, wanted)


def test_negatives_of_their_own_are_those_of_every_pair() -> None:
    x, x_plus, x_minus = (normalize(torch.randn(1, n, 3).double(), dim=-1) for n in (6, 6, 5))
    found = contrastive_losses(x, x_plus, x_minus, temperature=0.3)
    objective = recipes.simclr(temperature=0.3)
    each = [
        objective(
            Pairs(
                anchors=x_plus[0, i : i + 1],
                ids=torch.tensor([0]),
                candidates=torch.cat([x[0, i : i + 1], x_minus[0]]),
                candidate_ids=torch.arange(6),
            )
        )
        for i in range(6)
    ]
    torch.testing.assert_close(found[0], torch.stack(each).mean())


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_extreme_temperatures_give_finite_losses(dtype: torch.dtype) -> None:
    z = torch.eye(4, dtype=dtype)[None]
    assert float(contrastive_losses(z, z, temperature=1e-3)) == 0.0
    opposite = float(contrastive_losses(z, -z, z, temperature=1e-3))
    assert opposite == pytest.approx(1000, rel=0.01)
    flat = float(contrastive_losses(z, z, temperature=1e3))
    assert flat == pytest.approx(math.log(4), rel=0.02)


def test_a_loss_without_negatives_is_refused() -> None:
    z = torch.eye(2)[None, :1]
    with pytest.raises(ValueError, match=r"at least two pairs, each the other's negative"):
        contrastive_losses(z, z, temperature=0.5)
    with pytest.raises(ValueError, match=r"of one shape \(runs, n, d\), got \(1, 1, 2\) and \(1, 2, 2\)"):
        contrastive_losses(z, torch.eye(2)[None], temperature=0.5)
    with pytest.raises(ValueError, match=r"temperature must be a finite number above 0, got 0"):
        contrastive_losses(z, z, z, temperature=0)
