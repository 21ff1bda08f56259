"""Whether a run resumes with the settings that it was started with."""

import dataclasses

from tammes.training.config import RunConfig
from tammes.training.config_file import differences


def check_same(old: RunConfig, new: RunConfig, name: str) -> None:
    """Raise ValueError if a run would resume with another configuration; only more epochs are allowed.

    A run of an older version has no checksum of what its shards hold, and resumes with any.

    Args:
        old: configuration that the run was started with.
        new: configuration to resume with.
        name: name of the run in the message.
    """
    if old.training.is_extendable:
        longer = dataclasses.replace(old.training, epochs=new.training.epochs)
        old = dataclasses.replace(old, training=longer)
    changes = [
        f"{path} was {was!r}, now {now!r}"
        for path, was, now in differences(old, new)
        if (path, was) != ("data.shards.content", "")
    ]
    if not changes:
        return
    hint = "give the same settings, or start a new run"
    if changes == [f"training.epochs was {old.training.epochs!r}, now {new.training.epochs!r}"]:
        hint = "start a new run: this one spreads a schedule over the epochs it was started with"
    if "shards" in changes[-1] and all(each.startswith(("data.shards", "data.count")) for each in changes):
        hint = "put back the shards that the run was started with, all of them whole, or start a new run"
    raise ValueError(f"{name} belongs to a run with other settings: {'; '.join(changes)}. Instead, {hint}")
