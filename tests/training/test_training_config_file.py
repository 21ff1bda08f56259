from dataclasses import dataclass, replace
from typing import Literal

import pytest
import torch

import tammes
from tammes import recipes
from tammes.encoders import ResNetConfig
from tammes.objective import Objective
from tammes.training import ImagesSummary, RunConfig, TrainingConfig
from tammes.training.config_file import differences, from_yaml, to_yaml

OBJECTIVES = [
    recipes.simclr(temperature=0.5),
    recipes.hcl(temperature=0.5, beta=1.0, class_prior=0.1, selection=tammes.Subset(k=3)),
    recipes.hcl_ot(temperature=0.5, epsilon=1e-5, cost=tammes.ExponentialEuclidean(kappa=1.0)),
    recipes.ifm(temperature=0.1, epsilon=0.1),
    recipes.triplet(margin=0.5, coupling=tammes.Hard(beta=2.0)),
    recipes.logistic(weight=3.0, selection=tammes.Subset(k=2, among=tammes.OtherLabels())),
    recipes.jsd(class_prior=0.1),
    recipes.hinge(),
]


@dataclass(frozen=True, kw_only=True)
class Leaf:
    number: float = 0.5
    word: Literal["a", "b"] = "a"
    pair: tuple[int, int] = (1, 2)
    several: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if self.number < 0:
            raise ValueError(f"number must not be negative, got {self.number}")


@dataclass(frozen=True, kw_only=True)
class Other:
    flag: bool


@dataclass(frozen=True, kw_only=True)
class Tree:
    required: int
    part: Leaf | Other | None = None
    leaf: Leaf = Leaf()


def run_config(objective: Objective) -> RunConfig:
    training = TrainingConfig(objective=objective, encoder=ResNetConfig(depth=34))
    return RunConfig(
        training=training, data=ImagesSummary(source="a folder: ünïcode", count=9, channels=3, size=8)
    )


@pytest.mark.parametrize("objective", OBJECTIVES, ids=repr)
def test_every_recipe_survives_the_file(objective: Objective) -> None:
    config = run_config(objective)
    assert from_yaml(RunConfig, to_yaml(config)) == config


def test_a_function_of_the_users_own_is_refused_with_its_place() -> None:
    objective = recipes.simclr(temperature=0.5)
    own = replace(objective, coupling=tammes.Transport(epsilon=0.3, cost=torch.neg))
    with pytest.raises(ValueError, match=r"training\.objective\.coupling\.cost cannot be written"):
        to_yaml(run_config(own))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{required: 1, rest: 2}", "unknown key rest of Tree; it has required, part, leaf"),
        ("{required: 1, leaf: {numbr: 2}}", r"unknown key leaf\.numbr of Leaf; it has number, word"),
        ("{}", "missing key required of Tree"),
        ("{required: 1.5}", "required: expected a value of type int, got 1.5"),
        ("{required: true}", "required: expected a value of type int, got True"),
        ("{required: '1'}", "required: expected a value of type int, got '1'"),
        ("{required: 1, leaf: {number: x}}", r"leaf\.number: expected a value of type float, got 'x'"),
        ("{required: 1, leaf: {number: -1}}", "leaf: number must not be negative, got -1.0"),
        ("{required: 1, leaf: {word: c}}", r"leaf\.word: expected one of 'a', 'b', got 'c'"),
        ("{required: 1, leaf: {pair: [1]}}", r"leaf\.pair: expected a list of 2, got \[1\]"),
        ("{required: 1, leaf: {several: 1}}", r"leaf\.several: expected a list, got 1"),
        ("{required: 1, leaf: null}", "leaf: expected a mapping for Leaf, got None"),
        ("{required: 1, part: {flag: true}}", r"part\.kind: expected one of Leaf, Other"),
        (
            "{required: 1, part: {kind: Path, flag: true}}",
            r"part\.kind: expected one of Leaf, Other, got 'Path'",
        ),
        ("{required: 1, part: 3}", "part: expected one of Leaf, Other, NoneType, got 3"),
        ("[1, 2]", r"the file: expected a mapping for Tree, got \[1, 2\]"),
        ("{required: ", "not YAML"),
        (5_000 * "[", "nested too deeply"),
        ("{required: 2024-13-01}", "not YAML: month must be in"),
        ("{required: 1" + 5_000 * "0" + "}", "not YAML: Exceeds the limit"),
        (
            "{required: 1, leaf: {number: 0x1" + 500 * "0" + "}}",
            r"leaf\.number: expected a number that a float",
        ),
        ("{required: 1, leaf: " + 5_000 * "[" + 5_000 * "]" + "}", "nested too deeply"),
        ("!!python/object/apply:os.system ['exit 1']", "not YAML"),
    ],
)
def test_what_is_wrong_is_named(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        from_yaml(Tree, text)


def test_whole_numbers_stand_for_floats() -> None:
    tree = from_yaml(Tree, "{required: 1, leaf: {number: 2, several: [1, 2.5]}}")
    assert tree.leaf == Leaf(number=2.0, several=(1.0, 2.5))
    assert isinstance(tree.leaf.number, float)


def test_differences_name_the_field_and_both_values() -> None:
    old = Tree(required=1, part=Leaf())
    new = Tree(required=2, part=Other(flag=True), leaf=Leaf(word="b"))
    assert list(differences(old, new)) == [
        ("required", 1, 2),
        ("part", "Leaf", "Other"),
        ("leaf.word", "a", "b"),
    ]
    assert not list(differences(old, old))
