"""The objective from the shell: each recipe is a subcommand, and so is the objective spelled out."""

import dataclasses
import inspect
import types
import typing
from collections.abc import Callable, Iterator
from typing import Annotated, Any

import tyro

from tammes import recipes
from tammes.objective import Objective

NO_DEFAULT = inspect.Parameter.empty


def named_recipes() -> dict[str, Callable[..., Objective]]:
    """The recipes by their names on the command line, in the order of their file.

    Example:
        >>> list(named_recipes())[:4]
        ['simclr', 'dcl', 'hcl', 'hcl-ot']
    """
    public = {
        name: recipe
        for name, recipe in vars(recipes).items()
        if inspect.isfunction(recipe) and recipe.__module__ == recipes.__name__ and not name.startswith("_")
    }
    return {name.replace("_", "-"): recipe for name, recipe in public.items()}


def objective_type() -> Any:
    """A union for tyro with a member for each recipe, and one for `Objective` with all its parts."""
    makers = {**named_recipes(), "objective": Objective}
    return typing.Union[tuple(_member(name, maker) for name, maker in makers.items())]  # noqa: UP007


def _member(name: str, maker: Callable[..., Any]) -> Any:
    return Annotated[Objective, _subcommand(maker, name)]


def _subcommand(maker: Callable[..., Any], name: str | None = None, default: Any = NO_DEFAULT) -> Any:
    summary = (inspect.getdoc(maker) or "").split("\n")[0]
    constructor = _from_shell(maker)
    if default is NO_DEFAULT:
        return tyro.conf.subcommand(name, description=summary, constructor=constructor)
    return tyro.conf.subcommand(name, default=default, description=summary, constructor=constructor)


def _from_shell(maker: Callable[..., Any]) -> Callable[..., Any]:
    """The maker with the same parameters, where each abstract part is a choice among the concrete ones."""
    hints = typing.get_type_hints(maker)
    parameters = [
        inspect.Parameter(
            name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=_choice(hints[name], default)
        )
        for name, default in _defaults(maker)
        if name != "engine"  # how the sums are computed, not what is computed
    ]

    def make(**arguments: Any) -> Any:
        return maker(**arguments)

    make.__doc__ = _summary_and_arguments(inspect.getdoc(maker) or "")
    make.__name__ = maker.__name__
    make.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    make.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return make


def _defaults(maker: Callable[..., Any]) -> Iterator[tuple[str, Any]]:
    """The parameters of a function or a dataclass, each with its default (or inspect's mark for none)."""
    factories = {}
    if dataclasses.is_dataclass(maker):
        factories = {field.name: field.default_factory for field in dataclasses.fields(maker)}
    for name, parameter in inspect.signature(maker).parameters.items():
        factory = factories.get(name, dataclasses.MISSING)
        yield name, parameter.default if factory is dataclasses.MISSING else factory()


def _summary_and_arguments(text: str) -> str:
    """What belongs on a help screen: the first line, and a line for each argument."""
    sections = text.split("\n\n")
    return "\n\n".join([sections[0], *(section for section in sections[1:] if section.startswith("Args:"))])


def _choice(annotation: Any, default: Any) -> Any:
    """An annotation with each abstract class replaced by the union of what derives from it."""
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        members = [m for m in typing.get_args(annotation) if typing.get_origin(m) is not Callable]
        if any(_is_part(member) for member in members):
            return typing.Union[tuple(_choice(member, default) for member in members)]  # noqa: UP007
    elif annotation is types.NoneType:
        return Annotated[None, tyro.conf.subcommand("none", default=None, description="Leave it out.")]
    elif _is_part(annotation) and inspect.isabstract(annotation):
        return typing.Union[tuple(_choice(cls, default) for cls in annotation.__subclasses__())]  # noqa: UP007
    elif _is_part(annotation):
        given = default if type(default) is annotation else NO_DEFAULT
        return Annotated[annotation, _subcommand(annotation, default=given)]
    return annotation


def _is_part(annotation: Any) -> bool:
    return inspect.isabstract(annotation) or dataclasses.is_dataclass(annotation)
