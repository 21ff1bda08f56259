import math
from typing import Any

import pytest
import tyro

import tammes
from tammes import recipes
from tammes.cli.options.objective import named_recipes, objective_type
from tammes.cli.options.parts import summary_of
from tammes.cli.options.train import parse as parse_train
from tammes.training import InputAttack, LearnedNegativesConfig


def parse(*words: str) -> Any:
    return tyro.cli(objective_type(), args=words, config=(tyro.conf.CascadeSubcommandArgs,))


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("simclr --temperature 0.5", recipes.simclr(temperature=0.5)),
        ("dcl --temperature 0.5 --class-prior 0.1", recipes.dcl(temperature=0.5, class_prior=0.1)),
        (
            "hcl --temperature 0.5 --beta 1 --class-prior 0.1",
            recipes.hcl(temperature=0.5, beta=1.0, class_prior=0.1),
        ),
        (
            "hcl --temperature 0.5 --beta 1 selection:subset --selection.k 3",
            recipes.hcl(temperature=0.5, beta=1.0, selection=tammes.Subset(k=3)),
        ),
        (
            "hcl-ot --temperature 0.5 --epsilon 0.3 cost:exponential-euclidean --cost.kappa 1",
            recipes.hcl_ot(temperature=0.5, epsilon=0.3, cost=tammes.ExponentialEuclidean(kappa=1.0)),
        ),
        (
            "triplet --margin 0.5 coupling:hard --coupling.beta 2",
            recipes.triplet(margin=0.5, coupling=tammes.Hard(beta=2.0)),
        ),
        ("logistic", recipes.logistic()),
        ("logistic --weight 3", recipes.logistic(weight=3.0)),
        ("hinge selection:other-labels", recipes.hinge(selection=tammes.OtherLabels())),
        ("ifm --temperature 0.5 --epsilon 0.1", recipes.ifm(temperature=0.5, epsilon=0.1)),
        (
            "ifm --temperature 0.5 --epsilon 0.1 --alpha 0.5 --divisor 2 form:renormalized",
            recipes.ifm(temperature=0.5, epsilon=0.1, alpha=0.5, divisor=2.0, form=tammes.Renormalized()),
        ),
        (
            "ifm --temperature 0.5 --epsilon 0.1 --alpha inf form:before-normalization --form.steps 5",
            recipes.ifm(
                temperature=0.5, epsilon=0.1, alpha=math.inf, form=tammes.BeforeNormalization(steps=5)
            ),
        ),
        (
            "ifm --temperature 0.5 --epsilon 0.1 form:ellipsoid --form.axes 1 0.5",
            recipes.ifm(temperature=0.5, epsilon=0.1, form=tammes.Ellipsoid(axes=(1.0, 0.5))),
        ),
        (
            "mochi --temperature 0.2 --hardest 64 --pairs 32 --with-anchor 8",
            recipes.mochi(temperature=0.2, hardest=64, pairs=32, with_anchor=8),
        ),
        (
            "objective --temperature 0.2 mixing:hard-mixing --mixing.hardest 8",
            tammes.Objective(temperature=0.2, mixing=tammes.HardMixing(hardest=8)),
        ),
        ("jsd --beta 1", recipes.jsd(beta=1.0)),
        ("care --temperature 0.5", recipes.simclr(temperature=0.5)),
        ("objective --temperature 0.5", tammes.Objective(temperature=0.5)),
        (
            "objective --temperature 0.5 --no-normalize coupling:hard --coupling.beta 1 selection:subset "
            "--selection.k 256 selection.among:other-labels perturbation:feature-modification "
            "--perturbation.epsilon 0.1 contrast:info-nce --contrast.limit",
            tammes.Objective(
                temperature=0.5,
                normalize=False,
                coupling=tammes.Hard(beta=1.0),
                selection=tammes.Subset(k=256, among=tammes.OtherLabels()),
                perturbation=tammes.FeatureModification(epsilon=0.1),
                contrast=tammes.InfoNCE(limit=True),
            ),
        ),
        (
            "objective --temperature 1 coupling:transport --coupling.epsilon 0.1 --coupling.max-iterations 9 "
            "coupling.cost:exponential-euclidean --coupling.cost.kappa 3 "
            "correction:debias --correction.class-prior 0.2 contrast:bcl",
            tammes.Objective(
                temperature=1.0,
                coupling=tammes.Transport(
                    epsilon=0.1, max_iterations=9, cost=tammes.ExponentialEuclidean(kappa=3.0)
                ),
                correction=tammes.Debias(class_prior=0.2),
                contrast=tammes.BCL(),
            ),
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_words_make_the_objective(words: str, expected: tammes.Objective) -> None:
    assert parse(*words.split()) == expected


def test_every_recipe_is_a_word() -> None:
    assert list(named_recipes()) == [
        "simclr", "dcl", "hcl", "hcl-ot", "bcl", "triplet", "logistic", "hinge", "ifm", "jsd",
        "decoupled", "supcon", "sigmoid", "mochi",
    ]  # fmt: skip


def help_of(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    with pytest.raises(SystemExit) as end:
        parse(*words, "--help")
    assert end.value.code == 0
    return " ".join(capsys.readouterr().out.replace("│", " ").split())


def test_help_explains_every_word_in_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    top = help_of(capsys)
    for name, recipe in named_recipes().items():
        assert summary_of(recipe) in top, name
    spelled_out = help_of(capsys, "objective")
    for part in ("coupling:transport", "selection:subset", "correction:debias", "contrast:softplus"):
        assert part in spelled_out
    assert "Probability tau+ that a candidate is a false negative" in help_of(capsys, "hcl")
    assert "engine" not in spelled_out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("hcl --temperature 0.5", "--beta"),
        ("hcl --temperature 0.5 --beta one", "one"),
        ("hcl --temperature 0.5 --beta 1 --margin 2", "--margin"),
        ("nonsense", "nonsense"),
        ("objective --temperature 0.5 coupling:hard --coupling.beta -1", "beta"),
    ],
)
def test_wrong_words_are_named(words: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        parse(*words.split())
    assert end.value.code == 2
    assert message in capsys.readouterr().err


def test_rivals_of_feature_modification_are_settings_of_a_training() -> None:
    words = "simclr --data digits --temperature 0.5 attack:pgd --attack.steps 2"
    learned = "negatives:learned --negatives.size 64 --negatives.inertia 0.5"
    train = parse_train(f"{words} {learned}".split())
    assert train.training.settings["negatives"] == LearnedNegativesConfig(size=64, inertia=0.5)
    assert train.training.settings["attack"] == InputAttack(steps=2)
