"""What goes wrong outside of the program is told in one clear line, and nothing is lost by it."""

from __future__ import annotations

import ctypes
import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import pytest

Run = Callable[..., subprocess.CompletedProcess[str]]

_CAPABILITIES = (1, 2)
"""CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH: what lets root read what it may not."""
_DROP_FROM_BOUNDING_SET = 24


def told(done: Any, code: int, *parts: str) -> None:
    """Assert that a run failed with an error of one line, and perhaps a hint."""
    assert done.returncode == code, done.stderr
    errors = [line for line in done.stderr.splitlines() if not line.startswith("visceral: note")]
    assert errors[0].startswith("visceral: error: ")
    assert len(errors) == 1 or (len(errors) == 2 and errors[1].startswith("  hint: "))
    for part in parts:
        assert part in "\n".join(errors)


@pytest.fixture
def store(in_process: Run, traces: Path, tmp_path: Path) -> Path:
    """A store of the traces."""
    assert in_process("ingest", "traces", "--store", "s.duckdb").returncode == 0
    return tmp_path / "s.duckdb"


@pytest.mark.parametrize(
    "arguments",
    [
        ["analyze", "s.duckdb"],
        ["rules", "s.duckdb"],
        ["explain", "get_weather", "s.duckdb"],
        ["ingest", "traces", "--store", "s.duckdb"],
    ],
    ids=lambda words: words[0],
)
def test_a_store_of_another_schema_is_refused_and_stays_as_it_is(
    in_process: Run, store: Path, arguments: list[str]
) -> None:
    with duckdb.connect(str(store)) as opened:
        opened.execute("UPDATE _schema SET version = 99")
    before = store.read_bytes()
    done = in_process(*arguments)
    told(done, 2, "s.duckdb: a store of schema 99", "hint: load the traces anew")
    assert done.stdout == ""
    assert store.read_bytes() == before


@pytest.mark.parametrize("length", [0, 100, 20_000])
def test_a_store_that_was_cut_is_refused(in_process: Run, store: Path, length: int) -> None:
    store.write_bytes(store.read_bytes()[:length])
    told(
        in_process("ingest", "traces", "--store", "s.duckdb"),
        2,
        "s.duckdb: cannot be opened as a store",
    )


def without_privileges() -> None:
    """Let permissions bind the process that is about to start, even if it is root's."""
    system = ctypes.CDLL(None)
    for capability in _CAPABILITIES:
        system.prctl(_DROP_FROM_BOUNDING_SET, capability, 0, 0, 0)


@pytest.fixture
def unprivileged(visceral: Run, tmp_path: Path) -> Run:
    """Run the command as somebody whom permissions bind."""
    if sys.platform != "linux":
        pytest.skip("not Linux: permissions may not bind this user")
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o000)
    code = f"import os\ntry: os.listdir({str(closed)!r})\nexcept PermissionError: print('bound')"
    probe = subprocess.run(
        [sys.executable, "-c", code],
        preexec_fn=without_privileges,
        capture_output=True,
        text=True,
        check=False,
    )
    if probe.stdout != "bound\n":
        pytest.skip("permissions do not bind this user")

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return visceral(*arguments, preexec_fn=without_privileges)

    return run


