"""Check of the annotated shapes of the package at run time, on every call that a test makes.

An import hook decorates each function with a shape among its annotations, and the constructor of each
dataclass with a shape among its fields. Annotations without a shape are mypy's business and are left alone.
"""

from __future__ import annotations

import ast
import functools
import inspect
import re
import sys
import types
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from typing import Any, get_type_hints

import torch
from beartype import BeartypeConf, beartype
from jaxtyping import TypeCheckError, jaxtyped

SHAPE = re.compile(r"\b(Bool|Shaped|U?Int\d*|Float\d*)\[")
_is_off = ContextVar("_is_off", default=False)
checked_functions: list[Callable[..., Any]] = []
# An int is accepted for a float, as by mypy.
_typechecker = beartype(conf=BeartypeConf(is_pep484_tower=True))


def resolved(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the annotations of a function that have a shape, as types."""
    hints = {name: hint for name, hint in function.__annotations__.items() if SHAPE.search(str(hint))}
    stand_in = types.SimpleNamespace(__annotations__=hints)
    return get_type_hints(stand_in, inspect.unwrap(function).__globals__, include_extras=True)


def _strict(function: Callable[..., Any]) -> Callable[..., Any]:
    copy = types.FunctionType(
        function.__code__,
        function.__globals__,
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    copy.__kwdefaults__ = function.__kwdefaults__
    copy.__module__, copy.__qualname__ = function.__module__, function.__qualname__
    copy.__annotations__ = resolved(function)
    return jaxtyped(copy, typechecker=_typechecker)


def checked(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function with its annotated shapes checked.

    A call with other shapes is fine if the function itself refuses it: tests try wrong input on purpose.
    """
    checked_functions.append(function)
    # Some annotations name what their module defines further below, so they are resolved at the first call.
    strict = functools.cache(lambda: _strict(function))

    @functools.wraps(function)
    def call(*arguments: Any, **named: Any) -> Any:
        if torch.compiler.is_compiling() or _is_off.get():  # a compiler cannot trace the second
            return function(*arguments, **named)
        try:
            return strict()(*arguments, **named)
        except TypeCheckError as error:
            if f"the parameters of {function.__module__}.{function.__qualname__}." in str(error):
                before = _is_off.set(True)
                try:
                    function(*arguments, **named)
                finally:
                    _is_off.reset(before)
            raise

    return call


def checked_fields(cls: type) -> type:
    """Return the dataclass with the annotated shapes of its fields checked when one is made."""
    cls.__init__ = checked(cls.__init__)  # type: ignore[misc]
    return cls


class _Decorator(ast.NodeTransformer):
    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        self.generic_visit(node)
        arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        arguments += [argument for argument in (node.args.vararg, node.args.kwarg) if argument is not None]
        if _has_shape([node.returns, *(argument.annotation for argument in arguments)]):
            node.decorator_list.append(_named("checked", node))  # innermost, below property and staticmethod
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.ClassDef:
        self.generic_visit(node)
        is_dataclass = any("dataclass" in ast.unparse(decorator) for decorator in node.decorator_list)
        fields = [part.annotation for part in node.body if isinstance(part, ast.AnnAssign)]
        if is_dataclass and _has_shape(fields):
            node.decorator_list.insert(0, _named("checked_fields", node))
        return node


def _has_shape(annotations: Sequence[ast.expr | None]) -> bool:
    return any(SHAPE.search(ast.unparse(annotation)) for annotation in annotations if annotation is not None)


def _named(name: str, where: ast.stmt) -> ast.expr:
    expression = ast.parse(f"__import__('shapes').{name}", mode="eval").body
    for node in ast.walk(expression):
        ast.copy_location(node, where)
    return expression


class _Loader(SourceFileLoader):
    def get_code(self, fullname: str) -> types.CodeType:
        # Compiled from source each time: the cached bytecode is that of the package without checks.
        path = self.get_filename(fullname)
        tree = _Decorator().visit(ast.parse(self.get_data(path), path))
        return compile(ast.fix_missing_locations(tree), path, "exec", dont_inherit=True)


class _Finder(MetaPathFinder):
    def __init__(self, package: str) -> None:
        self.package = package

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname.split(".")[0] != self.package:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and isinstance(spec.loader, SourceFileLoader):
            spec.loader = _Loader(spec.loader.name, spec.loader.path)
        return spec


def check_shapes(package: str) -> None:
    """Check the annotated shapes of a package that is imported from now on."""
    sys.meta_path.insert(0, _Finder(package))
