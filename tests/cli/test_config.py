from __future__ import annotations

import base64
from pathlib import Path

import pytest

from visceral_cli.cli import setting_keys as keys
from visceral_cli.cli.config import Configuration, load_configuration
from visceral_cli.cli.config_rows import as_json, as_table, config_rows
from visceral_cli.errors import UsageError
from visceral_cli.settings import Settings, ToolDeclaration


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def load(
    text: str | None = None, environment: dict[str, str] | None = None, **options: object
) -> Configuration:
    if text is not None:
        Path("pyproject.toml").write_text(text)
    return load_configuration(options, environment=environment or {})


def test_without_anything_all_settings_are_the_defaults(folder: Path) -> None:
    assert load().settings() == Settings()


def test_every_key_of_the_file_reaches_its_setting(folder: Path) -> None:
    settings = load(
        """
        [tool.visceral]
        exclude = ["**/scratch/*"]
        since = 2026-05-04T12:00:00Z
        until = "2026-05-05"
        tool = ["search"]
        strict = true
        scope = "trace"
        namespace = "none"
        store = "traces.duckdb"
        workers = 2
        [tool.visceral.rules]
        max-freshness = "1h"
        verify-rate = 0.5
        max-stale-rate = "5%"
        confidence = "99%"
        blocks = 4
        span-factor = 150
        min-results = 10
        min-runs = 20
        multiplicity = "none"
        [tool.visceral.tools."search flights"]
        read-only = true
        replay-safe = false
        vary = ["from", "to"]
        version = "2"
        freshness = "10m"
        price-usd = 0.0075
        error-key = "err"
        error-prefix = ""
        """
    ).settings()
    assert settings.exclude == ("**/scratch/*",)
    assert settings.since_ns == 1_777_896_000_000_000_000
    assert settings.until_ns == 1_777_939_200_000_000_000
    assert settings.only_tools == ("search",)
    assert (settings.strict, settings.scope, settings.workers) == (True, "trace", 2)
    assert settings.extract.namespace_attribute is None
    assert settings.extract.keep_text, "a store keeps arguments and results"
    assert settings.verify_rate == 0.5
    freshness = settings.freshness
    assert (freshness.max_stale_rate, freshness.confidence) == (0.05, 0.99)
    assert (freshness.blocks, freshness.span_factor) == (4, 150.0)
    assert (freshness.min_results, freshness.min_runs) == (10, 20)
    assert freshness.max_freshness_seconds == 3600.0
    assert not freshness.false_discovery_control
    assert settings.extract.tools == {
        "search flights": ToolDeclaration(
            True, False, ("from", "to"), "2", 600.0, 0.0075, "err", ""
        )
    }
    assert settings.prices == {"search flights": 0.0075}


def test_option_beats_environment_beats_file_beats_default(folder: Path) -> None:
    file = '[tool.visceral]\nstore = "file.duckdb"'
    environment = {"VISCERAL_STORE": "environment.duckdb"}

    def store(*given: object, **options: object) -> tuple[str, str]:
        value = load(*given, **options).values["store"]
        return str(value.value), value.origin

    assert store() == ("None", "default")
    assert store(file) == ("file.duckdb", "pyproject.toml")
    assert store(file, environment) == ("environment.duckdb", "VISCERAL_STORE")
    assert store(file, environment, store="option.duckdb") == ("option.duckdb", "--store")


def test_an_empty_variable_counts_as_none(folder: Path) -> None:
    assert load(environment={"VISCERAL_STORE": ""}).values["store"].origin == "default"


