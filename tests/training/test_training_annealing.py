from dataclasses import replace

import pytest

from tammes import recipes
from tammes.training import Falling, Rising, TrainingConfig

CONFIG = TrainingConfig(objective=recipes.hcl(temperature=0.5, beta=2.0), epochs=10)


@pytest.mark.parametrize("changes", [1, 2, 3, 7, 10])
def test_beta_falls_by_an_equal_part_every_e_over_l_epochs(changes: int) -> None:
    betas = [Falling(changes=changes).beta(2.0, epoch=epoch, epochs=10) for epoch in range(11)]
    for i in range(changes):
        epochs = [epoch for epoch in range(11) if i * 10 / changes <= epoch < (i + 1) * 10 / changes]
        assert epochs
        assert [betas[epoch] for epoch in epochs] == pytest.approx([2.0 * (1 - i / changes)] * len(epochs))
    assert betas[-1] == 0.0


def test_rising_is_falling_from_the_other_end() -> None:
    for epoch in range(11):
        both = [kind(changes=4).beta(2.0, epoch=epoch, epochs=10) for kind in (Falling, Rising)]
        assert sum(both) == pytest.approx(2.0)
    assert Rising(changes=4).beta(2.0, epoch=0, epochs=10) == 0.0


def test_only_beta_is_annealed() -> None:
    objective = recipes.hcl(temperature=0.2, beta=2.0, class_prior=0.1)
    config = replace(CONFIG, objective=objective, annealing=Falling(changes=2))
    assert config.objective_at(0) == objective
    assert config.objective_at(5) == recipes.hcl(temperature=0.2, beta=1.0, class_prior=0.1)
    assert CONFIG.objective_at(5) is CONFIG.objective


def test_it_is_refused_where_it_means_nothing() -> None:
    for recipe in (recipes.simclr(temperature=0.5), recipes.hcl_ot(temperature=0.5, epsilon=0.3)):
        with pytest.raises(ValueError, match="annealing changes the beta of Hard, but the coupling is"):
            replace(CONFIG, objective=recipe, annealing=Rising(changes=2))
    with pytest.raises(ValueError, match="at most once an epoch: got 11 changes in 10 epochs"):
        replace(CONFIG, annealing=Falling(changes=11))


@pytest.mark.parametrize("kind", [Falling, Rising])
@pytest.mark.parametrize("changes", [0, -1, 2.0, True])
def test_changes_are_a_number_of_them(kind: type, changes: object) -> None:
    with pytest.raises(ValueError, match="changes must be an integer of at least 1, got"):
        kind(changes=changes)
