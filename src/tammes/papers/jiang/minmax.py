"""Training of an encoder against an adversary that chooses the negatives: min over f of max over P."""

import dataclasses
from dataclasses import dataclass

import numpy as np
import torch
from scipy.optimize import linear_sum_assignment
from torch import Tensor, nn
from torch.nn.functional import normalize, softplus
from typing_extensions import override

from tammes import recipes
from tammes.coupling import Transport, Uniform
from tammes.data import Images, as_floats, digits
from tammes.diagnostics import effective_rank
from tammes.evaluation import knn_accuracy
from tammes.objective import Objective
from tammes.positives.augmentation import Handwriting
from tammes.report.curve import Curve

PAIRS, DIM, HIDDEN, LEARNING_RATE = 64, 3, 128, 1e-3


@dataclass(frozen=True, kw_only=True)
class Matching:
    """Exact worst case: the permutation of the batch with the greatest sum of similarities.

    Args:
        with_itself: whether x- may be x or x+ (all of Omega_mar) or neither.
    """

    with_itself: bool

    def matched(self, view_a: Tensor, view_b: Tensor) -> Tensor:
        """Return the index of each row's negative, (2 pairs,)."""
        z = normalize(torch.cat([view_a, view_b]), dim=1).detach().double()
        similarity = z @ z.T
        if not self.with_itself:
            ids = torch.arange(len(view_a)).repeat(2)
            # No sum of similarities outweighs a single forbidden pair.
            similarity[ids[:, None] == ids[None]] = -4.0 * len(z)
        return torch.as_tensor(linear_sum_assignment(similarity.numpy(), maximize=True)[1])

    def __call__(self, view_a: Tensor, view_b: Tensor) -> Tensor:
        """Return the mean of psi(v) under the chosen negatives; no gradient flows through the choice."""
        z = normalize(torch.cat([view_a, view_b]), dim=1)
        positives = normalize(torch.cat([view_b, view_a]), dim=1)
        v = (z * z[self.matched(view_a, view_b)]).sum(dim=1) - (z * positives).sum(dim=1)
        return softplus(v).mean()

    def weights(self, view_a: Tensor, view_b: Tensor) -> Tensor:
        """Return the chosen distribution of negatives, (2 pairs, 2 pairs); each row sums to one."""
        matched = self.matched(view_a, view_b)
        return torch.eye(len(matched))[matched]


Adversary = Matching | Objective
"""Choice of the negatives of a batch of two views, (pairs, dim) each."""


def logistic(coupling: Transport | Uniform) -> Objective:
    """Return the logistic loss of eq. 1 with q = 1 on unit vectors, under a coupling."""
    return dataclasses.replace(recipes.logistic(weight=1.0, coupling=coupling), normalize=True)


MARGINALS, NO_SELF = Matching(with_itself=True), Matching(with_itself=False)


@dataclass(frozen=True, kw_only=True)
class EncoderScore:
    """Measurements of one encoder on test images.

    Args:
        loss: mean of psi(v) under the adversary it was trained against.
        value: mean of v under that adversary.
        value_marginals: mean of v under the worst coupling of Omega_mar.
        value_no_self: mean of v under the worst permutation without self-coupling.
        self_matched: share of the anchors that the worst coupling of Omega_mar matches with themselves.
        cosine: mean cosine of two images; 1 for a constant map, 0 for one spread evenly.
        rank: effective rank of the embeddings, not centered: 1 for a constant map, at most 3.
        knn: accuracy of 20 nearest neighbors on the embeddings.
    """

    loss: float
    value: float
    value_marginals: float
    value_no_self: float
    self_matched: float
    cosine: float
    rank: float
    knn: float


@dataclass(frozen=True, kw_only=True, eq=False)
class Trained:
    """Encoder after training, with its curves.

    Args:
        score: measurements after training.
        embeddings: embeddings of the test images, (test images, 3), of unit length.
        loss: loss under its own adversary over steps; the last point is on test images.
        cosine: mean cosine of the batch's images over steps; the last point is on test images.
    """

    score: EncoderScore
    embeddings: np.ndarray
    loss: Curve
    cosine: Curve


class Encoder(nn.Module):
    """Small network from images (n, 1, 8, 8) to the sphere (n, 3)."""

    def __init__(self) -> None:
        super().__init__()
        hidden = nn.Linear(64, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, HIDDEN), nn.ReLU()
        self.layers = nn.Sequential(nn.Flatten(), *hidden, nn.Linear(HIDDEN, DIM))

    @override
    def forward(self, images: Tensor) -> Tensor:
        return normalize(self.layers(images), dim=1)


