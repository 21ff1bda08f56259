"""A large graph drawn at random, whose nodes have a class, features, and unequal degrees."""

from __future__ import annotations

import torch
from jaxtyping import Float, Int64
from torch import Tensor

from tammes.checks import check_integer, check_number
from tammes.data.node_files import packed_nodes
from tammes.data.node_set import NodeSet


def block_model(
    nodes: int,
    *,
    classes: int = 7,
    degree: float = 4.0,
    within: float = 0.8,
    exponent: float = 2.5,
    words: int = 256,
    words_of_node: int = 16,
    own_words: float = 0.3,
    seed: int = 0,
) -> NodeSet:
    """Draw a degree-corrected stochastic block model with words as features.

        edges of i and j  ~  Poisson(theta_i theta_j omega_(class i, class j)),    theta ~ Pareto(exponent)

    The classes are equally large. Each class has words that it prefers: a word of a node is one of them with
    the probability `own_words`, and else any word.

    Args:
        nodes: number of nodes.
        classes: number of classes.
        degree: mean number of edges of a node, about: repeated edges count once.
        within: share of a node's edges that stay within its class.
        exponent: exponent of the power law of the degrees, above 2; larger ones are more even.
        words: number of features, each 0 or 1.
        words_of_node: number of words drawn for a node, with repetitions.
        own_words: probability that a word is one of the class's.
        seed: random seed.

    Raises:
        ValueError: for numbers outside their ranges, or fewer than two nodes or one word of a class.

    Source: Karrer and Newman, Stochastic blockmodels and community structure in networks, 2011, eq. 14.
    Differs: the number of edges is fixed, and each edge draws its ends (a Poisson model given its sum).

    Example:
        >>> block_model(1000, classes=4)
        NodeSet(1000 nodes of a graph of 1000, 4 classes)
    """
    check_integer("classes", classes, minimum=2)
    check_integer("nodes", nodes, minimum=2 * classes)
    check_integer("words", words, minimum=classes)
    check_integer("words_of_node", words_of_node)
    check_number("degree", degree, above=0)
    check_number("exponent", exponent, above=2)
    check_number("within", within, minimum=0, maximum=1)
    check_number("own_words", own_words, minimum=0, maximum=1)
    generator = torch.Generator().manual_seed(seed)
    labels = torch.arange(nodes) % classes
    propensity = (1 - torch.rand(nodes, dtype=torch.float64, generator=generator)) ** (-1 / (exponent - 1))
    pairs = _edges(labels, propensity, round(nodes * degree / 2), within, generator)
    return packed_nodes(
        pairs,
        names=tuple(str(node) for node in range(nodes)),
        where="the drawn graph",
        features=_words(labels, words, words_of_node, own_words, generator),
        columns=[f"word {word}" for word in range(words)],
        labels=[str(label) for label in labels.tolist()],
    )


def _edges(
    labels: Int64[Tensor, " nodes"],
    propensity: Float[Tensor, " nodes"],
    count: int,
    within: float,
    generator: torch.Generator,
) -> Int64[Tensor, "2 edges"]:
    """Draw the ends of each edge in proportion to their propensities, the second in the class wanted."""
    classes = int(labels.max()) + 1
    # Nodes sorted by class, with cumulative propensities: an end in a class is a number between two of these.
    order = torch.argsort(labels, stable=True)
    total = propensity[order].cumsum(0)
    last = torch.bincount(labels, minlength=classes).cumsum(0) - 1
    high = total[last]
    low = torch.cat([high.new_zeros(1), high[:-1]])

    def drawn(group: Int64[Tensor, " edges"]) -> Int64[Tensor, " edges"]:
        uniform = torch.rand(count, dtype=torch.float64, generator=generator)
        at = low[group] + uniform * (high - low)[group]
        return order[torch.searchsorted(total, at).clamp(max=len(order) - 1)]

    whole = torch.rand(count, dtype=torch.float64, generator=generator) * high[-1]
    first = torch.searchsorted(high, whole).clamp(max=classes - 1)
    stays = torch.rand(count, dtype=torch.float64, generator=generator) < within
    away = (first + torch.randint(1, classes, (count,), generator=generator)) % classes
    return torch.stack([drawn(first), drawn(torch.where(stays, first, away))])


def _words(
    labels: Int64[Tensor, " nodes"], words: int, count: int, own: float, generator: torch.Generator
) -> Float[Tensor, "nodes words"]:
    classes = int(labels.max()) + 1
    each = words // classes
    shape = len(labels), count
    any_word = torch.randint(words, shape, generator=generator)
    own_word = labels[:, None] * each + torch.randint(each, shape, generator=generator)
    chosen = torch.where(torch.rand(shape, generator=generator) < own, own_word, any_word)
    return torch.zeros(len(labels), words).scatter_(1, chosen, 1.0)
