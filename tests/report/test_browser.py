"""The page in a browser: it asks for nothing, fits a telephone, and shows no private text."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest

from sfumato.report import audit_page
from tests.auditing.made import made_audit
from tests.report.test_page import EXAMPLE

PRIVATE = "Anna Weber of Lisbon has asthma"
# A window cannot be as narrow as a telephone, a frame can; what it measures comes out as a message.
PROBE = """<script>addEventListener("load", () => parent.postMessage([innerWidth,
document.documentElement.scrollWidth, performance.getEntriesByType("resource").length].join(" "), "*"));
</script></body>"""
FRAME = """<!doctype html><html><body><script>
addEventListener("message", (event) => { document.documentElement.dataset.probe = event.data; });
</script><iframe width="WIDTH" height="900" style="border:0" src="page.html"></iframe></body></html>"""


@pytest.fixture(scope="module")
def browser():
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None:
        pytest.skip("chromium is not installed; `make system` installs it")
    return found


def opened(browser, page, folder):
    """The document as the browser sees it, with no way out to a network."""
    path = folder / "opened.html"
    path.write_text(page)
    done = subprocess.run(
        [
            browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
            "--disable-background-networking", "--disable-component-update", "--disable-sync",
            "--host-resolver-rules=MAP * ~NOTFOUND", f"--user-data-dir={folder / 'profile'}",
            "--virtual-time-budget=4000", "--window-size=1400,1000", "--dump-dom", path.as_uri(),
        ],
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    return done.stdout


def probed(browser, page, folder, width):
    """Width of the frame, width of what is in it, and how many things it asked for."""
    (folder / "page.html").write_text(page.replace("</body>", PROBE))
    seen = opened(browser, FRAME.replace("WIDTH", str(width)), folder)
    return tuple(map(int, re.search(r'data-probe="(\d+) (\d+) (\d+)"', seen).groups()))


@pytest.mark.parametrize("width", [390, 1280])
def test_it_fits_the_screen_and_asks_for_nothing(browser, tmp_path, width):
    figures = {"count": 9, "control": 0.9, "floor": 0.1, "released": 0.2}
    long = made_audit(
        examples=({**EXAMPLE, "text": "word " * 60 + "x" * 200},),
        terms=tuple({"term": f"schizophrenia-like-term {n}", **figures} for n in range(40)),
    )
    page = audit_page(long).replace("<details>", "<details open>")
    inner, scroll, resources = probed(browser, page, tmp_path, width)
    assert inner == width and scroll <= width and resources == 0


def test_the_probe_can_fail(browser, tmp_path):
    outside = '<img src="http://picture.invalid/x.png">'
    wide = f'<html><body><div style="width:900px">x</div>{outside}</body></html>'
    inner, scroll, resources = probed(browser, wide, tmp_path, 390)
    assert inner == 390 and scroll > 390 and resources == 1


def test_a_private_text_is_nowhere_in_the_document(browser, tmp_path):
    shown = opened(browser, audit_page(made_audit()), tmp_path)
    assert "Within the limit" in shown and PRIVATE not in shown
    allowed = made_audit(examples=({**EXAMPLE, "text": PRIVATE},))
    assert PRIVATE in opened(browser, audit_page(allowed), tmp_path)
