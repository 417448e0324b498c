from __future__ import annotations

import pytest

pytest.importorskip("vl_convert", reason="the extra html is not installed")

from visceral_cli.report.page.svg import draw, small

SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9" viewBox="0 0 9 9">{}</svg>'


def test_what_a_page_does_not_need_is_taken_out() -> None:
    drawing = SVG.format(
        '<g class="mark" pointer-events="none" opacity="1"><g/>'
        '<path class="background" d="M0,0h1"/><line x2="0.123456" stroke="red" opacity="0.5"/></g>'
    )
    assert small(drawing) == (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9">'
        '<line x2="0.1" stroke="red" opacity="0.5" /></svg>'
    )


def test_what_all_children_share_stands_at_their_group() -> None:
    drawing = SVG.format('<g><line stroke="red" x2="1"/><line stroke="red" x2="2"/></g>')
    assert '<g stroke="red"><line x2="1" /><line x2="2" /></g>' in small(drawing)
    other = SVG.format('<g><line stroke="red" x2="1"/><line stroke="blue" x2="2"/></g>')
    assert '"><line stroke="red" x2="1" /><line stroke="blue" x2="2" /></svg>' in small(other)


def test_a_described_mark_has_a_title_of_text() -> None:
    drawing = SVG.format('<path aria-roledescription="bar" aria-label="&lt;b&gt; &amp;" d="M0,0"/>')
    assert '<path d="M0,0"><title>&lt;b&gt; &amp;</title></path>' in small(drawing)


@pytest.mark.parametrize("part", ["<script>1</script>", "<image/>", "<a><text>x</text></a>"])
def test_what_is_no_plain_drawing_is_refused(part: str) -> None:
    with pytest.raises(ValueError, match="in a drawing"):
        small(SVG.format(part))


def test_no_attribute_that_could_run_or_load_anything_is_kept() -> None:
    group = '<g fill="red" onclick="x" style="fill:url(x)"><path href="y" d="M0"/></g>'
    assert '<g fill="red"><path d="M0" /></g>' in small(SVG.format(group))


def test_a_name_in_the_data_is_drawn_as_text() -> None:
    drawn = draw(
        {
            "data": {"values": [{"name": "</text><script>1</script>"}]},
            "mark": "text",
            "encoding": {"text": {"field": "name"}},
        }
    )
    assert "&lt;/text&gt;&lt;script&gt;1&lt;/script&gt;" in drawn
    assert "<script" not in drawn
