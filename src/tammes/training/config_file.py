"""Frozen dataclasses as YAML and back, with every key and type checked and no other class constructed."""

import dataclasses
import inspect
import types
import typing
from collections.abc import Iterator
from typing import Any, Literal, TypeVar

import yaml

T = TypeVar("T")
Plain = None | bool | int | float | str | list["Plain"] | dict[str, "Plain"]

KIND = "kind"
FORMER_KINDS = {"Itself": "SameInstance", "Neighbours": "Neighbors"}
"""Classes by their names in files of older versions."""
FORMER_KEYS = {("RunConfig", "images"): "data", ("Halving", "least"): "lower_bound"}
"""Fields by their class and their key in files of older versions."""


def to_yaml(config: object) -> str:
    r"""Return the configuration as YAML, where a part is a mapping whose `kind` names its class.

    Raises:
        ValueError: for a value that YAML cannot hold, such as a function of the user's own.

    Example:
        >>> @dataclasses.dataclass(frozen=True)
        ... class Point:
        ...     x: float
        >>> to_yaml(Point(x=0.5))
        'kind: Point\nx: 0.5\n'
    """
    return yaml.safe_dump(to_plain(config), sort_keys=False, allow_unicode=True)


def from_yaml(cls: type[T], text: str) -> T:
    """Read a configuration that `to_yaml` wrote.

    Only `cls` and the classes that its annotations name can be constructed.

    Raises:
        ValueError: for text that is no YAML, an unknown or missing key, a value of another type, or one
            that the class itself refuses; the message names the key.

    Example:
        >>> @dataclasses.dataclass(frozen=True)
        ... class Point:
        ...     x: float
        >>> from_yaml(Point, "{kind: Point, x: 2}")
        Point(x=2.0)
        >>> from_yaml(Point, "{x: 2, z: 3}")
        Traceback (most recent call last):
            ...
        ValueError: unknown key z of Point; it has x
    """
    try:
        plain = _loaded(text)
        return typing.cast(T, _read(plain, cls, ""))
    except RecursionError as error:
        raise ValueError("not a configuration: its brackets are nested too deeply to be read") from error


def _loaded(text: str) -> Plain:
    try:
        return typing.cast(Plain, yaml.safe_load(text))
    except (yaml.YAMLError, ValueError) as error:  # a ValueError for a thirteenth month, or for 5,000 digits
        raise ValueError(f"not YAML: {' '.join(str(error).split())}") from error


def to_plain(value: object, where: str = "") -> Plain:
    """Return the configuration as mappings, lists and scalars.

    Raises:
        ValueError: for a value that is none of these; the message names its path.
    """
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {f.name: getattr(value, f.name) for f in dataclasses.fields(value) if f.init}
        parts = {name: to_plain(part, _join(where, name)) for name, part in fields.items()}
        return {KIND: type(value).__name__, **parts}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, tuple | list):
        return [to_plain(part, _join(where, str(i))) for i, part in enumerate(value)]
    raise ValueError(
        f"{where} cannot be written to a file: expected numbers, strings and the parts of Tammes, "
        f"got {value!r}. Train without a run folder, or make it a frozen dataclass of these"
    )


def differences(old: object, new: object) -> Iterator[tuple[str, Plain, Plain]]:
    """Yield where two configurations differ: the path of each field, its old and its new value.

    Example:
        >>> @dataclasses.dataclass(frozen=True)
        ... class Point:
        ...     x: float
        >>> list(differences(Point(1.0), Point(2.0)))
        [('x', 1.0, 2.0)]
    """
    yield from _differences(to_plain(old), to_plain(new), "")


def _differences(old: Plain, new: Plain, where: str) -> Iterator[tuple[str, Plain, Plain]]:
    if isinstance(old, dict) and isinstance(new, dict) and old.get(KIND) == new.get(KIND):
        for key in dict.fromkeys([*old, *new]):
            yield from _differences(old.get(key), new.get(key), _join(where, key))
    elif old != new:
        yield where, _name(old), _name(new)


def _name(value: Plain) -> Plain:
    """Return the class of a part that another part replaces: its fields would say nothing more."""
    return value[KIND] if isinstance(value, dict) and KIND in value else value


def _join(where: str, name: str) -> str:
    return f"{where}.{name}" if where else name


