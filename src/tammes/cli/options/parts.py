"""Functions and dataclasses of the library as choices on the command line, read off their signatures."""

import ast
import dataclasses
import inspect
import re
import textwrap
import types
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from itertools import pairwise
from typing import Annotated, Any

import tyro

from tammes.cli.options.parsing import NO_DEFAULT, Option, Words, constructor_of, explanations, words_of
from tammes.encoders import (
    BagOfWordsConfig,
    ConvNetConfig,
    GATEncoderConfig,
    GCNEncoderConfig,
    GINEncoderConfig,
    GPSEncoderConfig,
    GRUConfig,
    ModuleConfig,
    ResNet3DConfig,
    ResNet9Config,
    ResNetConfig,
    TextTransformerConfig,
    TimmConfig,
    TransformersConfig,
    TwoTowersConfig,
    VisionTransformerConfig,
)
from tammes.positives import SameInstance
from tammes.training import Care, InputAttack, LearnedNegativesConfig, Masked, QueueConfig
from tammes.training.config_file import concrete_classes

DEPTHS = (18, 34, 50)

# Names of parts on the command line; a part that is missing here is named for its class.
NAMES: Mapping[type, str] = {
    ConvNetConfig: "convnet",
    ResNet9Config: "resnet9",
    ResNet3DConfig: "resnet3d",
    ModuleConfig: "module",
    TimmConfig: "timm",
    TransformersConfig: "transformers",
    VisionTransformerConfig: "vit",
    BagOfWordsConfig: "bag-of-words",
    GRUConfig: "gru",
    TextTransformerConfig: "text-transformer",
    TwoTowersConfig: "two-towers",
    Care: "care",
    GINEncoderConfig: "gin",
    GCNEncoderConfig: "gcn",
    GATEncoderConfig: "gat",
    GPSEncoderConfig: "gps",
    QueueConfig: "queue",
    LearnedNegativesConfig: "learned",
    InputAttack: "pgd",
    Masked: "can",
    SameInstance: "itself",
}


def options_of(maker: Callable[..., Any]) -> dict[str, Option]:
    """Return the parameters of a function or a dataclass as options.

    Example:
        >>> from tammes import recipes
        >>> list(options_of(recipes.dcl))[:2]
        ['temperature', 'class_prior']
    """
    hints, texts = typing.get_type_hints(maker), _texts(maker)
    return {
        name: (Annotated[choice_of(hints[name], default), tyro.conf.arg(help=texts.get(name))], default)
        for name, default in _defaults(maker)
        if name != "engine"  # it decides how the sums are computed, not what is computed
    }


@cache  # a part belongs to many objectives, and reading its source takes milliseconds
def _texts(maker: Callable[..., Any]) -> dict[str, str]:
    """Return what a docstring says of each parameter, or the string below each field of a dataclass.

    A field that a dataclass inherits is explained by the class that has it.
    """
    texts = explanations(inspect.getdoc(maker) or "")
    if not dataclasses.is_dataclass(maker) or texts:
        return texts
    kind = typing.cast(type, maker)
    for base in filter(dataclasses.is_dataclass, reversed(kind.__bases__)):
        texts.update(_texts(base))
    try:
        source = inspect.getsource(kind)
    except OSError:  # an installation without sources has no such strings
        return texts
    body = ast.parse(textwrap.dedent(source)).body[0]
    assert isinstance(body, ast.ClassDef)
    for field, text in pairwise(body.body):
        match field, text:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(said))):
                texts[name] = " ".join(said.split())
    return texts


def subcommand(maker: Callable[..., Any], name: str, default: Any = NO_DEFAULT) -> Any:
    """Return tyro's mark of a subcommand that calls a function or makes a dataclass."""
    return _subcommand(maker, options_of(maker), summary_of(maker), name, default)


def _subcommand(
    make: Callable[..., Any], options: Mapping[str, Option], summary: str, name: str, default: Any
) -> Any:
    constructor = constructor_of(make, options, summary)
    constructor.__name__ = getattr(make, "__name__", "part")
    given = {} if default is NO_DEFAULT else {"default": default}
    return tyro.conf.subcommand(name, description=summary, constructor=constructor, **given)


def of_part(default: Any) -> Option:
    """Return the option of a part that is always there, with its settings behind its name."""
    kind = type(default)
    options = {name: (option, getattr(default, name)) for name, (option, _) in options_of(kind).items()}
    constructor = constructor_of(kind, options, summary_of(kind))
    constructor.__name__ = kind.__name__
    return Annotated[kind, tyro.conf.arg(constructor=constructor)], default


