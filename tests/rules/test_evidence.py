from visceral_cli.analysis.figures import GroupFigures
from visceral_cli.analysis.tools import ToolName
from visceral_cli.rules.evidence import IdentityCalls, identities_by_tool

A, B = ("a" * 64, "b" * 64)


def group(
    input_hash: str = A, *, tool: str = "search", kind: str = "tool", hash_v: int = 1, **counts
) -> GroupFigures:
    figures = dict.fromkeys(
        ("calls", "failed", "repeats", "same_result", "changed", "in_flight", "retries"), 0
    )
    return GroupFigures(
        namespace="shop",
        tool=tool,
        kind=kind,
        version=None,
        input_hash=input_hash,
        hash_v=hash_v,
        after_writer=0,
        unverifiable=0,
        distinct_results=1,
        traces=1,
        first_start_ns=0,
        last_start_ns=1,
        tool_seconds=1.0,
        repeat_seconds=0.5,
        largest_stable_age_seconds=None,
        smallest_changed_age_seconds=None,
        **(figures | {"empty_result": False} | counts),
    )


def test_the_groups_of_several_traces_are_added_up():
    (identities,) = identities_by_tool(
        [
            group(calls=3, repeats=2, same_result=1, changed=1),
            group(calls=2, repeats=1, same_result=1, empty_result=True),
        ]
    ).values()
    assert identities == [
        IdentityCalls(A, hash_v=1, calls=5, repeats=3, same_result=2, changed=1, empty_result=True)
    ]


def test_identities_are_kept_apart_by_tool_kind_and_hash_version_and_come_in_order():
    found = identities_by_tool(
        [
            group(B, calls=2, repeats=1),
            group(A, calls=2, repeats=1),
            group(A, calls=2, repeats=1, hash_v=2),
            group(A, calls=2, repeats=1, kind="retriever"),
        ]
    )
    assert {
        name: [(one.input_hash, one.hash_v) for one in identities]
        for name, identities in found.items()
    } == {
        ToolName("shop", "search", "tool"): [(A, 1), (A, 2), (B, 1)],
        ToolName("shop", "search", "retriever"): [(A, 1)],
    }


def test_an_identity_that_never_repeated_is_left_out():
    assert identities_by_tool([group(calls=1)]) == {}
