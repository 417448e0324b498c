"""The page in a real Chromium, driven by Selenium; both are installed, or the tests are skipped."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

PROJECT = Path(__file__).parents[2]
ARTIFACTS = PROJECT / "artifacts"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Chromium without a window; logs its console and every request."""
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    driver = shutil.which("chromedriver")
    if program is None or driver is None:
        pytest.skip("chromium or chromedriver is not installed")
    options = webdriver.ChromeOptions()
    options.binary_location = program
    profile = tmp_path_factory.mktemp("chromium")
    for argument in (
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--hide-scrollbars",
        f"--user-data-dir={profile}",
    ):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    service = webdriver.ChromeService(driver)
    opened = webdriver.Chrome(options=options, service=service)
    try:
        yield opened
    finally:
        opened.quit()


@pytest.fixture(scope="session")
def artifacts() -> Path:
    """A folder for what a person may look at; it stays."""
    ARTIFACTS.mkdir(exist_ok=True)
    return ARTIFACTS


Analyzed = Callable[[Path], tuple[Path, dict[str, Any]]]


@pytest.fixture(scope="session")
def analyzed(tmp_path_factory: pytest.TempPathFactory) -> Analyzed:
    """Analyse traces by the command line: the page, and the JSON report of the same."""

    def analyze(traces: Path) -> tuple[Path, dict[str, Any]]:
        folder = tmp_path_factory.mktemp("analyzed")
        page, report = folder / "page.html", folder / "report.json"
        for place in (page, report):
            command = [sys.executable, "-m", "visceral_cli", "analyze", str(traces)]
            subprocess.run([*command, "-q", "--no-config", "-o", str(place)], check=True)
        return page, json.loads(report.read_bytes())

    return analyze


@pytest.fixture(scope="session")
def samples(browser: Any, analyzed: Analyzed) -> tuple[Path, dict[str, Any]]:
    """The page of the sample traces, and the JSON report of the same."""
    return analyzed(PROJECT / "sample_traces")
