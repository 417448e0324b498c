from visceral_cli.contract import attributes


def names() -> dict[str, str]:
    return {name: value for name, value in vars(attributes).items() if name.isupper()}


def test_every_attribute_name_is_spelt_once():
    values = list(names().values())
    assert len(values) == len(set(values))


def test_the_names_of_the_runtime_are_those_on_the_wire():
    """Each name as the SDK's spans have it; a reader finds nothing under any other."""
    on_wire = {
        "openinference.span.kind",
        "visceral.tool.name",
        "tool.name",
        "visceral.tool.readonly",
        "visceral.tool.replay_safe",
        "visceral.tool.vary",
        "visceral.tool.version",
        "visceral.tool.freshness_override",
        "visceral.tool.input_hash",
        "visceral.tool.hash_v",
        "visceral.tool.served_decision_id",
        "visceral.tool.verify_match",
        "visceral.node",
        "visceral.agent.id",
        "visceral.apply.decision_id",
    }
    sections = {
        f"{prefix}.{part}"
        for prefix in (attributes.INPUT_SECTION, attributes.OUTPUT_SECTION)
        for part in (
            attributes.SECTION_CIPHERTEXT,
            attributes.SECTION_IV,
            attributes.SECTION_TAG,
            attributes.SECTION_KEY_ID,
        )
    }
    assert on_wire <= set(names().values())
    assert sections == {
        f"visceral.{side}.{part}"
        for side in ("input", "output")
        for part in ("ciphertext", "iv", "tag", "key_id")
    }
