"""The papers of an objective, from the bibliography that the package brings."""

import pytest

import tammes
from tammes import citation, recipes
from tammes.coupling import Hard

PAPERS = {
    recipes.simclr(temperature=0.5): "chen2020simclr",
    recipes.decoupled(temperature=0.5): "yeh2022decoupled",
    recipes.dcl(temperature=0.5, class_prior=0.1): "chuang2020debiased",
    recipes.hcl(temperature=0.5, beta=1.0): "robinson2021hard",
    recipes.hcl_ot(temperature=0.5, epsilon=0.5): "jiang2023hard",
    recipes.bcl(temperature=0.5): "jiang2023hard",
    recipes.supcon(temperature=0.5): "khosla2020supcon",
    recipes.ifm(temperature=0.5, epsilon=0.1): "robinson2021shortcut",
    recipes.mochi(temperature=0.5): "kalantidis2020mixing",
    recipes.jsd(): "robinson2023geometry",
    recipes.sigmoid(temperature=0.1): "zhai2023sigmoid",
    recipes.logistic(): "ash2022negatives",
    recipes.hinge(): "ash2022negatives",
    recipes.triplet(margin=1.0): "jiang2023hard",
}
"""The paper that the docstring of each recipe names as its source."""


def keys_in(bibliography: str) -> list[str]:
    lines = [line for line in bibliography.splitlines() if line.startswith("@")]
    return [line.split("{")[1].rstrip(",") for line in lines]


def test_every_recipe_cites_its_paper() -> None:
    assert len(PAPERS) == len(recipes.__all__)
    assert [paper for objective, paper in PAPERS.items() if paper not in keys_in(objective.citation)] == []


def test_a_module_and_a_sum_over_lengths_cite_as_their_objective_does() -> None:
    objective = recipes.decoupled(temperature=0.5)
    assert objective.module().citation == objective.citation
    lengths = tammes.Matryoshka(objective=objective, dims=(2, 4))
    assert keys_in(lengths.citation) == ["kusupati2022matryoshka", *keys_in(objective.citation)]
    assert lengths.module().citation == lengths.citation


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
        (recipes.decoupled(temperature=0.5), ["oord2018cpc", "chen2020simclr", "yeh2022decoupled"]),
        (
            recipes.bcl(temperature=0.5, coupling=tammes.Transport(epsilon=0.5), class_prior=0.1),
            ["jiang2023hard", "cuturi2013sinkhorn", "chuang2020debiased"],
        ),
    ],
)
def test_an_objective_cites_its_parts_each_paper_once(objective: tammes.Objective, keys: list[str]) -> None:
    assert keys_in(objective.citation) == keys
    assert objective.citation.count("\n}") == len(keys)


def test_a_part_of_ones_own_cites_what_it_is_made_from() -> None:
    class Harder(Hard):
        pass

    assert citation.citation_of([Harder(beta=1.0)]) == citation.citation_of([Hard(beta=1.0)])
    assert citation.citation_of([object(), None]) == ""
