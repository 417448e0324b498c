import pytest

from visceral_cli.contract.narrowing import voids


@pytest.mark.parametrize(
    ("declared", "tool", "expected"),
    [
        (None, "get", True),
        ("", "get", False),
        ("get", "get", True),
        ("find,get", "get", True),
        ("get_all", "get", False),
        ("a,b", "a,b", True),
        ("a,b,c", "a,b", True),
        ("x,a,b", "a,b", True),
        ("aa,b", "a,b", False),
        ("a,b", "a", True),
    ],
)
def test_a_writer_voids_the_tools_that_it_names(declared, tool, expected):
    assert voids(declared, tool) is expected
