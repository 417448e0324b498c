"""The arguments of a live call by parameter name, as ``contract.identity`` binds them, but faster.

Looking at a function's signature costs more than everything else that is done per call, so it is
done once, when the function is decorated.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from visceral_cli.contract.identity import NotCanonical, bind_arguments

_PLAIN = inspect.Parameter.POSITIONAL_OR_KEYWORD


class Binds(Protocol):
    """Anything that names the arguments of a call."""

    def bind(self, args: Sequence[object], kwargs: Mapping[str, object]) -> dict[str, object]:
        """Return the arguments by name; raises `NotCanonical` if that cannot be."""


class ByKeyword:
    """Names the arguments of functions that are called with keywords only, as frameworks do."""

    def bind(self, args: Sequence[object], kwargs: Mapping[str, object]) -> dict[str, object]:
        """Return the keywords."""
        if args:
            raise NotCanonical("an argument without a name")
        return dict(kwargs)


class Binder:
    """Binds calls of one function."""

    __slots__ = ("_defaults", "_function", "_names")

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._names: tuple[str, ...] | None = None
        self._defaults: dict[str, object] = {}
        try:
            parameters = inspect.signature(function).parameters.values()
        except (TypeError, ValueError):
            return
        if all(parameter.kind is _PLAIN for parameter in parameters):
            self._names = tuple(parameter.name for parameter in parameters)
            self._defaults = {
                parameter.name: parameter.default
                for parameter in parameters
                if parameter.default is not inspect.Parameter.empty
            }

    def bind(self, args: Sequence[object], kwargs: Mapping[str, object]) -> dict[str, object]:
        """Return the arguments by name, defaults applied.

        Raises `NotCanonical` if the call does not fit the signature.
        """
        names = self._names
        if names is None:
            return bind_arguments(self._function, args, kwargs)
        if len(args) > len(names):
            raise NotCanonical("the arguments do not fit the function")
        bound: dict[str, object] = dict(zip(names, args, strict=False))
        left = len(kwargs)
        for name in names[len(args) :]:
            if name in kwargs:
                bound[name] = kwargs[name]
                left -= 1
            elif name in self._defaults:
                bound[name] = self._defaults[name]
            else:
                raise NotCanonical("the arguments do not fit the function")
        if left:  # unknown names, or one that was given by position as well
            raise NotCanonical("the arguments do not fit the function")
        return bound
