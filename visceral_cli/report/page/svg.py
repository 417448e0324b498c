"""Drawings of Vega made small and harmless: a specification in, one ``<svg>`` element out.

Vega (through vl-convert, in this process, without a network) draws with attributes only. What a
page does not need is taken out, what is not a drawing is refused, and the description of a mark
becomes its ``<title>``, which every browser shows as a tooltip without a script.
"""

from __future__ import annotations

import re
from typing import Any
from xml.etree import ElementTree

import vl_convert

SVG = "http://www.w3.org/2000/svg"
_GROUP = f"{{{SVG}}}g"
_ELEMENTS = frozenset({"svg", "g", "path", "line", "rect", "text", "tspan"})
_ATTRIBUTES = frozenset(
    {
        *("d", "x", "y", "x1", "x2", "y1", "y2", "width", "height", "viewBox", "transform"),
        *("fill", "stroke", "stroke-width", "stroke-dasharray", "opacity"),
        *("fill-opacity", "stroke-opacity", "stroke-miterlimit", "text-anchor"),
        *("font-size", "font-weight"),
    }
)
_INHERITED = (
    *("fill", "stroke", "stroke-width", "stroke-dasharray"),
    *("text-anchor", "font-size", "font-weight"),
)
_CIRCLE = re.compile(r"M([\d.]+),0A\1,\1,0,1,1,-\1,0A\1,\1,0,1,1,\1,0")
_NUMBER = re.compile(r"-?\d+\.\d{2,}")

ElementTree.register_namespace("", SVG)


def draw(specification: dict[str, Any]) -> str:
    """Return the drawing of a Vega-Lite specification; its data must be inside of it."""
    drawn = vl_convert.vegalite_to_svg(specification, allowed_base_urls=[])
    return small(drawn)


def small(drawing: str) -> str:
    """Return a drawing without what a page does not need.

    Raises:
        ValueError: it holds something that is no part of a plain drawing.
    """
    root = ElementTree.fromstring(drawing)
    _clean(root)
    for name in ("width", "height"):
        root.attrib.pop(name, None)
    return ElementTree.tostring(root, encoding="unicode")


def _clean(element: ElementTree.Element) -> None:
    name = element.tag.removeprefix(f"{{{SVG}}}")
    if name not in _ELEMENTS:
        raise ValueError(f"an element {name} in a drawing")
    described = element.get("aria-label") if element.get("aria-roledescription") else None
    for key, value in list(element.attrib.items()):
        if key not in _ATTRIBUTES or (key == "opacity" and value == "1"):
            del element.attrib[key]
        elif key != "viewBox":
            element.set(key, _NUMBER.sub(_rounded, value))
    for child in list(element):
        if child.get("display") == "none" or _draws_nothing(child):
            element.remove(child)
            continue
        _clean(child)
        if child.tag == _GROUP and not (len(child) and child.attrib):
            _replace_by_its_children(element, child)
    _hoist(element)
    circle = _CIRCLE.fullmatch(element.get("d", ""))
    if circle:
        element.tag = f"{{{SVG}}}circle"
        element.set("r", circle.group(1))
        del element.attrib["d"]
    if described:
        title = ElementTree.Element(f"{{{SVG}}}title")
        title.text = described
        element.insert(0, title)


def _replace_by_its_children(parent: ElementTree.Element, group: ElementTree.Element) -> None:
    place = list(parent).index(group)
    parent.remove(group)
    for nth, child in enumerate(group):
        parent.insert(place + nth, child)


def _hoist(group: ElementTree.Element) -> None:
    """Move what all children of a group have in common to the group."""
    if len(group) < 2 or group.tag != _GROUP:
        return
    for key in _INHERITED:
        values = {child.get(key) for child in group}
        if len(values) == 1 and None not in values:
            group.set(key, str(values.pop()))
            for child in group:
                del child.attrib[key]


def _draws_nothing(element: ElementTree.Element) -> bool:
    """Whether it is the frame that Vega puts behind each group, without a colour."""
    return element.get("class") in {"background", "foreground"} and not (
        element.get("fill") or element.get("stroke")
    )


def _rounded(number: re.Match[str]) -> str:
    text = f"{float(number.group()):.1f}".removesuffix(".0")
    return "0" if text == "-0" else text
