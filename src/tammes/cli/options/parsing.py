"""How words become the options of a command, and what its help shows of them.

The options of a command are the parameters of a function that tyro reads. `--help` shows those that must be
given first, then the usual ones, and names the rare ones, which `--help-all` explains.
"""

import dataclasses
import inspect
import re
import shlex
import shutil
import textwrap
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any

import tyro
from tyro.constructors import ConstructorRegistry, PrimitiveConstructorSpec, PrimitiveTypeInfo

from tammes.checks import nearest
from tammes.cli.failures import in_words_of_shell, is_first_on_machine

NO_DEFAULT = inspect.Parameter.empty
Option = tuple[Any, Any]
"""Type of an option with its explanation (`Annotated`), and its default: `NO_DEFAULT` if it must be given."""

MARKERS = (tyro.conf.CascadeSubcommandArgs, tyro.conf.FlagCreatePairsOff)
HELP, HELP_ALL = ("-h", "--help"), "--help-all"
WIDEST = 100
"""Columns within which paragraphs are wrapped."""

# 1e6 or 2.5e6; an exponent of more digits would take all memory.
_POWER = re.compile(r"\d+(\.\d+)?[eE]\+?\d{1,2}")


@dataclass(frozen=True)
class Words:
    """Words of the shell that choose a part, as metadata of the type of an option: `encoder:convnet`.

    Args:
        names: names of the parts, without the option's.
    """

    names: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options of a command, and what is made of their values.

    Args:
        make: function that takes the value of each option by its name.
        options: type and default of each option.
        text: what the command does, in paragraphs.
        rare: names of the options that `--help` only names.
    """

    make: Callable[..., Any]
    options: Mapping[str, Option]
    text: str
    rare: frozenset[str] = frozenset()

    @classmethod
    def of(cls, kind: type, rare: Iterable[str] = ()) -> "Options":
        """Return the options of a dataclass, among them those of the dataclasses in it."""
        options = fields_of(kind)
        return cls(
            make=lambda **given: made(kind, given), options=options, text=text_of(kind), rare=frozenset(rare)
        )

    def parse(self, command: str, words: Sequence[str]) -> Any:
        """Return what is made of the words after `tammes COMMAND`; help and wrong words end the process.

        Raises:
            ValueError: for values that `make` refuses, and parts that there are not.
        """
        for word in words:
            name, _, part = word.partition(":")
            if part and name.startswith("--") and "=" not in name:
                raise ValueError(
                    f"expected {word[2:]}, got {word}: a part of a command has no dashes before it"
                )
            if part and name in self.options and (known := words_of(self.options[name][0])):
                check_word("part", word, [f"{name}:{each}" for each in known])
        shown, folded = self.options, []
        if HELP_ALL not in words and any(word in HELP for word in words):
            named = {word.partition(":")[0] for word in words if ":" in word}
            folded = [name for name in self.options if name in self.rare - named]
            shown = {name: option for name, option in self.options.items() if name not in folded}
        prints = is_first_on_machine()
        try:
            return tyro.cli(
                constructor_of(self.make, _sorted(shown), ""),
                prog=f"tammes {command}",
                description=wrapped(self.text),
                args=with_plain_help(words),
                config=MARKERS,
                console_outputs=prints,
                registry=_with_whole_numbers(),
            )
        except SystemExit as end:
            if folded and prints and not end.code:
                full = [HELP_ALL if word in HELP else word for word in words]
                print(_further(folded, self.options, shlex.join(["tammes", *command.split(), *full])))
            raise


def whole_number(word: str) -> int:
    """Return the whole number that a word of the shell says, such as 1000000 or 1e6.

    Raises:
        ValueError: for any other word.

    Example:
        >>> whole_number("2.5e6")
        2500000
        >>> whole_number("2.5")
        Traceback (most recent call last):
            ...
        ValueError: expected a whole number such as 1000000 or 1e6, got '2.5'
    """
    if _POWER.fullmatch(word) and (number := Decimal(word)) == number.to_integral_value():
        return int(number)
    try:
        return int(word)
    except ValueError:
        raise ValueError(f"expected a whole number such as 1000000 or 1e6, got {word!r}") from None


def _with_whole_numbers() -> ConstructorRegistry:
    """Return tyro's rules with `whole_number` in the place of int."""
    rules = ConstructorRegistry()

    @rules.primitive_rule
    def of_integers(kind: PrimitiveTypeInfo) -> PrimitiveConstructorSpec[int] | None:
        if kind.type is not int:
            return None
        return PrimitiveConstructorSpec(
            nargs=1,
            metavar="INT",
            instance_from_str=lambda words: whole_number(words[0]),
            is_instance=lambda value: isinstance(value, int),
            str_from_instance=lambda number: [str(number)],
        )

    return rules


