"""The papers of an objective, from the bibliography that the package brings."""

import pytest

import tammes
from tammes import citation, recipes
from tammes.coupling import Hard


def test_every_key_is_in_the_bibliography() -> None:
    assert {key for keys in citation._OF.values() for key in keys} <= set(citation._entries())
    assert len(citation._entries()) > 100


@pytest.mark.parametrize(
    ("objective", "keys"),
    [
        (recipes.simclr(temperature=0.5), ["oord2018cpc", "chen2020simclr"]),
        (
            recipes.hcl(temperature=0.5, beta=1.0, class_prior=0.1),
            [
                "robinson2021hard",
                "robinson2023geometry",
                "chuang2020debiased",
                "oord2018cpc",
                "chen2020simclr",
            ],
        ),
        (
            recipes.bcl(temperature=0.5, coupling=tammes.Transport(epsilon=0.5), class_prior=0.1),
            ["jiang2023hard", "cuturi2013sinkhorn", "chuang2020debiased"],
        ),
    ],
)
def test_an_objective_cites_its_parts_each_paper_once(objective: tammes.Objective, keys: list[str]) -> None:
    found = [line for line in objective.citation.splitlines() if line.startswith("@")]
    assert [line.split("{")[1].rstrip(",") for line in found] == keys
    assert objective.citation.count("\n}") == len(keys)


def test_a_part_of_ones_own_cites_what_it_is_made_from() -> None:
    class Harder(Hard):
        pass

    assert citation.citation_of([Harder(beta=1.0)]) == citation.citation_of([Hard(beta=1.0)])
    assert citation.citation_of([object(), None]) == ""
