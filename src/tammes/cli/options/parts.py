"""Functions and dataclasses of the library as choices on the command line, read off their signatures."""

import dataclasses
import inspect
import sys
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Annotated, Any

import tyro

from tammes.cli.failures import in_words_of_shell
from tammes.encoders import (
    BagOfWordsConfig,
    ConvNetConfig,
    ModuleConfig,
    ResNetConfig,
    TimmConfig,
    TransformersConfig,
)
from tammes.positives import SameInstance
from tammes.training import QueueConfig
from tammes.training.config_file import concrete_classes

NO_DEFAULT = inspect.Parameter.empty
DEPTHS = (18, 34, 50)

# Names of parts on the command line; a part that is missing here is named for its class.
NAMES: Mapping[type, str] = {
    ConvNetConfig: "convnet",
    ModuleConfig: "module",
    TimmConfig: "timm",
    TransformersConfig: "transformers",
    BagOfWordsConfig: "bag-of-words",
    QueueConfig: "queue",
    SameInstance: "itself",
}


Option = tuple[Any, Any]
"""Type and default value of an option, for tyro; the default is `NO_DEFAULT` if it must be given."""


def find_in_current_folder() -> None:
    """Let modules of the current folder be imported, after all that are installed."""
    if "" not in sys.path:
        sys.path.append("")


def options_of(maker: Callable[..., Any]) -> dict[str, Option]:
    """Return the parameters of a function or a dataclass as options.

    Example:
        >>> from tammes import recipes
        >>> list(options_of(recipes.dcl))[:2]
        ['temperature', 'class_prior']
    """
    hints = typing.get_type_hints(maker)
    return {
        name: (choice_of(hints[name], default), default)
        for name, default in _defaults(maker)
        if name != "engine"  # it decides how the sums are computed, not what is computed
    }


def constructor_of(make: Callable[..., Any], options: Mapping[str, Option], text: str) -> Callable[..., Any]:
    """Return a constructor for tyro, whose signature consists of the options.

    Args:
        make: function that takes the values of the options by name.
        options: options by name.
        text: docstring, of which the help shows the summary and the arguments.
    """

    def construct(**values: Any) -> Any:
        try:
            return make(**values)
        except ValueError as error:
            raise ValueError(in_words_of_shell(str(error))) from error

    parameters = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
        for name, (annotation, default) in options.items()
    ]
    sections = inspect.cleandoc(text).split("\n\n")
    arguments = (section for section in sections[1:] if section.startswith("Args:"))
    construct.__doc__ = "\n\n".join([sections[0], *arguments])
    construct.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    construct.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return construct


def subcommand(maker: Callable[..., Any], name: str | None = None, default: Any = NO_DEFAULT) -> Any:
    """Return tyro's mark of a subcommand that calls a function or makes a dataclass."""
    return _subcommand(maker, options_of(maker), inspect.getdoc(maker) or "", name, default)


def _subcommand(
    make: Callable[..., Any], options: Mapping[str, Option], text: str, name: str | None, default: Any
) -> Any:
    constructor = constructor_of(make, options, text)
    constructor.__name__ = getattr(make, "__name__", "part")
    summary = text.split("\n")[0]
    given = {} if default is NO_DEFAULT else {"default": default}
    return tyro.conf.subcommand(name, description=summary, constructor=constructor, **given)


def choice_of(
    annotation: Any, default: Any = NO_DEFAULT, *, none: tuple[str, str] = ("none", "Leave it out.")
) -> Any:
    """Return an annotation in which each part is a subcommand, and an abstract part a choice of its classes.

    Args:
        annotation: type of a parameter.
        default: its default value.
        none: name and description of the subcommand for None.
    """
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        members = [m for m in typing.get_args(annotation) if typing.get_origin(m) is not Callable]
        if any(_is_part(member) for member in members):
            return _union(choice_of(member, default, none=none) for member in members)
    elif annotation is types.NoneType:
        name, description = none
        return Annotated[None, tyro.conf.subcommand(name, default=None, description=description)]
    elif annotation is ResNetConfig:
        return _union(Annotated[ResNetConfig, _resnet(depth)] for depth in DEPTHS)
    elif _is_part(annotation) and inspect.isabstract(annotation):
        return _union(choice_of(cls, default) for cls in concrete_classes(annotation))
    elif _is_part(annotation):
        given = default if type(default) is annotation else NO_DEFAULT
        return Annotated[annotation, subcommand(annotation, NAMES.get(annotation), given)]
    return annotation


def _union(members: Iterator[Any] | typing.Iterable[Any]) -> Any:
    return typing.Union[tuple(members)]  # noqa: UP007


def _resnet(depth: int) -> Any:
    options = options_of(ResNetConfig)
    del options["depth"]
    text = (inspect.getdoc(ResNetConfig) or "").split("\n\n")
    text[0] = f"Residual network of {depth} layers."
    make = partial(ResNetConfig, depth=depth)
    return _subcommand(make, options, "\n\n".join(text), f"resnet{depth}", ResNetConfig(depth=depth))


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
