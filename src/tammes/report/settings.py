"""Settings of a training in words: as the pages show them, and where those of several runs differ."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

from tammes.positives import GivenPairs, SameInstance
from tammes.report.markup import listed
from tammes.sources import InBatch
from tammes.training import (
    GraphsSummary,
    ImagesSummary,
    NodesSummary,
    RunConfig,
    Summary,
    TrainingConfig,
    VolumesSummary,
)
from tammes.training.config import PositivesConfig

SEED = "seed"


def in_words(part: object) -> str:
    """Return a part of the settings as one would say it: its name, then its values.

    Example:
        >>> from tammes.training import Adam, Cosine
        >>> in_words(Adam(schedule=Cosine(warmup_epochs=1)))
        'adam: learning rate 0.001, weight decay 1e−6, schedule cosine (warmup epochs 1)'
    """
    if not _is_part(part):
        return _value(part)
    name, values = _name_and_values(part)
    return f"{name}: {values}" if values else name


def _is_part(value: object) -> bool:
    return is_dataclass(value) and not isinstance(value, type)


def _value(value: object) -> str:
    """Return a value that is no part."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        # A minus sign instead of a hyphen, at which a line could break.
        return re.sub(r"e\+?(-?)0*", r"e\1", f"{value:g}").replace("-", "\N{MINUS SIGN}")
    if isinstance(value, tuple):
        return listed([in_words(each) for each in value]) if value else "none"
    return str(value)


def _name_and_values(part: Any) -> tuple[str, str]:
    """Return the name of a part, and its values, in which parts have theirs in parentheses."""
    values = []
    for field in fields(part):
        value = getattr(part, field.name)
        if not field.init or value is None:
            continue
        said = _value(value)
        if _is_part(value):
            name, inner = _name_and_values(value)
            said = f"{name} ({inner})" if inner else name
        values.append(f"{_spaced(field.name)} {said}".removeprefix("objective objective"))
    return _name(part), ", ".join(values)


def _features(data: GraphsSummary | NodesSummary) -> str:
    return "1 feature" if len(data.columns) == 1 else f"{len(data.columns):,} features"


def _name(part: object) -> str:
    """Return the name of a part: "bag of words" of `BagOfWordsConfig`, "gin" of `GINEncoderConfig`."""
    name = type(part).__name__.removesuffix("Config").removesuffix("Encoder")
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower()
    return words.replace(" net", "net")


def _spaced(name: str) -> str:
    return name.replace("_", " ")


def training_settings(config: TrainingConfig) -> dict[str, str]:
    """Return the settings of a training, in the order of a page; what is as usual is left out.

    Example:
        >>> import tammes
        >>> training_settings(TrainingConfig(objective=tammes.recipes.simclr(temperature=0.5)))["encoder"]
        'resnet: depth 18, small image stem yes, zero init residual no'
    """
    return {
        "encoder": in_words(config.encoder),
        **({} if config.head is not None else {"head": "none"}),
        **({} if config.augmentation is None else {"views": in_words(config.augmentation)}),
        **({} if isinstance(config.positives, SameInstance) else {"positives": in_words(config.positives)}),
        **({} if config.crops == 2 else {"crops": f"{config.crops} views of each image"}),
        "batch size": str(config.batch_size),
        "epochs": str(config.epochs),
        "optimizer": in_words(config.optimizer),
        **({} if not config.learn_temperature else {"temperature": "learned"}),
        **({} if config.chunk is None else {"chunk": f"{config.chunk} views at a time"}),
        **({} if config.annealing is None else {"annealing": in_words(config.annealing)}),
        **({} if config.fanouts is None else {"neighbors drawn": ", then ".join(map(str, config.fanouts))}),
        **({"negatives": in_words(config.negatives)} if not isinstance(config.negatives, InBatch) else {}),
        **({} if config.attack is None else {"attack": in_words(config.attack)}),
        **({} if config.stop_on is None else {"stops": _stopping(config)}),
        **({} if config.precision == "32-true" else {"precision": config.precision}),
        SEED: str(config.seed),
    }


