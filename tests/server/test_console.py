"""The console in Chromium: clicked through, by keyboard alone, on a telephone, and in readable colours."""

from __future__ import annotations

import shutil
import time

import pytest

from sfumato.accounting import Ledger, Secret
from sfumato.concepts.concept import Concept
from sfumato.mechanisms import Laplace
from sfumato.protector import Protector
from sfumato.records import DISEASES
from sfumato.saving import save_protector
from sfumato.server.tenancy.keys import new_key
from tests.contracts.embedder_cases import SERVED_DIM, serving
from tests.server.running import gateway

SENTENCE = "Marta Quill of Lisbon was treated for malaria last spring."
WAIT = 60_000
# Contrast of every visible text with the first opaque background under it, after WCAG 2.2.
CONTRAST = """() => {
  const parse = (c) => { const m = c.match(/[\\d.]+/g).map(Number); return m.length < 4 ? [...m, 1] : m; };
  const linear = (v) => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
  const light = ([r, g, b]) => 0.2126 * linear(r / 255) + 0.7152 * linear(g / 255) + 0.0722 * linear(b / 255);
  const under = (e) => {
    for (; e; e = e.parentElement) {
      const c = parse(getComputedStyle(e).backgroundColor);
      if (c[3] === 1) return c;
    }
    return [255, 255, 255, 1];
  };
  const found = [];
  for (const e of document.querySelectorAll("main *")) {
    const style = getComputedStyle(e);
    const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
    if (!own || !e.getClientRects().length || e.disabled) continue;
    const ink = e instanceof SVGElement ? style.fill : style.color;
    const [a, b] = [light(parse(ink)), light(under(e))].sort((x, y) => y - x);
    const size = parseFloat(style.fontSize), large = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < (large ? 3 : 4.5)) found.push(`${e.tagName} ${ratio.toFixed(2)} ${e.className}`);
  }
  return found; }"""
WIDER = "() => document.documentElement.scrollWidth - window.innerWidth"
FOCUSED = "() => { const e = document.activeElement; return e.id || e.value || e.tagName; }"


def save_diseases(folder):
    made = Protector(
        Laplace.from_noise_ratio(0.6, dim=256),
        "wordllama",
        (Concept.from_terms("disease", DISEASES),),
        neutral=2,
        learned={"dim": 256, "substitution_distances": {"median": 0.01, "p95": 0.1, "max": 0.2}},
    )
    save_protector(made, folder)
    return folder


@pytest.fixture(scope="module")
def protector(tmp_path_factory):
    return save_diseases(tmp_path_factory.mktemp("protectors") / "diseases")


@pytest.fixture(scope="module")
def running(tmp_path_factory, protector):
    with gateway(tmp_path_factory.mktemp("console"), protector) as found:
        yield found


@pytest.fixture(scope="module")
def browser():
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None:
        pytest.skip("chromium is not installed; `make system` installs it")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(
            executable_path=found,
            args=[
                "--no-sandbox",
                "--disable-background-networking",
                "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
            ],
        )
        yield opened
        opened.close()


@pytest.fixture
def page(browser, request):
    """A page that notes what goes wrong and where it asks."""
    width, scheme = getattr(request, "param", (1280, "light"))
    context = browser.new_context(viewport={"width": width, "height": 844}, color_scheme=scheme)
    made = context.new_page()
    made.set_default_timeout(WAIT)
    wrong, asked = [], []
    made.on("pageerror", lambda error: wrong.append(str(error)))
    made.on("console", lambda line: wrong.append(line.text) if line.type == "error" else None)
    made.on("request", lambda sent: asked.append(sent.url))
    made.wrong, made.asked = wrong, asked
    yield made
    context.close()


def opened(page, running):
    page.goto(running.url)
    page.wait_for_selector('#noise[max="6"]')
    page.wait_for_selector("#neutral-choice:not([hidden])")
    page.wait_for_selector("#progress:empty", state="attached")  # every amount of noise is measured
    return page


def spent(running):
    """What the ledger itself says, of which the page shows no more than a power of ten."""
    secret = Secret.from_file(running.state / "secret")
    path = running.state / "ledgers" / "local.sqlite"
    return Ledger(path, secret=secret, ceiling=None, metric="l2").summary()


def assert_clean(page, running):
    assert page.wrong == []
    assert not [url for url in page.asked if not url.startswith((running.url, "data:"))]