Batches = tuple[tuple[Tensor, Tensor], ...]
"""Two views of the images of each step, (pairs, 1, 8, 8) each."""


def draw_batches(steps: int, *, seed: int) -> Batches:
    """Draw the views that all adversaries of one seed are trained on.

    Args:
        steps: number of batches.
        seed: random seed of the batches and the views.
    """
    images = _pixels(digits("train"))
    generator = torch.Generator().manual_seed(seed)
    return tuple(
        _two_views(images[torch.randperm(len(images), generator=generator)[:PAIRS]], generator)
        for _ in range(steps)
    )


def train(
    adversary: Adversary, batches: Batches, *, seed: int, learning_rate: float = LEARNING_RATE
) -> Trained:
    """Train an encoder on digits against an adversary, and measure it on test digits.

    Args:
        adversary: choice of the negatives, made afresh in every step.
        batches: one batch for each step; an empty tuple leaves the encoder untrained.
        seed: random seed of the encoder's first weights and of the test views.
        learning_rate: learning rate of Adam.
    """
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        encoder = Encoder()
    optimizer = torch.optim.Adam(encoder.parameters(), lr=learning_rate)
    seen = []
    for step, (images_a, images_b) in enumerate(batches):
        view_a, view_b = encoder(images_a), encoder(images_b)
        loss = adversary(view_a, view_b)
        if step % max(1, len(batches) // 60) == 0:
            seen.append((step, loss.item(), _mean_cosine(view_a.detach())))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        score, embeddings = measure(encoder, adversary, torch.Generator().manual_seed(seed))
    seen.append((len(batches), score.loss, score.cosine))
    at, losses, cosines = np.array(seen).T
    return Trained(
        score=score,
        embeddings=embeddings.numpy(),
        loss=Curve(epochs=at, values=losses),
        cosine=Curve(epochs=at, values=cosines),
    )


def measure(
    encoder: Encoder, adversary: Adversary, generator: torch.Generator
) -> tuple[EncoderScore, Tensor]:
    """Return the score of an encoder on the test images, and its embeddings of them, (n, 3)."""
    test, fit = digits("test"), digits("train")
    pixels = _pixels(test)
    embeddings = encoder(pixels)
    batches = []
    for rows in torch.randperm(len(pixels), generator=generator).split(PAIRS)[:5]:
        view_a, view_b = map(encoder, _two_views(pixels[rows], generator))
        matched = MARGINALS.matched(view_a, view_b)
        batches.append(
            {
                "loss": adversary(view_a, view_b).item(),
                "value": _value(adversary, view_a, view_b),
                "value_marginals": _value(MARGINALS, view_a, view_b),
                "value_no_self": _value(NO_SELF, view_a, view_b),
                "self_matched": (matched == torch.arange(len(matched))).double().mean().item(),
            }
        )
    score = EncoderScore(
        **{name: float(np.mean([batch[name] for batch in batches])) for name in batches[0]},
        cosine=_mean_cosine(embeddings),
        rank=effective_rank(torch.linalg.svdvals(embeddings.double())),
        knn=knn_accuracy(encoder(_pixels(fit)), fit.required_labels(), embeddings, test.required_labels()),
    )
    return score, embeddings


def _value(adversary: Adversary, view_a: Tensor, view_b: Tensor) -> float:
    """Return the mean of v = f(x).f(x-) - f(x).f(x+), Lemma 2's quantity, under an adversary's negatives."""
    z = torch.cat([view_a, view_b])
    negatives = (adversary.weights(view_a, view_b) * (z @ z.T)).sum(dim=1).mean()
    return (negatives - (view_a * view_b).sum(dim=1).mean()).item()


def _mean_cosine(unit: Tensor) -> float:
    """Return the mean cosine of two different rows of unit vectors (n, dim)."""
    n = len(unit)
    return ((unit.sum(dim=0).square().sum() - n) / (n * (n - 1))).item()


def _pixels(images: Images) -> Tensor:
    """Return all images as floats, (n, 1, 8, 8)."""
    return as_floats(images.batch(range(len(images))))


def _two_views(images: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Return two random views of each image, (n, 1, 8, 8)."""
    seed_a, seed_b = torch.randint(2**31, (2,), generator=generator).tolist()
    return Handwriting()(images, seed=seed_a), Handwriting()(images, seed=seed_b)