def _stopping(config: TrainingConfig) -> str:
    return f"once {config.stop_on} has not improved in {config.stop_patience} measurements"


def data_settings(data: Summary, positives: PositivesConfig | None = None) -> dict[str, str]:
    """Return the description of the training data.

    Args:
        data: summary of the data.
        positives: how its rows were paired, which says what the sentences of a table belong to.

    Example:
        >>> data_settings(ImagesSummary(source="digits", count=1437, channels=1, size=8))
        {'images': '1,437 of 8x8 pixels in gray'}
    """
    if isinstance(data, ImagesSummary):
        kind = "gray" if data.channels == 1 else "color"
        return {"images": f"{data.count:,} of {data.size}x{data.size} pixels in {kind}"}
    if isinstance(data, GraphsSummary):
        return {"graphs": f"{data.count:,} with {data.nodes:,} nodes of {_features(data)}"}
    if isinstance(data, NodesSummary):
        return {"nodes": f"{data.count:,} of a graph of {data.nodes:,}, {_features(data)}"}
    if isinstance(data, VolumesSummary):
        low, high = data.window
        return {
            "volumes": f"{data.count:,} of {'x'.join(map(str, data.size))} voxels, from {low:g} to {high:g}",
            "pictures": "middle slices along the depth",
        }
    groups = "anchors" if isinstance(positives, GivenPairs) else "documents"
    documents = f" of {data.documents:,} {groups}" if data.documents else ""
    return {"sentences": f"{data.count:,}{documents}, {data.vocabulary:,} words"}


def differing_settings(configs: Sequence[RunConfig]) -> dict[str, list[str]]:
    """Return every setting that is not the same in all configurations, with its value in each.

    A part is named by its kind, and its own settings follow, with a dash where another kind does not have
    them; one that is as usual wherever it exists is left out. So are seeds.

    Example:
        >>> import tammes
        >>> from dataclasses import replace
        >>> simclr = TrainingConfig(objective=tammes.recipes.simclr(temperature=0.5))
        >>> hcl = replace(simclr, objective=tammes.recipes.hcl(temperature=0.5, beta=1.0))
        >>> data = ImagesSummary(source="digits", count=1437, channels=1, size=8)
        >>> found = differing_settings([RunConfig(training=each, data=data) for each in (simclr, hcl)])
        >>> found["coupling"], found["coupling beta"]
        (['uniform', 'hard'], ['–', '1'])
    """
    flat = [
        {
            **dict(_settings(config.training.objective, "")),
            **{name: setting for name, setting in _settings(config.training, "") if name != "objective"},
            **dict(_settings(config.data, "data")),
        }
        for config in configs
    ]
    return {
        name: [each[name].words if name in each else "–" for each in flat]
        for name in dict.fromkeys(name for each in flat for name in each)
        if name != SEED and _differs([each.get(name) for each in flat])
    }


@dataclass(frozen=True, kw_only=True)
class _Setting:
    """Value in words, and whether it is the default of its field."""

    words: str
    is_usual: bool


def _differs(settings: Sequence[_Setting | None]) -> bool:
    """Return whether values differ, or are unusual where only some configurations have the setting."""
    known = [setting for setting in settings if setting is not None]
    if len({setting.words for setting in known}) > 1:
        return True
    return len(known) < len(settings) and not all(setting.is_usual for setting in known)


def _settings(part: Any, path: str) -> Iterator[tuple[str, _Setting]]:
    """Yield the settings of a part by their paths in words; a part within it has its name before its own."""
    for field in fields(part):
        value = getattr(part, field.name)
        if not field.init:
            continue
        where = f"{path} {_spaced(field.name)}".strip()
        usual = value == field.default
        yield where, _Setting(words=_name(value) if _is_part(value) else _value(value), is_usual=usual)
        # The objective's settings have their own names, without a word before them.
        if _is_part(value) and where != "objective":
            yield from _settings(value, where)
