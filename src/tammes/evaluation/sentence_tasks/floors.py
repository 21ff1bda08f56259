"""Features of sentences without a trained encoder, which one should exceed."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from functools import cache

import numpy as np

from tammes.checks import check_integer, check_seed
from tammes.evaluation.sentence_tasks.tasks import Embed


def tfidf_svd(corpus: Sequence[str], dim: int) -> Embed:
    """Return latent semantic analysis: tf-idf weights of words, by a truncated SVD in `dim` dimensions.

    Args:
        corpus: sentences to which it is fitted, without labels.
        dim: number of dimensions; fewer where there are fewer words.

    Raises:
        ValueError: no sentence has a word.

    Example:
        >>> tfidf_svd(["a cat purrs", "a dog barks", "the dog purrs"], 2)(["the cat"]).shape
        (1, 2)
    """
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer

    check_integer("dim", dim)
    # Single letters and signs are words here: some phrases of MPQA have no others.
    weights = TfidfVectorizer(sublinear_tf=True, token_pattern=WORD)
    counts = weights.fit_transform(corpus)
    svd = TruncatedSVD(min(dim, *counts.shape), random_state=0).fit(counts)
    return lambda sentences: svd.transform(weights.transform(sentences))


def random_words(dim: int, *, seed: int = 0) -> Embed:
    """Return the mean of random vectors of a sentence's words, each from a standard normal distribution.

    The vector of a word depends on nothing but the word and the seed.

    Args:
        dim: number of dimensions.
        seed: random seed of the vectors.

    Example:
        >>> rows = random_words(4)(["a cat", "cat a", "a dog"])
        >>> bool((rows[0] == rows[1]).all()), bool((rows[0] == rows[2]).all())
        (True, False)
    """
    import re

    check_integer("dim", dim)
    check_seed("seed", seed)
    pattern = re.compile(WORD)

    @cache
    def vector(word: str) -> np.ndarray:
        return np.random.default_rng([seed, zlib.crc32(word.encode())]).standard_normal(dim)

    def features(sentences: Sequence[str]) -> np.ndarray:
        rows = np.zeros((len(sentences), dim), np.float32)
        for row, sentence in enumerate(sentences):
            words = pattern.findall(sentence.lower())
            if words:
                rows[row] = np.mean([vector(word) for word in words], axis=0)
        return rows

    return features


WORD = r"\w+|[^\w\s]"
"""A word: letters and digits, or another single character but space."""
