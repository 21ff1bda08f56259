"""What an augmentation of the query changes in what it retrieves: which neighbors, and of which color."""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor

from tammes.checks import check_integer, check_shape
from tammes.diagnostics.blocks import SIDE, directions


@torch.no_grad()
def retrieved(
    gallery: Float[Tensor, "n dim"], queries: Float[Tensor, "n dim"], *, neighbors: int = 5
) -> Int[Tensor, "n neighbors"]:
    """Return the rows of a gallery nearest to each query, without the query's own row.

    Args:
        gallery: embeddings of inputs, of any length above 0.
        queries: embeddings of the same inputs, perhaps augmented; row i of both shows input i.
        neighbors: number of rows that each query retrieves.

    Raises:
        ValueError: the shapes differ, a row of length zero or that is not finite, or as many neighbors as
            there are rows.

    Source: Robinson (2023), Figure 5-6, with five neighbors.

    Example:
        >>> points = torch.tensor([[1.0, 0.0], [1.0, 0.1], [0.0, 1.0]])
        >>> retrieved(points, points, neighbors=1).tolist()
        [[1], [0], [1]]
    """
    check_shape("queries, like the gallery,", queries.shape, gallery.shape)
    check_integer("neighbors", neighbors)
    if neighbors >= len(gallery):
        raise ValueError(f"{neighbors} neighbors are too many for a gallery of {len(gallery)} rows")
    known, asked = directions(gallery.double()), directions(queries.double())
    found = []
    for top in range(0, len(asked), SIDE):
        similarity = asked[top : top + SIDE] @ known.T
        rows = torch.arange(len(similarity))
        similarity[rows, rows + top] = -torch.inf
        found.append(similarity.topk(neighbors, dim=1).indices)
    return torch.cat(found)


def neighbors_kept(before: Int[Tensor, "n neighbors"], after: Int[Tensor, "n neighbors"]) -> float:
    """Return the share of retrieved rows that are also retrieved after the augmentation of the query.

    Args:
        before: rows that each input retrieves.
        after: rows that each augmented input retrieves.

    Raises:
        ValueError: the shapes differ.

    Example:
        >>> neighbors_kept(torch.tensor([[1, 2]]), torch.tensor([[2, 3]]))
        0.5
    """
    check_shape("after, like before,", after.shape, before.shape)
    return float((before[:, :, None] == after[:, None, :]).any(dim=2).double().mean())


def color_followed(
    queries: tuple[Float[Tensor, "n channels"], Float[Tensor, "n channels"]],
    answers: tuple[Float[Tensor, "n channels"], Float[Tensor, "n channels"]],
) -> float | None:
    """Return by how much the color of what is retrieved follows a change of the query's color.

        sum_i <answer'_i - answer_i, query'_i - query_i>  /  sum_i |query'_i - query_i|^2

    the slope of a regression through zero: 0 for an encoder that is invariant to color, 1 where the answers
    change as the query does.

    Args:
        queries: mean color of each query, before and after its augmentation.
        answers: mean color of the rows that it retrieves, before and after.

    Returns:
        The slope; None if no query changes its color.

    Raises:
        ValueError: the shapes differ.

    Example:
        >>> before, after = torch.zeros(2, 3), torch.ones(2, 3)
        >>> color_followed((before, after), (before, 0.25 * after))
        0.25
    """
    for other in (queries[1], *answers):
        check_shape("colors, one row for each query,", other.shape, queries[0].shape)
    change = (queries[1] - queries[0]).double()
    answer = (answers[1] - answers[0]).double()
    total = float(change.square().sum())
    return None if total == 0 else float((answer * change).sum()) / total