def test_prices_of_options_go_over_those_of_the_file(folder: Path) -> None:
    text = "[tool.visceral.tools.a]\nprice-usd = 1\n[tool.visceral.tools.b]\nprice-usd = 2"
    assert load(text, price=["a=0.5", "x=y=3"]).settings().prices == {
        "a": 0.5,
        "b": 2.0,
        "x=y": 3.0,
    }


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("[tool.visceral]\nstrickt = true", 'tool.visceral: unknown key "strickt"', '"strict"'),
        ("[tool.visceral.rulez]\n", 'tool.visceral: unknown key "rulez"', '"rules"'),
        (
            "[tool.visceral.rules]\nmax-freshnes = '1h'",
            'tool.visceral.rules: unknown key "max-freshnes"',
            '"max-freshness"',
        ),
        (
            "[tool.visceral.tools.a]\nreadonly = true",
            'tool.visceral.tools.a: unknown key "readonly"',
            '"read-only"',
        ),
        (
            "[tool.visceral]\nqqq = 1",
            'tool.visceral: unknown key "qqq"',
            "known: check, exclude, find-vary, inputs",
        ),
        (
            "[tool.visceral]\nstrict = 'yes'",
            "tool.visceral: strict: text where true or false",
            None,
        ),
        ("[tool.visceral]\nexclude = 'a'", "tool.visceral: exclude: text where a list", "write"),
        (
            "[tool.visceral]\nscope = 'run'",
            'tool.visceral: scope: "run" is none of all, trace',
            None,
        ),
        ("[tool.visceral]\ntop = -1", "tool.visceral: top: -1 is below 0", None),
        (
            "[tool.visceral.rules]\nmax-stale-rate = 20",
            "tool.visceral.rules: max-stale-rate: 20 is above 1",
            "write 20% or 0.2",
        ),
        (
            "[tool.visceral.rules]\nconfidence = 1",
            "tool.visceral.rules: confidence: 1 is not between 0% and 100%",
            None,
        ),
        (
            "[tool.visceral.tools.a]\nfreshness = 'soon'",
            'tool.visceral.tools.a: freshness: "soon" is no duration',
            "10m",
        ),
        ("[tool.visceral]\nrules = 3", "tool.visceral.rules: a whole number where a table", None),
        ("[tool.visceral]\ntools = []", "tool.visceral.tools: a list where a table", None),
        ("[tool]\nvisceral = 1", "tool.visceral: a whole number where a table", None),
        ("[tool.visceral\n", "not TOML", None),
        ("[tool.visceral]\nprice = ['a=1']", 'unknown key "price"', None),
        ("[tool.visceral]\nworkspace-key = 'x'", 'unknown key "workspace-key"', None),
    ],
)
def test_a_wrong_file_is_refused_with_file_key_and_fix(
    folder: Path, text: str, message: str, hint: str | None
) -> None:
    with pytest.raises(UsageError) as caught:
        load(text)
    assert str(caught.value).startswith("pyproject.toml: ")
    assert message in str(caught.value)
    assert hint is None or hint in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_stale_rate": "20"}, "--max-stale-rate: 20 is above 1"),
        ({"price": ["cheap"]}, '--price: "cheap" is no price'),
        ({"price": ["a=much"]}, '--price: "much" is no amount of USD'),
        ({"since": "2026"}, '--since: "2026" is no time'),
        ({"namespace": ""}, "--namespace: an empty name"),
    ],
)
def test_a_wrong_option_is_refused_by_its_name(
    folder: Path, options: dict[str, object], message: str
) -> None:
    with pytest.raises(UsageError) as caught:
        load(**options)
    assert str(caught.value) == message


def test_the_nearest_file_upwards_that_has_the_table_counts(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "pyproject.toml").write_text(
        '[tool.visceral]\ninputs = ["traces/", "-"]\nkey-file = "keys"\n'
    )
    deep = folder / "package" / "source"
    deep.mkdir(parents=True)
    (folder / "package" / "pyproject.toml").write_text("[tool.other]\nx = 1\n")
    monkeypatch.chdir(deep)
    found = load()
    assert found.file == Path("../../pyproject.toml")
    assert found.get(keys.INPUTS) == ("../../traces", "-"), "paths are meant from the file's folder"
    assert found.get(keys.KEY_FILE) == Path("../../keys")


def test_a_named_file_must_be_there_and_have_the_table(folder: Path) -> None:
    Path("other.toml").write_text("[tool.visceral]\nstrict = true\n")
    Path("none.toml").write_text("x = 1\n")
    assert load(config="other.toml").get(keys.STRICT)
    assert load(environment={"VISCERAL_CONFIG": "other.toml"}).get(keys.STRICT)
    with pytest.raises(UsageError, match=r"none\.toml: no table \[tool\.visceral\]"):
        load(config="none.toml")
    with pytest.raises(UsageError, match=r"missing\.toml: no such file"):
        load(config="missing.toml")


