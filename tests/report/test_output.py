from __future__ import annotations

import io
import os
from pathlib import Path
from typing import BinaryIO

import pytest

from visceral_cli.errors import UsageError
from visceral_cli.report.output import harmless_output, write_output


def test_a_file_is_replaced_when_the_new_one_is_whole(tmp_path: Path) -> None:
    place = tmp_path / "report.json"
    place.write_text("old")
    place.chmod(0o640)
    write_output(place, lambda out: out.write(b"new"))
    assert place.read_text() == "new"
    assert place.stat().st_mode & 0o777 == 0o640
    assert list(tmp_path.iterdir()) == [place]


@pytest.mark.parametrize("failure", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_the_old_file_stays_whole_when_writing_fails(
    tmp_path: Path, failure: BaseException
) -> None:
    place = tmp_path / "report.json"
    place.write_text("old")

    def fail_half_way(out: BinaryIO) -> None:
        out.write(b"half of the new rep")
        raise failure

    expected = UsageError if isinstance(failure, OSError) else KeyboardInterrupt
    with pytest.raises(expected):
        write_output(place, fail_half_way)
    assert place.read_text() == "old"
    assert list(tmp_path.iterdir()) == [place]


def test_a_full_disk_is_told_in_one_line(tmp_path: Path) -> None:
    def no_space(out: BinaryIO) -> None:
        raise OSError(28, "No space left on device")

    with pytest.raises(UsageError, match=r"r\.csv: cannot be written: no space left on device"):
        write_output(tmp_path / "r.csv", no_space)


def test_a_missing_folder_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such file or directory"):
        write_output(tmp_path / "nowhere" / "r.csv", lambda out: out.write(b""))


def test_a_link_stays_and_its_target_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "target").write_text("old")
    (tmp_path / "link").symlink_to("target")
    write_output(tmp_path / "link", lambda out: out.write(b"new"))
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_text() == "new"


def test_a_device_is_written_to_and_stays_one() -> None:
    write_output(Path(os.devnull), lambda out: out.write(b"x"))
    assert not Path(os.devnull).is_file()


def test_a_character_split_over_two_writes_reaches_the_terminal_whole() -> None:
    terminal = io.BytesIO()
    out = harmless_output(terminal)
    snow = "\u2603".encode()
    out.write(b"a\x1b[2J" + snow[:1])
    out.write(snow[1:] + b"\n")
    assert terminal.getvalue().decode() == "a\\x1b[2J\u2603\n"
