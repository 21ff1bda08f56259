"""Alignment and uniformity class by class."""

from dataclasses import dataclass

import numpy as np

from tammes.theory.population import Population


@dataclass(frozen=True, kw_only=True)
class ClassTerms:
    """Alignment and uniformity of a population, and their parts within and between classes.

    With rho the probability that a candidate has the class of the anchor, and mu_c the mean embedding of a
    class,

        alignment   =  -1/t E f(x) . f(x+)             =  -1/t E |mu_c|^2 ,
        uniformity  =  E over x of log E e^{f(x) . f(y) / t}
                   >=  split  =  rho E log E over y of the class + (1 - rho) E log E over y of others
                   >=  means  =  1/t ( rho E |mu_c|^2 + (1 - rho) E over c' != c of mu_c . mu_c' ) .

    So a small uniformity keeps the means of classes apart, and a small alignment makes their lengths large:
    classes concentrate. Supplement B has equalities in place of both inequalities, which are Jensen's: the
    logarithm of a mean is at least the mean of logarithms. And it writes the alignment as E e^{f . f+} there,
    not as its own A.6.

    Attributes:
        alignment: L_align.
        uniformity: L_uni.
        split: the uniformity if the logarithm is taken for each kind of pair by itself.
        means: the same with each class in its mean.

    Source: Weber and Bachman (2022), A.6, A.7 and the end of supplement B.
    """

    alignment: float
    uniformity: float
    split: float
    means: float


def class_terms(population: Population) -> ClassTerms:
    """Return alignment and uniformity with their parts within and between classes, exactly.

    Args:
        population: the embeddings; a positive of x is any row of its class.

    Example:
        >>> rows, labels = np.eye(2)[[0, 0, 1, 1]], np.array([0, 0, 1, 1])
        >>> terms = class_terms(Population(embeddings=rows, labels=labels, temperature=1.0))
        >>> terms.alignment, round(terms.uniformity, 4), terms.split, terms.means
        (-1.0, 0.6201, 0.5, 0.5)
    """
    logits, same, rho = population.logits, population.same, population.class_prior
    within, between = population.log_mean(logits, same), population.log_mean(logits, ~same)
    names = np.unique(population.labels)
    means = np.stack([population.units[population.labels == c].mean(axis=0) for c in names])
    products = means @ means.T / population.temperature
    own = float(np.trace(products)) / len(names)
    other = float(products.sum() - np.trace(products)) / (len(names) * (len(names) - 1))
    return ClassTerms(
        alignment=-float(logits[same].mean()),
        uniformity=float(population.log_mean(logits, np.ones_like(same)).mean()),
        split=float((rho * within + (1 - rho) * between).mean()),
        means=rho * own + (1 - rho) * other,
    )