def with_plain_help(words: Sequence[str]) -> list[str]:
    """Return the words with `--help` in the place of `--help-all`, for a help that leaves nothing out."""
    return [HELP[1] if word == HELP_ALL else word for word in words]


def fields_of(kind: type, without: Iterable[str] = ()) -> dict[str, Option]:
    """Return the fields of a dataclass, and of the dataclasses in it, as options with their explanations.

    A field that its docstring does not explain is no option.

    Args:
        kind: the dataclass.
        without: fields that are made otherwise.

    Example:
        >>> @dataclass
        ... class Point:
        ...     '''A point.
        ...
        ...     Args:
        ...         x: distance from
        ...             the left.
        ...     '''
        ...
        ...     x: float = 0.5
        >>> option, default = fields_of(Point)["x"]
        >>> option.__metadata__[0].help, default
        ('Distance from the left.', 0.5)
    """
    hints = typing.get_type_hints(kind, include_extras=True)
    texts = {
        name: text
        for each in reversed(kind.__mro__)
        for name, text in explanations(each.__doc__ or "").items()
    }
    options: dict[str, Option] = {}
    for field in dataclasses.fields(kind):
        if field.name in without:
            continue
        if dataclasses.is_dataclass(hints[field.name]):
            options |= fields_of(hints[field.name])
        elif field.name in texts:
            default = NO_DEFAULT if field.default is dataclasses.MISSING else field.default
            options[field.name] = Annotated[hints[field.name], tyro.conf.arg(help=texts[field.name])], default
    return options


def made(kind: type, given: Mapping[str, Any]) -> Any:
    """Make a dataclass of the values of its fields, and of those of the dataclasses in it."""
    hints = typing.get_type_hints(kind)
    values = {}
    for field in dataclasses.fields(kind):
        if field.name in given:
            values[field.name] = given[field.name]
        elif dataclasses.is_dataclass(hints[field.name]):
            values[field.name] = made(hints[field.name], given)
    return kind(**values)


def text_of(kind: type) -> str:
    """Return the paragraphs of a docstring before its arguments."""
    return inspect.cleandoc(kind.__doc__ or "").partition("\n\nArgs:")[0]


def explanations(text: str) -> dict[str, str]:
    r"""Return what a docstring says of each argument, as sentences in one line each.

    Example:
        >>> explanations("Add.\n\nArgs:\n    x: one of\n        two.\n    y: the other.\n\nRaises: never.")
        {'x': 'One of two.', 'y': 'The other.'}
    """
    _, _, rest = inspect.cleandoc(text).partition("\nArgs:\n")
    found: dict[str, str] = {}
    name = ""
    for line in textwrap.dedent(rest.partition("\n\n")[0]).splitlines():
        first = re.match(r"(\w+): (.*)", line)
        if first is not None:
            name, line = first.groups()
            found[name] = line[:1].upper() + line[1:]
        else:
            found[name] += f" {line.strip()}"
    return found


