"""The papers whose methods an objective is made of, from the bibliography of the package."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from importlib.resources import files

from tammes.contrast import BCL, Hinge, InfoNCE, Logistic, Sigmoid, Softplus, SupCon, Triplet
from tammes.correction import Debias
from tammes.coupling import Hard, Transport
from tammes.mixing import HardMixing
from tammes.perturbation import FeatureModification
from tammes.selection import NotAbove, Subset

_ENTRY = re.compile(r"^@\w+\{(?P<key>[^,]+),.*?^\}", re.MULTILINE | re.DOTALL)
_OF: dict[type, tuple[str, ...]] = {
    InfoNCE: ("oord2018cpc", "chen2020simclr"),
    Logistic: ("ash2022negatives",),
    SupCon: ("khosla2020supcon",),
    Sigmoid: ("zhai2023sigmoid",),
    BCL: ("jiang2023hard",),
    Triplet: ("schroff2015facenet", "jiang2023hard"),
    Hinge: ("ash2022negatives",),
    Softplus: ("sun2020infograph", "robinson2023geometry"),
    Hard: ("robinson2021hard", "robinson2023geometry"),
    Transport: ("jiang2023hard", "cuturi2013sinkhorn"),
    Debias: ("chuang2020debiased",),
    Subset: ("ash2022negatives",),
    NotAbove: ("solatorio2024gistembed", "moreira2024nvretriever"),
    HardMixing: ("kalantidis2020mixing",),
    FeatureModification: ("robinson2021shortcut",),
}


def citation_of(parts: Iterable[object]) -> str:
    """Return BibTeX entries of the papers that parts of an objective come from, each once.

    A part of your own, or one that everybody's loss has, adds none.

    Args:
        parts: coupling, selection, correction, perturbation, mixing and contrast.

    Example:
        >>> print(citation_of([Debias(class_prior=0.1)]).splitlines()[0])
        @inproceedings{chuang2020debiased,
    """
    return entries_of(key for part in parts for key in _keys_of(part))


def entries_of(keys: Iterable[str]) -> str:
    """Return the BibTeX entries with these keys, each once.

    Args:
        keys: keys of the bibliography of the package.

    Example:
        >>> print(entries_of(["kusupati2022matryoshka"]).splitlines()[0])
        @inproceedings{kusupati2022matryoshka,
    """
    return "\n\n".join(_entries()[key] for key in dict.fromkeys(keys))


def _keys_of(part: object) -> list[str]:
    """Return the keys of a part's papers: of its class and those that it is made from, and of its fields."""
    keys = [key for each in type(part).__mro__ for key in _OF.get(each, ())]
    # The limit of infinitely many negatives is the decoupled loss.
    return [*keys, "yeh2022decoupled"] if isinstance(part, InfoNCE) and part.limit else keys


@cache
def _entries() -> dict[str, str]:
    """Return the bibliography by key."""
    text = files("tammes").joinpath("references.bib").read_text(encoding="utf-8")
    return {match["key"]: match.group() for match in _ENTRY.finditer(text)}