def test_a_folder_without_read_permission_is_named(unprivileged: Run, traces: Path) -> None:
    done = unprivileged("analyze", "traces", "closed")
    told(done, 3, "closed: no permission to read it")
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("closed", "arguments", "code", "message"),
    [
        ("traces/spans.jsonl", ["analyze", "traces"], 3, "no permission to read it"),
        ("k", ["analyze", "traces", "--key-file", "k"], 2, "k: permission denied"),
        ("c.toml", ["analyze", "traces", "--config", "c.toml"], 2, "c.toml: permission denied"),
        ("pyproject.toml", ["config"], 2, "pyproject.toml: permission denied"),
        ("s.duckdb", ["ingest", "traces", "--store", "s.duckdb"], 2, "no permission to read and"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_a_file_without_read_permission_is_named(
    unprivileged: Run,
    store: Path,
    tmp_path: Path,
    closed: str,
    arguments: list[str],
    code: int,
    message: str,
) -> None:
    place = tmp_path / closed
    place.touch()
    place.chmod(0o000)
    told(unprivileged(*arguments), code, f"{closed}: ", message)


def test_a_folder_without_write_permission_is_named(
    unprivileged: Run, traces: Path, tmp_path: Path
) -> None:
    (tmp_path / "fixed").mkdir(mode=0o555)
    told(
        unprivileged("analyze", "traces", "-o", "fixed/r.json"),
        2,
        "fixed/r.json: cannot be written: permission denied",
    )


@contextmanager
def full_disk(limit: int) -> Iterator[None]:
    """No file may grow beyond some bytes, as on a disk that fills up."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize(
    ("arguments", "place"),
    [
        (["analyze", "traces"], "r.json"),
        (["analyze", "traces", "--rows", "calls"], "r.parquet"),
        (["rules", "traces", "--include-candidates"], "r.rules"),
    ],
    ids=["json", "parquet", "rules"],
)
def test_the_old_file_stays_whole_when_the_disk_fills_up(
    in_process: Run, traces: Path, tmp_path: Path, arguments: list[str], place: str
) -> None:
    (tmp_path / place).write_text("the old one")
    with full_disk(20):
        done = in_process(*arguments, "-o", place)
    told(done, 2, f"{place}: cannot be written: file too large")
    assert (tmp_path / place).read_text() == "the old one"
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([place, "traces"])


def test_a_new_store_on_a_full_disk_leaves_nothing_behind(
    in_process: Run, traces: Path, tmp_path: Path
) -> None:
    with full_disk(4096):
        done = in_process("ingest", "traces", "--store", "s.duckdb")
    told(done, 2, "s.duckdb: cannot be written: file too large")
    assert [path.name for path in tmp_path.iterdir()] == ["traces"]


def test_a_store_keeps_what_it_has_when_the_disk_fills_up(
    visceral: Run, in_process: Run, store: Path, write_spans: Any, tmp_path: Path
) -> None:
    calls = [("search", {"text": f"{n:05} " + "x" * 2000}, {"n": n}) for n in range(300)]
    write_spans(tmp_path / "more.jsonl", calls)
    with full_disk(200_000):  # a child inherits the limit
        done = visceral("ingest", "more.jsonl", "--store", "s.duckdb")
    told(done, 2, "s.duckdb: cannot be written: file too large")
    assert tool_calls(in_process) == 8
    assert in_process("ingest", "more.jsonl", "--store", "s.duckdb").returncode == 0
    assert tool_calls(in_process) == 300  # eight of the spans have the ids of the first ones


def tool_calls(in_process: Run) -> int:
    done = in_process("analyze", "s.duckdb", "--json")
    assert done.returncode == 0, done.stderr
    count = json.loads(done.stdout)["inputs"]["tool_calls"]
    assert isinstance(count, int)
    return count


def test_a_full_temporary_folder_is_named(visceral: Run, traces: Path, tmp_path: Path) -> None:
    (tmp_path / "tmp").mkdir()
    with (traces / "spans.jsonl").open() as spans, full_disk(100):
        done = visceral("analyze", "-", stdin=spans, environment={"TMPDIR": str(tmp_path / "tmp")})
    told(done, 2, f"{tmp_path / 'tmp'}: temporary files cannot be written", "TMPDIR names another")
    assert list((tmp_path / "tmp").iterdir()) == []


def test_a_full_temporary_folder_is_named_where_other_processes_read(
    visceral: Run, write_spans: Any, tmp_path: Path
) -> None:
    write_spans(tmp_path / "part.jsonl", [("search", {"n": n}, {"n": n}) for n in range(1000)])
    part = (tmp_path / "part.jsonl").read_bytes()
    (tmp_path / "more.jsonl").write_bytes(part * 20)  # big enough for reading processes
    (tmp_path / "tmp").mkdir()
    with full_disk(10_000):
        done = visceral(
            *("analyze", "more.jsonl", "--workers", "2"),
            environment={"TMPDIR": str(tmp_path / "tmp")},
        )
    full = f"{tmp_path / 'tmp'}: temporary files cannot be written: file too large"
    told(done, 2, full, "TMPDIR names another")
    assert list((tmp_path / "tmp").iterdir()) == []


def test_large_inputs_are_read_also_where_no_socket_has_room_for_the_temporary_folder(
    visceral: Run, write_spans: Any, tmp_path: Path
) -> None:
    write_spans(tmp_path / "part.jsonl", [("search", {"n": n}, {"n": n}) for n in range(1000)])
    part = (tmp_path / "part.jsonl").read_bytes()
    (tmp_path / "more.jsonl").write_bytes(part * 20)  # big enough for reading processes
    temporary = tmp_path / ("long" * 30)
    temporary.mkdir()
    done = visceral(
        *("analyze", "more.jsonl", "--workers", "2", "--json"),
        environment={"TMPDIR": str(temporary)},
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["inputs"]["tool_calls"] == 1000
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize("whole_group", [False, True], ids=["the process", "its group"])
def test_an_interrupted_load_leaves_the_store_intact(
    command: list[str],
    child_environment: dict[str, str],
    wait_until: Callable[[Callable[[], bool]], None],
    in_process: Run,
    store: Path,
    write_spans: Any,
    tmp_path: Path,
    whole_group: bool,
) -> None:
    write_spans(tmp_path / "part.jsonl", [("search", {"n": n}, {"n": n}) for n in range(1000)])
    part = (tmp_path / "part.jsonl").read_bytes()
    (tmp_path / "more.jsonl").write_bytes(part * 200)  # big enough to be read for a while
    with subprocess.Popen(
        [*command, "ingest", "more.jsonl", "--store", "s.duckdb", "--workers", "2"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=child_environment | {"TMPDIR": str(tmp_path)},
        cwd=tmp_path,
        text=True,
        start_new_session=True,
    ) as child:
        # Its own temporary folder appears when the store is opened, just before the load.
        wait_until(lambda: any(tmp_path.glob("visceral-*/")))
        time.sleep(0.3)  # while the reading processes start
        if whole_group:
            os.killpg(child.pid, signal.SIGINT)
        else:
            child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=30)
    assert (child.returncode, out, err) == (130, "", "visceral: interrupted\n")
    assert not list(tmp_path.glob("visceral-*"))
    assert tool_calls(in_process) == 8


@pytest.mark.parametrize(
    "arguments",
    [["explain", "get_weather", "traces"], ["config"]],
    ids=" ".join,
)
def test_a_reader_that_goes_away_is_no_error(
    visceral: Run, traces: Path, arguments: list[str]
) -> None:
    read, write = os.pipe()
    os.close(read)
    try:
        done = visceral(*arguments, stdout=write, stderr=subprocess.PIPE)
    finally:
        os.close(write)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\xff\xfe", "k: not UTF-8 text"),
        (b"# none\n", "k: no key in this file"),
        (b"id=tooshort\n", "k:1: not the base64 text of 32 bytes"),
    ],
    ids=["not text", "no key", "a short key"],
)
def test_a_key_file_without_a_usable_key_is_told_without_showing_it(
    in_process: Run, traces: Path, tmp_path: Path, content: bytes, message: str
) -> None:
    (tmp_path / "k").write_bytes(content)
    done = in_process("analyze", "traces", "--key-file", "k")
    told(done, 2, message, "hint: a line is key_id=BASE64")
    assert "tooshort" not in done.stderr


@pytest.mark.parametrize("command_name", ["analyze", "rules", "config", "explain", "ingest"])
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[tool.visceral]\nstrikt = true\n", 'unknown key "strikt"'),
        ("[tool.visceral.tools.search]\nreadonly = true\n", 'unknown key "readonly"'),
        ("[tool.visceral.rule]\nmin-runs = 3\n", 'unknown key "rule"'),
    ],
    ids=["a setting", "a tool's", "a table"],
)
def test_an_unknown_key_is_refused_by_every_command(
    in_process: Run, traces: Path, tmp_path: Path, command_name: str, text: str, message: str
) -> None:
    (tmp_path / "pyproject.toml").write_text(text)
    more = {"explain": ["retry"], "config": []}.get(command_name, ["traces"])
    done = in_process(command_name, *more)
    told(done, 2, "pyproject.toml: tool.visceral", message, "did you mean")