@pytest.mark.parametrize(
    "page", [(1280, "light"), (1280, "dark"), (390, "light"), (390, "dark")], indirect=True, ids=str
)
def test_a_click_through_in_every_size_and_colour(page, running):
    opened(page, running)
    page.fill("#text", SENTENCE)
    page.click("#look")
    page.wait_for_selector("#result:not([hidden])")
    assert page.locator("#before li").count() == page.locator("#after li").count() == 5
    assert "neutral texts were embedded" in page.inner_text("#overlap")
    assert page.locator("#read-clean .chip").count() == 5
    assert "malaria" in page.inner_text("#read-clean .hit")
    assert page.locator("#figures .card").count() == 3 and page.locator("#chart circle").count() == 14
    said = page.inner_text("#certified")
    assert "with 10 equally likely terms" in said and "at most 10\u00a0%, which is guessing" in said
    assert page.locator("#certified-figures .card").count() == 2 and "psilon" not in said
    # What an attacker can do stands above everything, epsilon below.
    shown = page.inner_text("#open")
    assert shown.index(said) < 100 and shown.index("epsilon") > shown.index("Ledger")
    assert "harder" in page.inner_text("#promise") and "laplace" in page.inner_text("#facts")
    page.locator("#release button").click()
    page.get_by_text("Released: 256 numbers").wait_for()
    page.wait_for_selector("#calls tbody tr")
    assert page.evaluate(WIDER) <= 0
    assert page.evaluate(CONTRAST) == []
    assert_clean(page, running)


def test_the_noise_moves_what_is_shown(page, running):
    opened(page, running)
    page.fill("#text", SENTENCE)
    page.click("#look")
    page.wait_for_selector("#result:not([hidden])")
    own = page.inner_text("#noise-words")
    with page.expect_response("**/console/try") as answer:
        page.locator("#noise").fill("6")
    assert answer.value.json()["after"] and "3 times" in page.inner_text("#noise-words") != own
    assert page.get_attribute("#noise", "aria-valuetext") == page.inner_text("#noise-words")
    with page.expect_response("**/console/try"):
        page.locator("#noise").fill("0")
    assert "none" in page.inner_text("#noise-words")
    page.locator("#after li.kept").first.wait_for()
    assert_clean(page, running)


def test_neutral_texts_can_be_switched_off_in_the_preview(page, running):
    opened(page, running)
    told = running.ask("GET", "/console/state")[2]["preview"]
    clean, off = ([each["read"] for each in told[name]] for name in ("steps", "plain"))
    # With neutral texts noise changes little, and without them it is all there is.
    assert max(clean) - min(clean) < 0.1 and off[0] > max(clean) + 0.4 and off[0] > off[-1]
    lines = page.locator("#chart polyline.other").get_attribute("points")
    page.fill("#text", SENTENCE)
    page.click("#look")
    page.wait_for_selector("#result:not([hidden])")
    with page.expect_response("**/console/try"):
        page.locator("#noise").fill("0")
    with page.expect_response("**/console/try") as answer:
        page.uncheck("#neutral")
    assert answer.value.json()["neutral"] is False
    page.get_by_text("embedded as it stands").wait_for()
    assert "malaria" in page.inner_text("#read-released .hit")
    assert page.locator("#chart polyline.other").get_attribute("points") != lines
    assert page.inner_text("#other-words") == "the same with neutral texts"
    assert_clean(page, running)


def test_the_chart_says_from_the_first_second_how_far_it_is(page, running):
    opened(page, running)

    def beginning(route):
        found = route.fetch().json()
        found["preview"] |= {
            "status": "building",
            "complete": False,
            "steps": [],
            "plain": [],
            "progress": 0.35,
        }
        route.fulfill(json=found)

    page.route("**/console/state", beginning)
    page.goto(running.url)
    page.locator("#chart text", has_text="Measuring on made-up records: 35 %").wait_for()
    assert page.locator("#chart .grid").count() == 5 and page.locator("#chart .done").count() == 1
    assert "35 %" in page.inner_text("#progress")
    assert_clean(page, running)


def asked_until_free(running, body):
    """Until the preview is made, whoever tries is told to try again."""
    for _ in range(100):
        status, _, told = running.ask("POST", "/console/try", body)
        if status != 503:
            break
        time.sleep(0.2)
    return status, told


def test_what_is_tried_is_checked(running):
    for body, words in (
        ({"text": "x", "factor": 1, "neutral": "no"}, "`neutral` must be true or false"),
        ({"text": "x", "factor": 7, "neutral": False}, "`factor` must be one of"),
    ):
        status, told = asked_until_free(running, body)
        assert status == 400 and words in told["error"]["message"]