def constructor_of(make: Callable[..., Any], options: Mapping[str, Option], text: str) -> Callable[..., Any]:
    """Return a constructor for tyro, whose signature consists of the options.

    Args:
        make: function that takes the values of the options by name.
        options: options by name.
        text: what is made, in a sentence.
    """

    def construct(**values: Any) -> Any:
        try:
            return make(**values)
        except ValueError as error:
            raise ValueError(in_words_of_shell(str(error))) from error

    parameters = [
        inspect.Parameter(
            name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=_shown(annotation, default)
        )
        for name, (annotation, default) in options.items()
    ]
    construct.__doc__ = text
    construct.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    construct.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return construct


def check_word(kind: str, word: str, known: Iterable[str]) -> None:
    """Refuse a word that is none of those known.

    Raises:
        ValueError: with the words that are known, and the nearest of them.

    Example:
        >>> check_word("objective", "simcrl", ["simclr", "dcl"])
        Traceback (most recent call last):
            ...
        ValueError: there is no objective simcrl: did you mean simclr? There is simclr, dcl
    """
    known = list(known)
    if word in known or word.replace("_", "-") in known:
        return
    meant = nearest(word, known)
    question = f": did you mean {meant}? There is" if meant else "; there is"
    raise ValueError(f"there is no {kind} {word}{question} {', '.join(known)}")


def _sorted(options: Mapping[str, Option]) -> dict[str, Option]:
    """Return what must be given first, then the other options, and parts at the end."""

    def place(option: Option) -> tuple[bool, bool]:
        annotation, default = option
        return _is_part(annotation), default is not NO_DEFAULT

    return dict(sorted(options.items(), key=lambda item: place(item[1])))


def _is_part(annotation: Any) -> bool:
    """Return whether an option has options itself, which its value chooses, or a prefix of its name."""
    return bool(words_of(annotation)) or dataclasses.is_dataclass(typing.get_args(annotation)[0])


def _shown(annotation: Any, default: Any) -> Any:
    """Return the annotation without what tyro's help would say of a default that the explanation names."""
    if default is None and not _is_part(annotation):
        return Annotated[annotation, tyro.conf.DisallowNone, tyro.conf.arg(help_behavior_hint="")]
    if default is False or default in ((), ""):
        return Annotated[annotation, tyro.conf.arg(help_behavior_hint="")]
    return annotation


def _further(names: Sequence[str], options: Mapping[str, Option], full: str) -> str:
    """Return a paragraph on the options that the help leaves out: their names, and the words of parts."""
    parts = {name: words for name in names if (words := words_of(options[name][0]))}
    plain = [flag for name in names if name not in parts for flag in _flags(name, options[name][0])]
    lines = [f"Further options, explained by `{full}`:", *_indented(plain)]
    if parts:
        lines += ["Parts, in any order:"]
        for name, words in parts.items():
            lines += _indented([f"{name}:{word}" for word in words])
    return "\n".join(lines)


def _flags(name: str, annotation: Any) -> list[str]:
    kind = typing.get_args(annotation)[0]
    inner = dataclasses.fields(kind) if dataclasses.is_dataclass(kind) else ()
    return [f"--{each}".replace("_", "-") for each in [f"{name}.{field.name}" for field in inner] or [name]]


def _indented(words: Iterable[str]) -> list[str]:
    return textwrap.wrap(
        "  ".join(words), _columns(), initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False
    )


def words_of(annotation: Any) -> tuple[str, ...]:
    """Return the words that choose a part, without the name of the option; none for a number or the like."""
    return next((each.names for each in typing.get_args(annotation)[1:] if isinstance(each, Words)), ())


def _columns() -> int:
    return min(WIDEST, shutil.get_terminal_size().columns)


def wrapped(text: str) -> str:
    """Return paragraphs in lines that the terminal can show, each indented so that tyro leaves them alone."""
    lines: list[str] = []
    for paragraph in text.split("\n\n"):
        indent = "    " if paragraph.startswith("tammes ") else "  "
        words = " ".join(paragraph.split())
        lines += textwrap.wrap(words, _columns(), initial_indent=indent, subsequent_indent=indent)
    return "\n".join(lines)