def _read(value: Plain, annotation: Any, where: str) -> object:
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Annotated:
        return _read(value, arguments[0], where)
    if origin in (typing.Union, types.UnionType):
        return _read_union(value, arguments, where)
    if origin is Literal:
        if value not in arguments:
            raise _wrong(where, f"one of {', '.join(map(repr, arguments))}", value)
        return value
    if origin is tuple:
        return _read_tuple(value, arguments, where)
    if annotation in (None, types.NoneType):
        if value is not None:
            raise _wrong(where, "null", value)
        return None
    if annotation in (bool, int, float, str):
        return _read_scalar(value, annotation, where)
    return _read_part(value, concrete_classes(annotation), where)


def _read_scalar(value: Plain, kind: type, where: str) -> object:
    # People write 1 for 1.0 in YAML, which is meant well; a bool, which Python takes for an int, is not.
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        try:
            return float(value)
        except OverflowError as error:
            got = f"one of {value.bit_length()} bits"
            raise ValueError(f"{where}: expected a number that a float holds, got {got}") from error
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise _wrong(where, f"a value of type {kind.__name__}", value)
    return value


def _read_tuple(value: Plain, arguments: tuple[Any, ...], where: str) -> object:
    if not isinstance(value, list):
        raise _wrong(where, "a list", value)
    if len(arguments) == 2 and arguments[1] is Ellipsis:
        arguments = (arguments[0],) * len(value)
    if len(value) != len(arguments):
        raise _wrong(where, f"a list of {len(arguments)}", value)
    pairs = zip(value, arguments, strict=True)
    return tuple(_read(part, kind, _join(where, str(i))) for i, (part, kind) in enumerate(pairs))


def _read_union(value: Plain, members: tuple[Any, ...], where: str) -> object:
    if value is None and types.NoneType in members:
        return None
    if isinstance(value, dict):
        return _read_part(value, [c for member in members for c in concrete_classes(member)], where)
    scalars = [member for member in members if not concrete_classes(member) and member is not types.NoneType]
    for member in scalars:
        try:
            return _read(value, member, where)
        except ValueError:
            continue
    names = [getattr(member, "__name__", str(member)) for member in members]
    raise _wrong(where, f"one of {', '.join(names)}", value)


def concrete_classes(annotation: Any) -> list[type]:
    """Return the dataclasses an annotation stands for: itself, or those derived from an abstract class."""
    if typing.get_origin(annotation) is typing.Annotated:
        annotation = typing.get_args(annotation)[0]
    if not inspect.isclass(annotation):
        return []
    derived = [c for sub in annotation.__subclasses__() for c in concrete_classes(sub)]
    concrete = dataclasses.is_dataclass(annotation) and not inspect.isabstract(annotation)
    return ([annotation] if concrete else []) + derived


def _read_part(value: Plain, classes: list[type], where: str) -> object:
    by_name = {cls.__name__: cls for cls in classes}
    names = ", ".join(by_name)
    if not isinstance(value, dict):
        raise _wrong(where, f"a mapping for {names}", value)
    fields = dict(value)
    kind = fields.pop(KIND, names)
    if isinstance(kind, str):
        kind = FORMER_KINDS.get(kind, kind)
    if not isinstance(kind, str) or kind not in by_name:
        raise _wrong(_join(where, KIND), f"one of {names}", kind)
    return _build(by_name[kind], fields, where)


def _build(cls: type, values: dict[str, Plain], where: str) -> object:
    hints = typing.get_type_hints(cls)
    fields = {f.name: f for f in dataclasses.fields(cls) if f.init}
    values = {FORMER_KEYS.get((cls.__name__, key), key): value for key, value in values.items()}
    for key in values:
        if key not in fields:
            known = ", ".join(fields) or "no keys"
            raise ValueError(f"unknown key {_join(where, str(key))} of {cls.__name__}; it has {known}")
    for name, field in fields.items():
        required = field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
        if required and name not in values:
            raise ValueError(f"missing key {_join(where, name)} of {cls.__name__}")
    parts = {key: _read(value, hints[key], _join(where, key)) for key, value in values.items()}
    try:
        return cls(**parts)
    except ValueError as error:
        raise ValueError(f"{where or cls.__name__}: {error}") from error


def _wrong(where: str, expected: str, value: Plain) -> ValueError:
    return ValueError(f"{where or 'the file'}: expected {expected}, got {value!r}")
