import io
import os
from pathlib import Path

import pytest

from visceral_cli.errors import InputError
from visceral_cli.ingest.files import find_files


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder ``traces`` with files in it, below the present one."""
    for name in (
        "b.jsonl",
        "a.jsonl",
        "sub/c.pb",
        "sub/deep/d",
        ".hidden",
        ".git/e",
        "sub/.f",
        "__pycache__/g.pyc",
    ):
        path = tmp_path / "traces" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "x.jsonl").write_text("outside")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "traces"


def names(*inputs: str, exclude: tuple[str, ...] = ()) -> list[str]:
    return [file.name for file in find_files(inputs, exclude=exclude)]


@pytest.mark.usefixtures("folder")
def test_a_folder_is_searched_to_the_bottom_in_order_without_hidden_files() -> None:
    found = ["traces/a.jsonl", "traces/b.jsonl", "traces/sub/c.pb", "traces/sub/deep/d"]
    assert names("traces") == found
    assert names("traces/") == found


@pytest.mark.usefixtures("folder")
def test_files_keep_the_order_given_and_are_read_once() -> None:
    assert names("traces/b.jsonl", "traces/a.jsonl", "./traces/b.jsonl", "traces/sub") == [
        "traces/b.jsonl",
        "traces/a.jsonl",
        "traces/sub/c.pb",
        "traces/sub/deep/d",
    ]


@pytest.mark.usefixtures("folder")
def test_a_glob_is_opened_where_no_file_has_its_name() -> None:
    assert names("traces/*.jsonl") == ["traces/a.jsonl", "traces/b.jsonl"]
    assert names("traces/**/d") == ["traces/sub/deep/d"]
    Path("traces/[a].jsonl").write_text("")
    assert names("traces/[a].jsonl") == ["traces/[a].jsonl"]


@pytest.mark.usefixtures("folder")
def test_a_hidden_file_that_is_named_is_read() -> None:
    assert names("traces/.hidden") == ["traces/.hidden"]


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("pattern", "left"),
    [
        ("*.jsonl", ["traces/sub/c.pb", "traces/sub/deep/d"]),
        ("**/sub/*", ["traces/a.jsonl", "traces/b.jsonl"]),
        ("**/traces/a.jsonl", ["traces/b.jsonl", "traces/sub/c.pb", "traces/sub/deep/d"]),
        ("traces/sub/deep/*", ["traces/a.jsonl", "traces/b.jsonl", "traces/sub/c.pb"]),
    ],
)
def test_excluded_files_are_left_out(pattern: str, left: list[str]) -> None:
    assert names("traces", exclude=(pattern,)) == left


def test_a_link_in_a_folder_counts_only_where_it_stays_inside(folder: Path) -> None:
    (folder / "out.jsonl").symlink_to(folder.parent / "outside" / "x.jsonl")
    (folder / "outdir").symlink_to(folder.parent / "outside")
    (folder / "loop").symlink_to(folder / "loop")
    (folder / "again").symlink_to(folder)
    (folder / "broken").symlink_to("nothing")
    (folder / "visible").symlink_to(folder / ".hidden")
    found = names("traces")
    assert found == [
        "traces/a.jsonl",
        "traces/b.jsonl",
        "traces/sub/c.pb",
        "traces/sub/deep/d",
        "traces/visible",
    ]
    assert "traces/out.jsonl" in names("traces", "outside")


def test_a_link_that_is_named_is_followed(folder: Path) -> None:
    (folder / "out.jsonl").symlink_to(folder.parent / "outside" / "x.jsonl")
    assert names("traces/out.jsonl") == ["traces/out.jsonl"]


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("name", ["nothing", "traces/*.nothing", "traces/a.jsonl/b"])
def test_a_missing_path_is_an_error_that_names_it(name: str) -> None:
    with pytest.raises(InputError) as error:
        find_files(["traces", name])
    assert str(error.value).startswith(f"{name}: ")
    assert "\n" not in str(error.value)


@pytest.mark.usefixtures("folder")
def test_a_folder_without_permission_is_an_error_in_one_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    real = os.scandir

    def scandir(path: Path) -> object:
        if str(path).endswith("deep"):
            raise PermissionError(13, "Permission denied", str(path))
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)
    with pytest.raises(InputError, match=r"^traces/sub/deep: no permission to read it$"):
        find_files(["traces"])


def test_standard_input_is_copied_since_it_can_be_read_only_once(tmp_path: Path) -> None:
    files = find_files(["-", "-"], stdin=io.BytesIO(b"abc"), spool=tmp_path)
    assert [(file.name, file.size, file.path.read_bytes()) for file in files] == [("-", 3, b"abc")]
    assert files[0].path.parent == tmp_path


def test_no_standard_input_is_an_error() -> None:
    with pytest.raises(InputError):
        find_files(["-"])


def test_a_pipe_is_copied(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.write(writer, b"abc")
    os.close(writer)
    try:
        (file,) = find_files([f"/dev/fd/{reader}"], spool=tmp_path)
    finally:
        os.close(reader)
    assert file.path.read_bytes() == b"abc"


def test_a_name_that_is_no_text_is_shown_in_another_way(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"caf\xe9")).write_text("x")
    (file,) = find_files([str(tmp_path)])
    assert file.name.endswith(r"caf\udce9")
    assert file.path.read_text() == "x"


def test_the_size_is_told(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"12345")
    assert [file.size for file in find_files([str(tmp_path)])] == [5]
