"""How far the debiased and the biased loss are from the ideal one, which sees true negatives only."""

import math
from dataclasses import dataclass

import numpy as np

from tammes.checks import check_integer, check_number
from tammes.theory.cap import LARGEST
from tammes.theory.population import Estimated, Population, mean_and_error

LOWEST = 0.003
"""Lowest temperature t whose e^{2/t} is a float, with room for factors."""


@dataclass(frozen=True, kw_only=True)
class DebiasingBound:
    """Bound on the distance of the debiased loss, with N candidates and M positives, from its limit.

        |L - L_limit|  <=  a / tau-  ( 1 / sqrt(N)  +  tau+ / sqrt(M) ) ,

    where the sources of the factor a differ. `printed` has e^{3/2} sqrt(pi / 2) = 5.6, for the temperature 1.
    Its proof gives twice as much (the integrals of two tails of two sides each), and quotes Hoeffding's
    inequality with the range b - a of e^{l} where its square belongs: done right, `by_tails` has
    (e^{2/t} - 1) sqrt(2 pi), which is 16 at the temperature 1, and the proof does not give what is printed.
    What is printed is true all the same: the logarithm has slopes of at most e^{1/t}, and the standard
    deviation of e^{l} is at most half of its range, so that without any tail `by_variance` has
    (e^{2/t} - 1) / 2, which is 3.2.

    The loss itself converges faster, like 1/N: the estimate of the negatives is unbiased, so that its first
    order cancels in the mean (`debiasing_error` measures both).

    Args:
        negatives: number N of candidates, at least 1.
        positives: number M of positives that estimate the false negatives, at least 1.
        class_prior: probability tau+ of a false negative, at least 0 and below 1.
        temperature: temperature t of the logits, above 0; the text takes 1.

    Raises:
        ValueError: a number out of its range.

    Source: Robinson (2023), Theorem 2 and appendix A.1.6.

    Example:
        >>> bound = DebiasingBound(negatives=100, positives=100, class_prior=0.1)
        >>> round(bound.printed, 3), round(bound.by_tails, 3), round(bound.by_variance, 3)
        (0.687, 1.957, 0.39)
    """

    negatives: int
    positives: int
    class_prior: float
    temperature: float = 1.0

    def __post_init__(self) -> None:
        check_integer("negatives", self.negatives)
        check_integer("positives", self.positives)
        check_number("class_prior", self.class_prior, minimum=0, below=1)
        check_number("temperature", self.temperature, above=0)

    @property
    def printed(self) -> float:
        """Bound of eq. 3.9, for the temperature 1."""
        return math.exp(1.5) * math.sqrt(math.pi / 2) * self._rate

    @property
    def by_tails(self) -> float:
        """Bound that the printed proof gives, with Hoeffding's inequality as it is."""
        return self._range * math.sqrt(2 * math.pi) * self._rate

    @property
    def by_variance(self) -> float:
        """Smallest of the three: from the standard deviation of e^{l} alone."""
        return self._range / 2 * self._rate

    @property
    def _range(self) -> float:
        """Range of e^l over its smallest value; infinite where no float holds it."""
        return math.expm1(2 / self.temperature) if 2 / self.temperature < LARGEST else math.inf

    @property
    def _rate(self) -> float:
        inner = 1 / math.sqrt(self.negatives) + self.class_prior / math.sqrt(self.positives)
        return inner / (1 - self.class_prior)


@dataclass(frozen=True, kw_only=True)
class DebiasingError:
    """Distance of the debiased loss from its limit, estimated from random draws.

    Attributes:
        of_loss: L - L_limit: a mean and its standard error.
        of_draws: E |difference for one draw|, which the proof bounds: a mean and its standard error.
        floored: share of the draws on the floor.
    """

    of_loss: Estimated
    of_draws: Estimated
    floored: float


