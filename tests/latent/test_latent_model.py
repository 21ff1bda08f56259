"""The latent-variable model: classes where they should be, a g that can be undone, and what is refused."""

from __future__ import annotations

import warnings

import pytest
import torch

from tammes.latent import (
    Classes,
    GaussianNoise,
    LatentModel,
    MisesFisher,
    Mixing,
    OverlapWarning,
    RandomMeans,
    SeparatedMeans,
    Streams,
)

SEEDS = (0, 1, 2)


def closest(means: torch.Tensor) -> torch.Tensor:
    similarity = means @ means.mT
    return similarity.masked_fill(torch.eye(means.shape[1], dtype=torch.bool), -1).amax(dim=(1, 2))


@pytest.mark.parametrize(
    ("classes", "dim", "best"),
    [(2, 2, -1.0), (3, 2, -0.5), (5, 4, -0.25), (6, 3, 0.0), (8, 4, 0.0), (12, 3, 0.44721), (8, 2, 0.70711)],
)
def test_separated_means_solve_tammes_problem_where_the_solution_is_known(
    classes: int, dim: int, best: float
) -> None:
    found = closest(SeparatedMeans()(classes, dim, Streams.of(SEEDS, "means")))
    assert best - 1e-4 <= float(found.min()) <= float(found.max()) < best + 0.02


def test_means_differ_from_run_to_run() -> None:
    for placement in (SeparatedMeans(), RandomMeans()):
        first, second, _ = placement(4, 3, Streams.of(SEEDS, "means"))
        assert float((first - second).abs().max()) > 0.1
    one = SeparatedMeans()(1, 3, Streams.of(SEEDS, "means"))
    torch.testing.assert_close(one.norm(dim=-1), torch.ones(3, 1))


def test_latents_lie_around_the_mean_of_their_class() -> None:
    classes = Classes(count=3, spread=MisesFisher(concentration=200.0)).draw(4, Streams.of(SEEDS, "c"))
    latents, labels = classes.sample(500, Streams.of(SEEDS, "sample"))
    assert torch.equal((latents @ classes.means.mT).argmax(-1), labels)
    assert set(labels.flatten().tolist()) == {0, 1, 2}
    assert float(classes.overlap.max()) == 0


def test_classes_that_cannot_be_told_apart_are_warned_of_with_their_overlap() -> None:
    spread = GaussianNoise(scale=0.6)
    with pytest.warns(OverlapWarning, match=r"12 classes in 2 dimensions overlap; 6\d % of the latents"):
        drawn = Classes(count=12, spread=spread).draw(2, Streams.of(SEEDS, "c"))
    assert 0.5 < float(drawn.overlap.mean()) < 11 / 12
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Classes(count=4, spread=GaussianNoise(scale=0.3)).draw(2, Streams.of(SEEDS, "c"))


@pytest.mark.parametrize("depth", [0, 1, 3])
def test_mixing_can_be_undone_and_has_the_scale_it_should(depth: int) -> None:
    """Latents can be told apart by what is observed: distances shrink, but not to nothing."""
    z = torch.nn.functional.normalize(torch.randn(2, 400, 3), dim=-1)
    g = Mixing(observed=24, depth=depth, condition=3.0).draw(z, Streams.of((0, 1), "g"))
    x = g(z)
    torch.testing.assert_close(x.square().mean(dim=(1, 2)), torch.ones(2))
    ratio = torch.cdist(x, x) / torch.cdist(z, z).clamp(min=1e-6)
    off = ~torch.eye(400, dtype=torch.bool)
    assert float(ratio[:, off].min()) > 0.1
    assert len(g.layers) == depth + 1


def test_conditioning_is_that_of_every_linear_map() -> None:
    z = torch.nn.functional.normalize(torch.randn(1, 400, 6), dim=-1)
    for weight, _ in Mixing(observed=24, condition=7.0).draw(z, Streams.of((0,), "g")).layers:
        values = torch.linalg.svdvals(weight[0])
        assert float(values[0] / values[-1]) == pytest.approx(7.0, rel=1e-3)


def test_gain_says_how_far_from_linear_g_is() -> None:
    z = torch.nn.functional.normalize(torch.randn(1, 400, 4), dim=-1)

    def bent(gain: float) -> float:
        g = Mixing(observed=24, gain=gain).draw(z, Streams.of((0,), "g"))
        affine = torch.cat([z[0], torch.ones(400, 1)], dim=1)
        fitted = affine @ torch.linalg.lstsq(affine, g(z)[0]).solution
        return float((g(z)[0] - fitted).square().mean())

    assert bent(0.05) < 1e-3 < 0.02 < bent(0.5) < bent(3.0)


def test_the_uninformative_sphere_is_as_large_as_asked() -> None:
    def model(scale: float) -> LatentModel:
        return LatentModel(
            informative=3, uninformative=5, uninformative_scale=scale, mixing=Mixing(observed=8, depth=0)
        )

    def share(scale: float) -> float:
        """Of the observations' variance, what comes from the uninformative latents."""
        world = model(scale).draw((0,))
        latents = world.sample(2000, Streams.of((0,), "sample"))
        assert latents.labels is None
        assert latents.uninformative is not None
        weight = world.mixing.layers[0][0][0, 3:]
        own = scale * latents.uninformative[0] @ weight
        return float(own.var(dim=0).sum() / world.observe(latents)[0].var(dim=0).sum())

    assert share(0.1) < 0.05 < 0.3 < share(1.0) < 0.8 < 0.95 < share(10.0)


def test_a_world_is_the_same_alone_and_in_company() -> None:
    classes = Classes(count=3, spread=GaussianNoise(scale=0.3))
    model = LatentModel(informative=3, uninformative=2, classes=classes, mixing=Mixing(observed=8))
    together, alone = model.draw(SEEDS), model.draw((1,))
    z = together.sample(20, Streams.of(SEEDS, "sample"))
    x = together.observe(z)
    z1 = alone.sample(20, Streams.of((1,), "sample"))
    assert z.labels is not None
    assert z1.labels is not None
    assert torch.equal(z.labels[1:2], z1.labels)
    torch.testing.assert_close(x[1:2], alone.observe(z1), atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(together.part(slice(1, 2)).observe(z1), x[1:2], atol=1e-5, rtol=1e-5)


def test_what_makes_no_model_is_refused() -> None:
    mixing = Mixing(observed=8)
    with pytest.raises(ValueError, match=r"LatentModel.informative must be .* at least 2, got 1"):
        LatentModel(informative=1, mixing=mixing)
    with pytest.raises(ValueError, match=r"LatentModel.uninformative must be .* at least 2, got 1"):
        LatentModel(informative=2, uninformative=1, mixing=mixing)
    for wrong_count in (False, 0.0, -2):
        with pytest.raises(ValueError, match=r"LatentModel.uninformative must be an integer of at least 0"):
            LatentModel(informative=2, uninformative=wrong_count, mixing=mixing)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"uninformative_scale must be a finite number above 0, got 0: unin"):
        LatentModel(informative=2, uninformative=2, uninformative_scale=0, mixing=mixing)
    with pytest.raises(ValueError, match=r"Classes.count must be an integer of at least 1, got 0"):
        Classes(count=0, spread=GaussianNoise(scale=0.1))
    for wrong in ({"condition": 0.5}, {"gain": 0.0}, {"depth": -1}, {"width": 0}, {"observed": 1}):
        with pytest.raises(ValueError, match=f"Mixing.{next(iter(wrong))} must be"):
            Mixing(**{"observed": 8} | wrong)  # type: ignore[arg-type]