def test_no_config_reads_no_file(folder: Path) -> None:
    found = load("[tool.visceral]\nstrict = true", {"VISCERAL_CONFIG": "x.toml"}, no_config=True)
    assert not found.get(keys.STRICT)
    assert found.file is None


def test_workspace_keys_of_variable_and_file_are_both_known(folder: Path) -> None:
    one, two = (base64.b64encode(bytes([n]) * 32).decode() for n in (1, 2))
    Path("keys").write_text(f"k2={two}\n")
    settings = load(environment={"VISCERAL_WORKSPACE_KEY": one}, key_file="keys").settings()
    assert settings.extract.workspace_keys == {"": b"\x01" * 32, "k2": b"\x02" * 32}


def test_arguments_are_kept_only_when_wanted_or_stored(folder: Path) -> None:
    assert not load().settings().extract.keep_text
    assert load(show_arguments=True).settings().extract.keep_text
    assert load(store="x.duckdb").settings().extract.keep_text


def test_config_shows_each_value_with_its_origin_and_no_key(folder: Path) -> None:
    key = base64.b64encode(bytes(32)).decode()
    found = load(
        "[tool.visceral]\nsince = 2026-05-04T12:00:00.5Z\n"
        "[tool.visceral.rules]\nmax-freshness = '1h'\n"
        '[tool.visceral.tools."a\\u001bb"]\nfreshness = 90\nread-only = true\n',
        {"VISCERAL_WORKSPACE_KEY": key},
        price=["a=0.5"],
    )
    table = as_table(config_rows(found))
    lines = [line.split(maxsplit=1) for line in table.splitlines()]
    shown = {key: " ".join(rest.split()) for key, rest in lines}
    assert shown["since"] == "2026-05-04T12:00:00.5Z pyproject.toml"
    assert shown["rules.max-freshness"] == "1h pyproject.toml"
    assert shown["rules.max-stale-rate"] == "1% default"
    assert shown["workspace-key"] == "set, not shown VISCERAL_WORKSPACE_KEY"
    assert shown["price"] == "a=0.5 --price"
    assert shown["tools.a\\x1bb.freshness"] == "90s pyproject.toml"
    assert shown["tools.a\\x1bb.read-only"] == "true pyproject.toml"
    assert key not in table
    assert key not in as_json(config_rows(found))


def test_every_setting_is_in_the_list_once() -> None:
    named = [value for value in vars(keys).values() if isinstance(value, keys.Setting)]
    assert {setting.key for setting in named} == {setting.key for setting in keys.SETTINGS}
    assert len(keys.SETTINGS) == len({setting.key for setting in keys.SETTINGS})


def test_the_keys_of_verify_are_read_and_shown(folder: Path) -> None:
    configuration = load(
        """
        [tool.visceral.verify]
        holdout = "30%"
        max-mismatch-rate = 0.02
        sample-rate = "50%"
        within = "3d"
        ledger = "trust.jsonl"
        execute-limit = 5
        execute-timeout = "10s"
        """,
        within="2d",
    )
    shown = {
        row.key.removeprefix("verify."): (row.value, row.origin)
        for row in config_rows(configuration)
        if row.key.startswith("verify.")
    }
    assert shown == {
        "rules": ("none", "default"),
        "holdout": ("30%", "pyproject.toml"),
        "max-mismatch-rate": ("2%", "pyproject.toml"),
        "sample-rate": ("50%", "pyproject.toml"),
        "within": ("2d", "--within"),
        "ledger": ("trust.jsonl", "pyproject.toml"),
        "execute-limit": ("5", "pyproject.toml"),
        "execute-timeout": ("10s", "pyproject.toml"),
    }


def test_calls_are_made_again_only_by_an_option(folder: Path) -> None:
    with pytest.raises(UsageError, match='unknown key "execute"'):
        load("[tool.visceral.verify]\nexecute = 'mine:run'")