def summary_of(maker: Callable[..., Any]) -> str:
    """Return the first sentence of a docstring, as one would say it of a choice."""
    summary = (inspect.getdoc(maker) or "").split("\n")[0]
    said = re.sub(r"^Return (the )?", "", summary)
    return said if said == summary else said[:1].upper() + said[1:]


def choice_of(
    annotation: Any, default: Any = NO_DEFAULT, *, none: tuple[str, str] = ("none", "Leave it out.")
) -> Any:
    """Return an annotation in which each part is a subcommand, and an abstract part a choice of its classes.

    Args:
        annotation: type of a parameter.
        default: its default value.
        none: name and description of the subcommand for None.
    """
    named = dict(_named(annotation, default, none))
    return choice(named) if named else annotation


def choice(named: Mapping[str, Any]) -> Any:
    """Return the union of subcommands, with their names for those who list them."""
    return Annotated[typing.Union[tuple(named.values())], Words(tuple(named))]  # noqa: UP007


def _named(annotation: Any, default: Any, none: tuple[str, str]) -> Iterator[tuple[str, Any]]:
    """Yield the choices of a type that has parts, by their names; none for numbers and words."""
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        members = [m for m in typing.get_args(annotation) if typing.get_origin(m) is not Callable]
        if any(_is_part(member) for member in members):
            for member in members:
                yield from _named(member, default, none)
    elif annotation is types.NoneType:
        name, description = none
        yield name, Annotated[None, tyro.conf.subcommand(name, default=None, description=description)]
    elif annotation is ResNetConfig:
        for depth in DEPTHS:
            yield f"resnet{depth}", Annotated[ResNetConfig, _resnet(depth)]
    elif _is_part(annotation) and inspect.isabstract(annotation):
        for cls in concrete_classes(annotation):
            yield from _named(cls, default, none)
    elif _is_part(annotation):
        name = NAMES.get(annotation) or _with_hyphens(annotation.__name__)
        given = default if type(default) is annotation else NO_DEFAULT
        yield name, Annotated[annotation, subcommand(annotation, name, given)]


def check_parts(options: Mapping[str, Option], words: Sequence[str]) -> None:
    """Refuse an option of a part that no word chooses, and that would only be unrecognized.

    Args:
        options: options of a command by name.
        words: words of the shell.

    Raises:
        ValueError: with the parts that have the option.
    """
    named = {word.partition(":")[0] for word in words if ":" in word and not word.startswith("-")}
    for word in words:
        name, dot, option = word.removeprefix("--").partition(".")
        if not word.startswith("--") or not dot or name in named or name not in options:
            continue
        field, (annotation, default) = option.partition("=")[0], options[name]
        owners = _owners(annotation, field.replace("-", "_")) if default is None else []
        if owners:
            raise ValueError(
                f"--{name}.{field} is an option of {', '.join(f'{name}:{each}' for each in owners)}: "
                f"write {'that' if len(owners) == 1 else 'one of them'} before it"
            )


def _owners(annotation: Any, field: str) -> list[str]:
    """Return the words of the parts, among those that an option can choose, that have a field."""
    parts = typing.get_args(typing.get_args(annotation)[0])
    found = []
    for word, part in zip(words_of(annotation), parts, strict=False):
        (marked,) = getattr(part, "__metadata__", (None,))
        make = getattr(marked, "constructor_factory", None)
        if make is not None and field in inspect.signature(make()).parameters:
            found.append(word)
    return found


def _with_hyphens(name: str) -> str:
    """Return the name of a class as a word of the shell.

    Example:
        >>> _with_hyphens("InfoNCE"), _with_hyphens("SameClass"), _with_hyphens("BCL")
        ('info-nce', 'same-class', 'bcl')
    """
    return re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "-", name).lower()


def _resnet(depth: int) -> Any:
    options = options_of(ResNetConfig)
    del options["depth"]
    make = partial(ResNetConfig, depth=depth)
    summary = f"Residual network of {depth} layers."
    return _subcommand(make, options, summary, f"resnet{depth}", ResNetConfig(depth=depth))


def _defaults(maker: Callable[..., Any]) -> Iterator[tuple[str, Any]]:
    """Yield the parameters of a function or a dataclass, each with its default or `NO_DEFAULT`."""
    factories = {}
    if dataclasses.is_dataclass(maker):
        factories = {field.name: field.default_factory for field in dataclasses.fields(maker)}
    for name, parameter in inspect.signature(maker).parameters.items():
        factory = factories.get(name, dataclasses.MISSING)
        yield name, parameter.default if factory is dataclasses.MISSING else factory()


def _is_part(annotation: Any) -> bool:
    return inspect.isabstract(annotation) or dataclasses.is_dataclass(annotation)