def test_looking_costs_nothing_and_releasing_does(page, running):
    opened(page, running)
    before = spent(running)
    page.fill("#text", f"{SENTENCE} Twice.")
    page.click("#look")
    page.wait_for_selector("#result:not([hidden])")
    assert spent(running) == before
    page.check("input[value=query]")
    page.locator("#release button").click()
    page.get_by_text("Released: 256 numbers").wait_for()
    page.locator("#calls td", has_text="fresh").wait_for()
    assert spent(running) != before
    assert SENTENCE not in running.log


def test_by_keyboard_alone(page, running):
    opened(page, running)
    order = []
    for _ in range(10):
        page.keyboard.press("Tab")
        order.append(page.evaluate(FOCUSED))
        if order[-1] == "text":
            page.keyboard.press("Control+a")
            page.keyboard.type(SENTENCE)
        if order[-1] == "noise":
            page.keyboard.press("ArrowRight")
        if order[-1] == "look":
            page.keyboard.press("Enter")
    assert (
        order[0] == "SUMMARY"
        and order[1] == "text"
        and order[5:9] == ["noise", "neutral", "look", "document"]
    )
    assert order[9] == "BUTTON"
    assert page.evaluate("() => getComputedStyle(document.querySelector('#look')).outlineStyle") is not None
    page.wait_for_selector("#result:not([hidden])")
    assert "1.5 times" in page.inner_text("#noise-words")
    page.locator("#release button").focus()
    page.keyboard.press("Space")
    page.get_by_text("Released: 256 numbers").wait_for()
    assert_clean(page, running)


def test_the_contrast_probe_can_fail(page, running):
    opened(page, running)
    assert page.evaluate(CONTRAST) == []
    page.evaluate("() => { document.querySelector('h1').style.color = '#bbb'; }")
    assert [line for line in page.evaluate(CONTRAST) if line.startswith("H1")]


def test_every_control_has_a_name_and_focus_shows(page, running):
    opened(page, running)
    unnamed = page.evaluate(
        """() => [...document.querySelectorAll("input, textarea, button")].filter((e) =>
        !(e.labels && e.labels.length) && !e.textContent.trim() && !e.ariaLabel).map((e) => e.outerHTML)"""
    )
    assert unnamed == []
    page.keyboard.press("Tab")
    shown = page.evaluate("() => getComputedStyle(document.activeElement).outlineWidth")
    assert shown == "3px"


def test_with_keys_the_page_asks_for_one_and_keeps_it_nowhere(browser, tmp_path, protector, page):
    keys = tmp_path / "keys.json"
    key = new_key(keys, "acme")
    with gateway(tmp_path / "run", protector, "--keys", str(keys)) as running:
        page.goto(running.url)
        page.wait_for_selector("#key-form:not([hidden])")
        assert page.is_hidden("#open") and "acme" not in page.content()
        page.fill("#key", "sfm-wrong")
        page.keyboard.press("Enter")
        page.get_by_text("This key is not valid.").wait_for()
        page.fill("#key", key)
        page.keyboard.press("Enter")
        page.wait_for_selector("#open:not([hidden])")
        assert "tenant acme" in page.inner_text("#who").lower()
        kept = page.evaluate(
            "() => [localStorage.length, sessionStorage.length, document.cookie, location.href]"
        )
        assert kept == [0, 0, "", running.url + "/"]
        assert key not in page.content() and key not in running.log


def test_with_an_upstream_nothing_is_sent_there_until_somebody_asks(tmp_path, page):
    save_protector(Protector(Laplace(epsilon=50.0), None, learned={"dim": SERVED_DIM}), tmp_path / "plain")
    with serving() as upstream:
        options = (
            "--upstream",
            upstream.url,
            "--upstream-model",
            "theirs",
            "--upstream-key-variable",
            "NONE",
        )
        with gateway(tmp_path / "run", tmp_path / "plain", *options) as running:
            page.goto(running.url)
            page.get_by_text("The first look sends").wait_for()
            assert len(upstream.requests) == 1  # the warm-up
            page.fill("#text", SENTENCE)
            page.click("#look")
            page.wait_for_selector("#result:not([hidden])")
            assert page.locator("#after li").count() == 5 and len(upstream.requests) > 1


def test_the_policy_allows_nothing_but_the_page_itself(page, running):
    answer = page.goto(running.url)
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy and "unsafe" not in policy and "http" not in policy
    ran = page.evaluate(
        """() => { const s = document.createElement("script"); s.textContent = "window.injected = 1";
        document.body.append(s); return window.injected === 1; }"""
    )
    assert ran is False
