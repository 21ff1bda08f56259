"""Names, labels and classes of a set of images or sentences, checked the same way for both."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Int64
from torch import Tensor

from tammes.checks import check_indices

Rows = Sequence[int] | Int64[Tensor, " rows"]
"""Indices of items, in any order and with repetitions."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Labeling:
    """Labels of n items by one of their features, such as the color of what each image shows.

    Args:
        labels: (n,) indices into `classes`.
        classes: names of the values of the feature.

    Example:
        >>> Labeling(labels=torch.tensor([0, 1, 0]), classes=("red", "blue")).of([2, 1]).labels
        tensor([0, 1])
    """

    labels: Int64[Tensor, " n"]
    classes: tuple[str, ...]

    def of(self, rows: Rows) -> "Labeling":
        """Return the labels of these rows, in this order."""
        return Labeling(labels=self.labels[rows], classes=self.classes)


def check_names_and_labels(
    n: int,
    *,
    item: str,
    names: Sequence[str],
    labels: Tensor | None,
    classes: Sequence[str] | None,
) -> None:
    """Raise ValueError unless a set of n items has a name and a label for each.

    Args:
        n: number of items.
        item: what an item is called, for the message.
        names: a name for each item.
        labels: int64 (n,) indices into `classes`; None without labels.
        classes: names of the classes; None without labels.

    Example:
        >>> check_names_and_labels(2, item="image", names=["a"], labels=None, classes=None)
        Traceback (most recent call last):
            ...
        ValueError: expected a name for each of 2 images, got 1
    """
    if n == 0:
        raise ValueError(f"expected at least one {item}, got none")
    if len(names) != n:
        raise ValueError(f"expected a name for each of {n} {item}s, got {len(names)}")
    if (labels is None) != (classes is None):
        raise ValueError("expected labels and classes together, or neither; got only one of them")
    if labels is None or classes is None:
        return
    if labels.shape != (n,) or labels.dtype != torch.int64:
        got = f"{labels.dtype} {tuple(labels.shape)}"
        raise ValueError(f"expected labels as int64 ({n},), one for each {item}, got {got}")
    check_indices("labels, indices into the classes,", labels, len(classes))


NO_CLASS = -1
"""In the place of a number: an item without a class."""


def labels_of_names(
    found: Sequence[str | None], items: Sequence[str]
) -> tuple[tuple[str, ...] | None, Int64[Tensor, " n"] | None]:
    """Return the classes in the order of their names, numbers by value, and the label of each item.

    Args:
        found: name of each item's class, or None.
        items: name of each item, for the message.

    Returns:
        The classes and the labels; None and None if no item has a class.

    Raises:
        ValueError: If some items have a class and others none.

    Example:
        >>> labels_of_names(["10", "9", "10"], ["a", "b", "c"])
        (('9', '10'), tensor([1, 0, 1]))
        >>> labels_of_names([None, None], ["a", "b"])
        (None, None)
    """
    distinct = list(dict.fromkeys(name for name in found if name is not None))
    number = {name: place for place, name in enumerate(distinct)}
    return labels_of_numbers(
        torch.tensor([NO_CLASS if name is None else number[name] for name in found]), distinct, items
    )


def labels_of_numbers(
    found: Int64[Tensor, " n"], distinct: Sequence[str], items: Sequence[str]
) -> tuple[tuple[str, ...] | None, Int64[Tensor, " n"] | None]:
    """Return what `labels_of_names` returns, of the number of each item's class.

    Args:
        found: number of each item's class in `distinct`; `NO_CLASS` for an item without one.
        distinct: names of classes, each once.
        items: name of each item, for the message.
    """
    used = [distinct[number] for number in found.unique().tolist() if number != NO_CLASS]
    if not used:
        return None, None
    if missing := (found == NO_CLASS).nonzero().flatten().tolist():
        raise ValueError(
            f"expected a label for every item or for none, got {len(missing)} of {len(items)} without one, "
            f"first {items[missing[0]]}"
        )
    is_numbers = all(name.removeprefix("-").isdecimal() for name in used)
    classes = tuple(sorted(used, key=int) if is_numbers else sorted(used))
    index = {name: label for label, name in enumerate(classes)}
    return classes, torch.tensor([index.get(name, NO_CLASS) for name in distinct])[found]


def at_least_two_classes(
    labels: Int64[Tensor, " n"], classes: Sequence[str] | None, *, item: str, kinds: str = "classes"
) -> Int64[Tensor, " n"]:
    """Return the labels if they name at least two classes.

    Args:
        labels: (n,) indices into `classes`.
        classes: names of the classes.
        item: what an item is called, for the message.
        kinds: what the classes are called, for the message.

    Raises:
        ValueError: If all labels are equal.

    Example:
        >>> at_least_two_classes(torch.tensor([0, 1]), ("cat", "dog"), item="image")
        tensor([0, 1])
    """
    if bool((labels == labels[0]).all()):
        assert classes is not None  # labels and classes come together
        name = classes[int(labels[0])]
        raise ValueError(f"expected at least two {kinds}, got {len(labels)} {item}s of {name!r} alone")
    return labels


def row_of(index: int, n: int) -> int:
    """Return the row of an index that may count from the end.

    Raises:
        IndexError: If the index is out of range; this is also how iteration over a set ends.

    Example:
        >>> row_of(-1, 3)
        2
    """
    if not -n <= index < n:
        raise IndexError(f"expected an index from 0 to {n - 1}, got {index}")
    return index % n


def rows_of(indices: Rows, n: int) -> Int64[Tensor, " rows"]:
    """Return the rows of indices that may count from the end.

    Raises:
        IndexError: If an index is out of range.
        ValueError: If the indices are no integers.

    Example:
        >>> rows_of([-1, 0], 3)
        tensor([2, 0])
    """
    found = integers_of(indices)
    outside = (found < -n) | (found >= n)
    if bool(outside.any()):
        raise IndexError(f"expected indices from 0 to {n - 1}, got {int(found[outside][0])}")
    return found % n


def integers_of(indices: Rows) -> Int64[Tensor, " rows"]:
    """Return indices as int64; a mask would be taken for the rows 0 and 1.

    Raises:
        ValueError: If the indices are no integers.

    Example:
        >>> integers_of([True, False])
        Traceback (most recent call last):
            ...
        ValueError: expected integers as indices, got torch.bool: name rows by their numbers
    """
    found = torch.as_tensor(indices)
    if found.numel() == 0:
        return torch.zeros(0, dtype=torch.int64)
    if found.is_floating_point() or found.dtype == torch.bool:
        raise ValueError(f"expected integers as indices, got {found.dtype}: name rows by their numbers")
    return found.long()
