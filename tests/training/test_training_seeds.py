import pytest
from hypothesis import given
from hypothesis import strategies as st

from tammes.recipes import simclr
from tammes.training import TrainingConfig
from tammes.training.seeds import Purpose, derive

positions = st.tuples(st.sampled_from(list(Purpose)), st.integers(0, 1000), st.integers(0, 1000))


@given(seed=st.integers(0, 2**63 - 1), first=positions, second=positions)
def test_only_the_same_place_has_the_same_seed(
    seed: int, first: tuple[Purpose, int, int], second: tuple[Purpose, int, int]
) -> None:
    assert (derive(seed, *first) == derive(seed, *second)) == (first == second)


def test_seeds_never_change_between_versions() -> None:
    # Every published number depends on this one.
    assert derive(0, Purpose.ORDER, 0) == 5769891174451087230


@pytest.mark.parametrize("seed", [-1, -(2**70), 2**63, 10**25])
def test_a_seed_out_of_range_is_refused(seed: int) -> None:
    with pytest.raises(ValueError, match="seed must be an integer from 0 to 9223372036854775807, got"):
        derive(seed, Purpose.ORDER)
    with pytest.raises(ValueError, match="seed must be an integer from 0"):
        TrainingConfig(objective=simclr(temperature=0.5), seed=seed)
