"""Each strategy draws what its line of the algorithm says, within bounds, and says what it lacks."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest
import torch

from tammes.latent import (
    ActiveSelection,
    Adversarial,
    Anchors,
    AnchorSampler,
    BatchedEncoders,
    Classes,
    ClassPreserving,
    EncoderShape,
    FromData,
    GaussianNoise,
    Laboratory,
    LatentModel,
    LatentPerturbation,
    Mixing,
    NearBoundary,
    ObservationNoise,
    PositiveSampler,
    RoundState,
    SampledPositives,
    Strategy,
    Streams,
    UniformOnSphere,
    algorithm_1,
    algorithm_2,
)
from tammes.positives import Halving, Quantile

SEEDS = (0, 1)
CLASSES = Classes(count=2, spread=GaussianNoise(scale=0.3))
MODEL = LatentModel(informative=3, uninformative=3, classes=CLASSES, mixing=Mixing(observed=12, width=16))
N = 40


def round_state(model: LatentModel = MODEL, *, t: int = 0) -> RoundState:
    world = model.draw(SEEDS)
    first = world.sample(100, Streams.of(SEEDS, "first"))
    encoders = BatchedEncoders(EncoderShape(dim=4), observed=12, streams=Streams.of(SEEDS, "encoder"))
    return RoundState(
        world=world,
        encoder=encoders.part(slice(None)),
        known=world.observe(first),
        labels=first.labels,
        round=t,
        streams=Streams.of(SEEDS, "draw"),
    )


def anchors(now: RoundState, choice: AnchorSampler = FromData()) -> Anchors:  # noqa: B008
    return choice(N, now)


def test_perturbed_positives_move_each_sphere_in_its_own_way() -> None:
    now = round_state()
    still, moved = GaussianNoise(scale=0.0), GaussianNoise(scale=0.3)
    drawn = anchors(now)
    same = LatentPerturbation(informative=still, uninformative=still)(drawn, now).observations
    torch.testing.assert_close(same, drawn.observations)

    def change(positives: PositiveSampler) -> float:
        return float((positives(drawn, now).observations - drawn.observations).square().mean())

    small = change(LatentPerturbation(informative=moved, uninformative=moved))
    assert 0 < change(LatentPerturbation(informative=moved, uninformative=still)) < small
    assert small < change(LatentPerturbation(informative=moved, uninformative=UniformOnSphere()))


@pytest.mark.equal_bits
def test_class_preserving_positives_are_of_the_class() -> None:
    """With a nearly noiseless class and a linear g, the class can be read off the observation."""
    classes = Classes(count=3, spread=GaussianNoise(scale=0.02))
    now = round_state(replace(MODEL, uninformative=0, classes=classes, mixing=Mixing(observed=12, depth=0)))
    drawn = anchors(now)
    means = now.world.mixing(now.world.classes.means)  # type: ignore[union-attr]
    found = torch.cdist(ClassPreserving()(drawn, now).observations, means).argmin(dim=-1)
    assert drawn.latents.labels is not None
    assert torch.equal(found, drawn.latents.labels)


@pytest.mark.equal_bits
def test_active_positives_lie_near_the_boundary_and_tries_are_counted() -> None:
    now = round_state()
    drawn = anchors(now)
    acceptance = Quantile(share=0.3)
    bar = acceptance.threshold(now.round, now.known_distances)[:, None]
    found = ActiveSelection(proposal=ObservationNoise(scale=0.4), acceptance=acceptance, tries=40, at_once=7)(
        drawn, now
    )
    assert found.tries is not None
    assert found.missed is not None
    distances = now.distances(found.observations)
    assert torch.equal(distances < bar, ~found.missed)
    assert bool((found.tries[found.missed] == 40).all())
    assert bool((found.tries[~found.missed] <= 40).all())
    assert 1 < float(found.tries.double().mean()) < 40
    # Whoever finds none has the nearest of what was tried: nearer than one augmentation.
    once = now.distances(ObservationNoise(scale=0.4)(drawn, now).observations)
    assert float(distances.mean()) < float(once.mean())


def test_with_everything_accepted_active_takes_the_first_candidate() -> None:
    found = ActiveSelection(
        proposal=ObservationNoise(scale=0.2), acceptance=Halving(lower_bound=1.0, start=8.0)
    )(anchors(round_state()), round_state())
    assert found.tries is not None
    assert bool((found.tries == 1).all())
    assert not bool(found.missed.any())  # type: ignore[union-attr]


def test_a_region_that_nothing_reaches_is_refused_with_what_to_change() -> None:
    active = ActiveSelection(
        proposal=ObservationNoise(scale=0.01), acceptance=Halving(lower_bound=1e-9), tries=20
    )
    with pytest.raises(ValueError, match=r"of 40 anchors with 20 tries each, the nearest came within .* of"):
        active(anchors(round_state(t=99)), round_state(t=99))
    with pytest.raises(ValueError, match=r"raise the threshold .* perturb more in the proposal, or allow"):
        active(anchors(round_state(t=99)), round_state(t=99))


@pytest.mark.equal_bits
def test_anchors_near_the_boundary_are_nearer_than_others() -> None:
    plain, chosen = anchors(round_state()), anchors(round_state(), NearBoundary(of=6))
    now = round_state()
    nearer, usual = (float(now.distances(a.observations).mean()) for a in (chosen, plain))
    assert nearer < 0.5 * usual
    torch.testing.assert_close(now.world.observe(chosen.latents), chosen.observations)
    first = NearBoundary(of=1)(N, round_state())
    assert torch.equal(first.observations, plain.observations)


def test_adversarial_positives_change_the_scores_more_and_stay_within_the_ball() -> None:
    now = round_state()
    drawn = anchors(now)
    start = ObservationNoise(scale=0.05)(drawn, round_state()).observations
    moved = Adversarial(proposal=ObservationNoise(scale=0.05), radius=0.2)(drawn, round_state()).observations

    def change(x: torch.Tensor) -> torch.Tensor:
        scores = [now.classifier.scores(now.encoder(each)) for each in (x, drawn.observations)]
        return (scores[0] - scores[1]).square().sum(-1)

    assert bool((change(moved) > change(start)).all())
    away = (moved - start).square().mean(-1).sqrt()
    assert 0.1 < float(away.max()) < 0.2 + 1e-5
    assert not moved.requires_grad


def test_only_the_signed_margin_moves_toward_the_other_class() -> None:
    now = round_state()
    drawn = anchors(now)
    labels = drawn.latents.labels
    assert labels is not None
    noise = ObservationNoise(scale=0.05)
    squared, signed = (
        Adversarial(proposal=noise, radius=0.2, signed=signed)(drawn, round_state())
        for signed in (False, True)
    )

    def margins(x: torch.Tensor) -> torch.Tensor:
        return now.classifier.margins(now.encoder(x), labels)

    start = noise(drawn, round_state()).observations
    assert bool((margins(signed.observations) < margins(start)).all())
    assert float((signed.observations - start).square().mean(-1).sqrt().max()) < 0.2 + 1e-5
    for found in (squared, signed):
        assert found.missed is not None
        deeper = margins(found.observations) > margins(drawn.observations)
        torch.testing.assert_close(found.missed, deeper)
    assert squared.missed is not None
    assert 0.2 < float(squared.missed.double().mean()) < 0.8
    assert signed.missed is not None
    assert not bool(signed.missed.any())


def test_a_learning_rate_of_zero_leaves_the_encoders_untrained() -> None:
    lab = Laboratory(
        model=MODEL, encoder=EncoderShape(dim=4), temperature=0.5, rounds=3, pairs=16, learning_rate=0.0
    )
    trained = lab.train({"it": algorithm_2.active()}, SEEDS)["it"]
    first = BatchedEncoders(lab.encoder, observed=12, streams=Streams.of(SEEDS, "encoder"))
    x = trained.state.known
    torch.testing.assert_close(trained.state.encoder(x), first(x).detach(), atol=0, rtol=0)


def test_thresholds_fall_and_follow() -> None:
    """Algorithm 1 counts rounds from 0: before a_1 = pi there is a_0 = 2 pi."""
    halving = Halving(lower_bound=0.1)
    values = [float(halving.threshold(t, round_state(t=t).known_distances)[0]) for t in range(8)]
    assert values == pytest.approx([2 * torch.pi * 0.5**t for t in range(6)] + [0.1, 0.1], abs=1e-6)
    now = round_state()
    torch.testing.assert_close(now.known_distances, now.distances(now.known), atol=0, rtol=0)
    bar = Quantile(share=0.25).threshold(0, now.known_distances)[:, None]
    inside = (now.known_distances <= bar).double().mean(dim=1)
    torch.testing.assert_close(inside, torch.full((2,), 0.25).double())


@pytest.mark.parametrize(
    ("strategy", "words"),
    [
        (algorithm_1.active(acceptance=Quantile(share=0.5)), "of latent classes needs labels"),
        (
            algorithm_1.double_active(acceptance=Quantile(share=0.5)),
            "of latent classes needs labels",
        ),
        (algorithm_1.adversarial(), "of latent classes needs labels"),
        (algorithm_2.class_preserving(), "ClassPreserving needs labels, and this LatentModel has none"),
    ],
)
def test_strategies_that_need_labels_say_so(strategy: Strategy, words: str) -> None:
    lab = Laboratory(
        model=replace(MODEL, classes=None), encoder=EncoderShape(dim=3), temperature=0.5, rounds=1, pairs=8
    )
    with pytest.raises(ValueError, match=words):
        lab.train({"it": strategy}, SEEDS)
    assert lab.train({"it": algorithm_2.active()}, SEEDS)["it"].state.round == 1


def test_one_class_has_no_boundary() -> None:
    one = replace(MODEL, classes=Classes(count=1, spread=GaussianNoise(scale=0.3)))
    with pytest.raises(ValueError, match=r"a class boundary needs two classes, got one"):
        round_state(one).distances(round_state(one).known)


@dataclass(frozen=True, kw_only=True)
class Opposite(PositiveSampler):
    """A strategy of one's own: the uninformative latents mirrored."""

    def __call__(self, anchors: Anchors, state: RoundState) -> SampledPositives:
        z = anchors.latents
        assert z.uninformative is not None
        return SampledPositives(observations=state.world.observe(replace(z, uninformative=-z.uninformative)))