def debiasing_error(
    population: Population, *, negatives: int, positives: int, draws: int, generator: np.random.Generator
) -> DebiasingError:
    """Estimate how far the debiased loss of a population is from its limit.

        g = max{ (mean of e^{l} over N candidates - tau+ mean over M positives) / tau-, e^{-1/t} },
        difference of a draw = log(e^{l+} + N g) - log(e^{l+} + N E e^{l-})

    Args:
        population: the embeddings.
        negatives: number N of candidates from all of the data, at least 1.
        positives: number M of positives that estimate the false negatives, at least 1.
        draws: number of independent anchors, at least 2.
        generator: source of the randomness.

    Raises:
        ValueError: a number out of its range, or a temperature below 0.003, where no float holds e^{2/t}.

    Source: Robinson (2023), eq. 3.7, 3.8 and Theorem 2.

    Example:
        >>> population = Population(embeddings=np.eye(4), labels=np.array([0, 0, 1, 1]), temperature=1.0)
        >>> generator = np.random.default_rng(0)
        >>> error = debiasing_error(population, negatives=50, positives=50, draws=1000, generator=generator)
        >>> error.of_draws[0] < DebiasingBound(negatives=50, positives=50, class_prior=0.5).by_variance
        True
    """
    check_integer("positives", positives)
    # Divided by e^{1/t}, the largest of them, which changes no difference of logarithms.
    largest = _largest(population)
    prior, exponentials = population.class_prior, np.exp(population.logits - largest)
    x, positive = population.pairs(draws, generator)
    u = generator.integers(len(population.labels), size=(draws, check_integer("negatives", negatives)))
    v = population.drawn(population.same, x, positives, generator)
    found = exponentials[x[:, None], u].mean(axis=1) - prior * exponentials[x[:, None], v].mean(axis=1)
    raw = found / (1 - prior)
    floor = math.exp(-2 * largest)
    true = np.exp(population.log_mean(population.logits, ~population.same) - largest)[x]
    to_positive = exponentials[x, positive]
    limit = to_positive + negatives * true
    difference = np.log((to_positive + negatives * np.maximum(raw, floor)) / limit)
    # The first order of the difference has mean zero, since `raw` is unbiased; most noise goes with it.
    first_order = negatives * (raw - true) / limit
    return DebiasingError(
        of_loss=mean_and_error(difference - first_order),
        of_draws=mean_and_error(np.abs(difference)),
        floored=float((raw < floor).mean()),
    )


def biased_gap(population: Population) -> float:
    """Return by how much, at least, InfoNCE with false negatives may lie below the ideal loss.

        E over x of  min( 0, log( E e^{l+} / E e^{l-} ) ) ,

    which is 0 for embeddings whose classes are nearer to themselves than to others. Then InfoNCE is an upper
    bound of the ideal loss, up to the error of finitely many negatives:

        L_biased  >=  L_unbiased + this - DebiasingBound(class_prior=0).by_variance .

    Args:
        population: the embeddings.

    Source: Robinson (2023), Lemma 1.

    Example:
        >>> rows, labels = np.eye(2)[[0, 0, 1, 1]], np.array([0, 0, 1, 1])
        >>> biased_gap(Population(embeddings=rows, labels=labels, temperature=1.0))
        0.0
    """
    logits, same = population.logits, population.same
    ratio = population.log_mean(logits, same) - population.log_mean(logits, ~same)
    return float(np.minimum(0, ratio).mean())


