"""Every random number of a run as a pure function of its seed, what it is for, and where training stands."""

from enum import IntEnum

import numpy as np


class Purpose(IntEnum):
    """What a seed is for. The numbers are part of the result: changing one changes every run."""

    WEIGHTS = 0
    ORDER = 1
    FIRST_VIEW = 2
    SECOND_VIEW = 3
    STEP = 4
    OBJECTIVE = 5
    HOLDOUT = 6
    CLASSIFIER = 7
    ACCEPTANCE = 8


def derive(seed: int, purpose: Purpose, *position: int) -> int:
    """A seed of its own for each purpose and position, independent of all others.

    Nothing is carried from step to step, so a run that is continued in the middle draws what it would
    have drawn without the interruption.

    Args:
        seed: the seed of the run, 0 or more.
        purpose: what the random numbers are for.
        position: where training stands, for example epoch and step, each 0 or more.

    Returns:
        An integer in [0, 2^63) for `torch.manual_seed`.

    Raises:
        ValueError: for a negative seed.

    Example:
        >>> derive(0, Purpose.ORDER, 3) == derive(0, Purpose.ORDER, 3)
        True
        >>> derive(0, Purpose.ORDER, 3) == derive(0, Purpose.ORDER, 4)
        False
    """
    if seed < 0:
        raise ValueError(f"seed must be 0 or more, got {seed}")
    sequence = np.random.SeedSequence(entropy=seed, spawn_key=(int(purpose), *position))
    return int(sequence.generate_state(1, np.uint64)[0] >> np.uint64(1))