@dataclass(frozen=True, kw_only=True)
class TooFew(PositiveSampler):
    def __call__(self, anchors: Anchors, state: RoundState) -> SampledPositives:
        return SampledPositives(observations=anchors.observations[:, :1])


def test_a_strategy_of_ones_own_is_trained_as_any_other() -> None:
    lab = Laboratory(model=MODEL, encoder=EncoderShape(dim=4), temperature=0.5, rounds=3, pairs=16)
    trained = lab.train({"mine": Strategy(positives=Opposite()), "baseline": algorithm_2.baseline()}, SEEDS)
    assert trained["mine"].embed(5)[1].shape == (2, 5, 4)
    assert trained["mine"].tries.tolist() == [1.0, 1.0]
    with pytest.raises(ValueError, match=r"TooFew must give a positive for each anchor, \(2, 16, 12\); got"):
        lab.train({"mine": Strategy(positives=TooFew())}, SEEDS)


def test_the_data_set_grows_or_is_drawn_anew() -> None:
    lab = Laboratory(model=MODEL, encoder=EncoderShape(dim=4), temperature=0.5, rounds=3, pairs=16)
    sizes = {
        accumulate: [
            each["it"].state.known.shape[1]
            for each in replace(lab, accumulate=accumulate).training({"it": algorithm_1.random()}, SEEDS)
        ]
        for accumulate in (False, True)
    }
    assert sizes == {False: [16, 16, 16], True: [16, 32, 48]}