@dataclass(frozen=True, kw_only=True)
class DebiasedGeneralization:
    """Constants of the bound on the supervised loss of an encoder trained on T samples of the debiased loss.

        L_sup  <=  L  +  O( 1/tau- sqrt(1/N) + tau+/tau- sqrt(1/M) + lambda R / T + B sqrt(log(1/delta) / T) )

    The loss log(1 + N e^{-l+} max(g, 1/e)) is at most B, and its gradient by the exponentials of the logits
    less l+ is at most e^2 lambda / sqrt(N + M) long. Differs: the text has tau+ in lambda where the loss has
    tau+ / tau-, since its proof leaves out that positives are divided by tau-, too; so the gradient can be
    longer than it says.

    Args:
        negatives: number N of candidates, at least 1.
        positives: number M of positives that estimate the false negatives, at least 1.
        class_prior: probability tau+ of a false negative, at least 0 and below 1.

    Raises:
        ValueError: a number out of its range.

    Source: Robinson (2023), Theorem 5 and Lemma A.4, for unit vectors and temperature 1.

    Example:
        >>> of = DebiasedGeneralization(negatives=64, positives=16, class_prior=0.5)
        >>> round(of.printed_lambda, 2), round(of.corrected_lambda, 2), round(of.largest, 2)
        (2.5, 3.16, 6.78)
    """

    negatives: int
    positives: int
    class_prior: float

    def __post_init__(self) -> None:
        check_integer("negatives", self.negatives)
        check_integer("positives", self.positives)
        check_number("class_prior", self.class_prior, minimum=0, below=1)

    @property
    def printed_lambda(self) -> float:
        """Factor lambda of eq. 3.19."""
        return self._lambda(self.class_prior)

    @property
    def corrected_lambda(self) -> float:
        """The same with tau+ / tau- in place of tau+."""
        return self._lambda(self.class_prior / (1 - self.class_prior))

    @property
    def largest(self) -> float:
        """Largest value B of the loss, where all candidates are at the anchor and all positives opposite."""
        prior = self.class_prior
        most = (math.e - prior / math.e) / (1 - prior)
        return math.log1p(self.negatives * math.e * max(most, 1 / math.e))

    def _lambda(self, ratio: float) -> float:
        n, m = self.negatives, self.positives
        return math.sqrt((m / n + 1) / (1 - self.class_prior) ** 2 + (n / m + 1) * ratio**2)


@dataclass(frozen=True, kw_only=True)
class OnePositive:
    """Variance of the exponential logit of one hard positive, and its bound by the alignment.

    Attributes:
        variance: Var( e^{l(x, v)} ) over anchors x and hard positives v.
        bound: bound of it.
    """

    variance: float
    bound: float


def one_positive(population: Population, *, beta: float) -> OnePositive:
    """Return how uncertain a single positive leaves the expectation over hard positives, and its bound.

        Var( e^{l} )  <=  (e^{1/t} / t)^2 r E |f(x) - f(x+)|^2 ,      r = largest ratio q_beta+ / p+,

    with v drawn from the positives of x by the weights e^{beta l}. So one positive (M = 1) is enough once
    positives are aligned.

    Args:
        population: the embeddings.
        beta: concentration of the hard positives, at least 0; it multiplies the logit.

    Raises:
        ValueError: a negative beta, or a temperature below 0.003, where no float holds e^{2/t}.

    Source: Robinson (2023), Lemma 7, without constants. Differs: a shorter proof. No logit is above 1/t, so
    the variance is at most E (e^{1/t} - e^{l})^2, and e^{l} has slopes of at most e^{1/t}. The text bounds
    differences of two draws, where it has e^{1/t^4} for e^{2/t^2}.

    Example:
        >>> rows, labels = np.eye(2)[[0, 0, 1, 1]], np.array([0, 0, 1, 1])
        >>> one_positive(Population(embeddings=rows, labels=labels, temperature=1.0), beta=1.0).variance
        0.0
    """
    check_number("beta", beta, minimum=0)
    _largest(population)
    t, same = population.temperature, population.same
    weights = np.where(same, np.exp(beta * (population.logits - 1 / t)), 0)
    weights /= weights.sum(axis=1, keepdims=True)
    exponentials = np.exp(population.logits)
    mean = float((weights * exponentials).sum(axis=1).mean())
    variance = float((weights * (exponentials - mean) ** 2).sum(axis=1).mean())
    ratio = float(weights.max() * same[0].sum())
    distances = np.maximum(2 - 2 * t * population.logits, 0)
    bound = (math.exp(1 / t) / t) ** 2 * ratio * float(distances[same].mean())
    return OnePositive(variance=variance, bound=bound)


def _largest(population: Population) -> float:
    """Return the largest logit 1/t, or raise ValueError for a lower temperature than `LOWEST`."""
    reason = "no float holds e^(2/t) of lower ones"
    return 1 / check_number("temperature", population.temperature, minimum=LOWEST, reason=reason)
