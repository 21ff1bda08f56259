"""Random seeds of a run, each a pure function of the run's seed, a purpose, and the position in training."""

from enum import IntEnum

import numpy as np

from tammes.checks import check_seed


class Purpose(IntEnum):
    """Purpose of a seed. The numbers are part of the result: changing one changes every run."""

    WEIGHTS = 0
    ORDER = 1
    FIRST_VIEW = 2
    SECOND_VIEW = 3
    STEP = 4
    OBJECTIVE = 5
    HOLDOUT = 6
    CLASSIFIER = 7
    ACCEPTANCE = 8
    FIRST_SHARED_VIEW = 9
    SECOND_SHARED_VIEW = 10
    MEASURED_AUGMENTATION = 11
    ADVERSARIES = 12
    ATTACK = 13
    MASKS = 14
    PICTURES = 15
    DIAGNOSIS = 16


def derive(seed: int, purpose: Purpose, *position: int) -> int:
    """Derive the seed of a purpose and a position, independent of all others.

    No random state is carried from step to step, so that a resumed run draws the numbers that it would have
    drawn without the interruption.

    Args:
        seed: seed of the run, from 0 to 2^63 - 1.
        purpose: purpose of the random numbers.
        position: position in training, for example epoch and step, each 0 or more.

    Returns:
        An integer in [0, 2^63) for `torch.manual_seed`.

    Raises:
        ValueError: for a seed out of this range.

    Example:
        >>> derive(0, Purpose.ORDER, 3) == derive(0, Purpose.ORDER, 3)
        True
        >>> derive(0, Purpose.ORDER, 3) == derive(0, Purpose.ORDER, 4)
        False
    """
    check_seed("seed", seed)
    sequence = np.random.SeedSequence(entropy=seed, spawn_key=(int(purpose), *position))
    return int(sequence.generate_state(1, np.uint64)[0] >> np.uint64(1))