def test_a_run_that_is_lost_ends() -> None:
    lab = Laboratory(model=MODEL, encoder=EncoderShape(dim=4), temperature=0.5, rounds=1, pairs=8)
    lost = replace(lab, learning_rate=1e30).train({"it": algorithm_2.active()}, SEEDS)["it"]
    with pytest.raises(ValueError, match=r"embeddings are infinite or NaN"):
        lost.embed(4)
    with pytest.raises(ValueError, match=r"n must be an integer of at least 1, got 0"):
        lost.embed(0)
    with pytest.raises(ValueError, match=rf"the loss of it, seed {SEEDS[0]}, is not finite"):
        replace(lab, learning_rate=1e30, rounds=5).train({"it": algorithm_2.active()}, SEEDS)


def test_settings_out_of_range_are_refused() -> None:
    with pytest.raises(ValueError, match=r"ActiveSelection.tries must be an integer of at least 16, got 8"):
        ActiveSelection(proposal=ObservationNoise(scale=0.1), acceptance=Quantile(share=0.5), tries=8)
    with pytest.raises(ValueError, match=r"ObservationNoise.scale must be a finite number at least 0, got"):
        ObservationNoise(scale=-1)
    with pytest.raises(ValueError, match=r"Adversarial.radius must be a finite number above 0, got 0"):
        Adversarial(proposal=ObservationNoise(scale=0.1), radius=0)
    with pytest.raises(ValueError, match=r"radius must be a finite number above 0, got 0"):
        algorithm_2.active(radius=0)
    with pytest.raises(ValueError, match=r"Strategy.positives must be a PositiveSampler, got 'active'"):
        Strategy(positives="active")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"Laboratory.pairs must be an integer of at least 2, got 1"):
        Laboratory(model=MODEL, encoder=EncoderShape(dim=4), temperature=0.5, pairs=1)
    lab = Laboratory(model=MODEL, encoder=EncoderShape(dim=4), temperature=0.5)
    with pytest.raises(ValueError, match=r"seeds must differ"):
        lab.train({"it": algorithm_2.active()}, (1, 2, 1))
    with pytest.raises(ValueError, match=r"dtype must be torch.float32 or torch.float64, got torch.float16"):
        replace(lab, dtype=torch.float16).train({"it": algorithm_2.active()}, SEEDS)
    with pytest.raises(ValueError, match=r"device must be one that PyTorch finds here.*got 'nowhere'"):
        replace(lab, device="nowhere").train({"it": algorithm_2.active()}, SEEDS)
    with pytest.raises(ValueError, match=r"at least one strategy, got none"):
        lab.train({}, SEEDS)
    with pytest.raises(ValueError, match=r"give at least one seed"):
        lab.train({"it": algorithm_2.baseline()}, ())
