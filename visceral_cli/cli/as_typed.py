"""Values of a command line that need no conversion, taken as they were typed.

Nearly every parameter here is text, which the readers of ``cli.setting_keys`` read, or a flag, and
few of them are given. Newer versions of Typer build a Pydantic model for each one all the same,
which takes longer than all else before the input is opened.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, get_type_hints

_TEXTS = (str, str | None, list[str], list[str] | None)


def take_as_typed(parameters: list[Any], command: Callable[..., Any] | None) -> list[Any]:
    """Let parameters take texts, flags and what is not given as they are; Typer converts the rest.

    ``command``: the function whose annotations say what they take. Returns the parameters.
    """
    new = [parameter for parameter in parameters if "process_value" not in vars(parameter)]
    kinds = get_type_hints(command) if new else {}
    for parameter in new:
        # Click documents this method; a class of our own for parameters has no place in Typer.
        parameter.process_value = _taking_as_typed(
            parameter, is_text=kinds.get(parameter.name) in _TEXTS
        )
    return parameters


def _taking_as_typed(parameter: Any, *, is_text: bool) -> Callable[[Any, Any], Any]:
    convert = parameter.process_value
    takes_many = parameter.nargs == -1 or getattr(parameter, "multiple", False)

    def process_value(context: Any, value: Any) -> Any:
        if value is None and not parameter.required:
            value = () if takes_many else None
        elif not (isinstance(value, bool) or (is_text and _is_text(value, takes_many))):
            return convert(context, value)
        if parameter.callback is not None:
            return parameter.callback(context, parameter, value)
        return value

    return process_value


def _is_text(value: object, takes_many: bool) -> bool:
    if takes_many:
        return isinstance(value, list | tuple) and all(isinstance(one, str) for one in value)
    return isinstance(value, str)
