"""`sfumato rewrite`, run as a user runs it."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from types import SimpleNamespace

import pytest
from tests.text.small import WORDS, chat_server, vocabulary

from sfumato.cli import main, rewrite
from sfumato.concepts.detectors.presidio import Presidio
from sfumato.errors import InputError
from sfumato.randomness import InsecureSeedWarning

TEXT = "Oil price rose; John told the doctor.\n\nThe patient's fever fell?\n"
EXACT = ("--budgets", "1000,0,1000,1000", "--unknown", "keep")


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rewrite")
    vectors = vocabulary().vectors
    lines = [f"{word} {' '.join(map(str, row))}\n" for word, row in zip(WORDS, vectors.tolist(), strict=True)]
    (folder / "glove.txt").write_text("".join(lines))
    (folder / "names.txt").write_text("John\nZanzibar\n")
    (folder / "in.txt").write_text(TEXT)
    return folder


@pytest.fixture
def sfumato(place, monkeypatch, capsys):
    """Run the command in this process: starting one for each test would take most of the time."""
    monkeypatch.chdir(place)

    def run(*arguments, stdin=b""):
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(stdin)))
        given = ["rewrite", *arguments, "--vocabulary", "glove:glove.txt", "--terms", "names.txt"]
        with pytest.raises(SystemExit) as stopped:
            main.run(given)
        shown = capsys.readouterr()
        return SimpleNamespace(returncode=stopped.value.code, stdout=shown.out, stderr=shown.err)

    return run


def test_texts_go_through_files_and_the_promise_is_shown(place, sfumato):
    done = sfumato("in.txt", "--task", "fever", *EXACT, "-o", "out.txt", "--json", "out.json")
    assert done.returncode == 0, done.stderr
    wanted = TEXT.replace("John", "[hidden]")
    assert (place / "out.txt").read_text() == wanted
    for shown in ("group 2: 1 words", "important to the task", "same groups", "released as they are"):
        assert shown in " ".join(done.stdout.split())
    kept = json.loads((place / "out.json").read_text())
    assert kept["texts"] == wanted.splitlines() and kept["rows"] == 3
    assert kept["groups"]["2"] == 1 and kept["promise"]["proof"] == "conditional"
    assert kept["settings"]["vocabulary"]["dim"] == 16 and len(kept["settings"]["vocabulary_sha256"]) == 64
    assert "John" not in done.stdout + done.stderr + (place / "out.json").read_text()


def test_standard_input_streams_to_standard_output(place):
    code = "from sfumato.cli.main import run; run()"
    given = ["rewrite", "-", *EXACT, "--vocabulary", "glove:glove.txt", "--terms", "names.txt"]
    running = subprocess.Popen(
        [sys.executable, "-c", code, *given],
        cwd=place, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    for line in ("Oil fell.\n", "Zanzibar rose\n"):
        running.stdin.write(line)
        running.stdin.flush()
        # The line comes back before the next one is sent.
        assert running.stdout.readline() == line.replace("Zanzibar", "[hidden]")
    out, errors = running.communicate()
    assert running.returncode == 0 and out == "" and "same groups" in " ".join(errors.split())


def test_explanations_go_to_the_screen_and_to_a_page(place, sfumato):
    done = sfumato(
        "in.txt", "--epsilon", "40", "--task", "fever", "-o", "out.jsonl", "--explain", "--page", "page.html"
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "John" in done.stdout and "for their owner only" in done.stdout and "replaced" in done.stdout
    page = (place / "page.html").read_text()
    assert "was: John" in page and "<script" not in page and "http" not in page
    rows = [json.loads(line) for line in (place / "out.jsonl").read_text().splitlines()]
    assert [set(row) for row in rows] == [{"text"}] * 3 and "John" not in json.dumps(rows)


def test_tasks_and_spans_come_from_columns(place, sfumato):
    rows = [
        {"text": "oil fell", "asked": "oil", "spans": [{"start": 0, "end": 3, "label": "X"}]},
        {"text": "oil fell", "asked": "fell", "spans": []},
    ]
    (place / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = sfumato(
        "rows.jsonl", "--task-column", "asked", "--spans", "X", *EXACT, "-o", "o.txt", "--json", "o.json"
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads((place / "o.json").read_text())["groups"] == {"1": 1, "2": 0, "3": 1, "4": 2}


def test_labelled_spans_are_sensitive_unless_told_otherwise(place, sfumato):
    rows = [
        {"text": "oil fell", "spans": [{"start": 0, "end": 3, "label": "[X]"}]},
        {"text": "oil fell", "spans": [{"start": 4, "end": 8, "label": "Y"}]},
        *[{"text": "oil fell"} for _ in range(130)],  # whole batches without a label
    ]
    (place / "marked.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    base = ("marked.jsonl", "--task", "fever", *EXACT, "-o", "o.txt", "--json", "o.json")

    def written(*more):
        done = sfumato(*base, *more)
        assert done.returncode == 0, done.stderr
        settings = json.loads((place / "o.json").read_text())["settings"]
        return (place / "o.txt").read_text().splitlines()[:3], done.stdout, settings["labelled_spans"]

    lines, said, counted = written()
    assert lines == ["[hidden] fell", "oil [hidden]", "oil fell"] and counted == {"[X]": 1, "Y": 1}
    assert "2 spans labelled in the input were sensitive too ([X], Y); --no-labels leaves them out." in said
    lines, said, counted = written("--spans", "Y")
    assert lines == ["oil fell", "oil [hidden]", "oil fell"] and not counted and "labelled in" not in said
    lines, said, counted = written("--no-labels")
    assert lines == ["oil fell"] * 3 and not counted and "labelled in" not in said


PARTS = {
    "TITLE": ("Professor", "Director", "Captain", "Nurse", "Judge"),
    "NAME": ("Maria Jensen", "Tom Okafor", "Lena Fischer", "Arthur Bell"),
    "DATE": ("3 March", "Tuesday", "last August", "12 May 1987", "Christmas Eve"),
    "HOBBY": ("falconry", "baroque music", "chess"),
}


def labelled_note(number):
    text, spans = "", []
    for word in "TITLE NAME came to the clinic on DATE with a cough and spoke about HOBBY".split():
        text += " " if text else ""
        value = PARTS[word][number % len(PARTS[word])] if word in PARTS else word
        if word in PARTS:
            spans.append({"start": len(text), "end": len(text) + len(value), "label": word})
        text += value
    return {"text": text, "spans": spans}


def test_labelled_values_do_not_survive(tmp_path, monkeypatch):
    """What detectors miss and people have labelled is drawn with the budget of sensitive words."""
    monkeypatch.chdir(tmp_path)
    notes = [labelled_note(number) for number in range(60)]
    (tmp_path / "notes.jsonl").write_text("".join(json.dumps(note) + "\n" for note in notes))

    def survived(*more):
        with pytest.raises(SystemExit) as stopped:
            main.run(["rewrite", "notes.jsonl", "--epsilon", "20", "-o", "o.txt", *more])
        assert stopped.value.code == 0
        written = (tmp_path / "o.txt").read_text().lower().splitlines()
        values = [
            note["text"][span["start"] : span["end"]].lower() in line
            for note, line in zip(notes, written, strict=True)
            for span in note["spans"]
        ]
        return sum(values) / len(values)

    assert survived("--no-labels") > 0.3
    assert survived() < 0.03


def test_repair_sends_the_private_text_only(place, sfumato, monkeypatch):
    monkeypatch.setenv("no_proxy", "*")
    answers = {"Oil": "The oil price rose; [hidden] told the doctor.", "The": "Fever in Norway."}

    def reply(body):
        return answers[body["messages"][1]["content"].split("\n\n")[1].split()[0]]

    with chat_server(reply) as (address, seen):
        done = sfumato("in.txt", *EXACT, "--repair", f"editor@{address}", "-o", "mended.txt")
    assert done.returncode == 0, done.stderr
    assert "John" not in json.dumps(seen)
    assert (place / "mended.txt").read_text().splitlines() == [
        "The oil price rose; [hidden] told the doctor.", "", "The patient's fever fell?",
    ]  # fmt: skip
    assert "1 repairs broke a rule" in done.stdout


def test_a_file_of_terms_says_which_group_words_are_in(place, sfumato):
    (place / "groups.tsv").write_text("# ours\noil price\t2\nfever\t3\n")
    done = sfumato("in.txt", *EXACT, "--groups", "groups.tsv", "-o", "out.txt", "--json", "out.json")
    assert done.returncode == 0, done.stderr
    first = (place / "out.txt").read_text().splitlines()[0]
    assert first == "[hidden] [hidden] rose; [hidden] told the doctor."
    kept = json.loads((place / "out.json").read_text())
    assert kept["groups"]["2"] == 3 and kept["groups"]["3"] == 1
    assert kept["settings"]["groups"] == "terms of groups.tsv"
    assert "a map of the caller's" in " ".join(done.stdout.split()) and "oil" not in done.stdout


@pytest.mark.parametrize("spec", ["lm", "lm:", "lm:none.gguf", "lm:in.txt", "lm:.", "lm:small.gguf"])
def test_language_models_that_are_none_are_one_line_and_exit_2(place, monkeypatch, capsys, spec):
    monkeypatch.chdir(place)
    (place / "small.gguf").write_bytes(b"GGUF but not really")
    with pytest.raises(SystemExit) as stopped:
        main.run(["rewrite", "in.txt", "--epsilon", "5", "--vocabulary", spec])
    lines = capsys.readouterr().err.strip().splitlines()
    assert stopped.value.code == 2 and len(lines) == 1 and lines[0].startswith("sfumato: ")


def test_a_seed_is_loud_and_repeats(place, sfumato):
    for name in ("first.txt", "second.txt"):
        with pytest.warns(InsecureSeedWarning, match="protects nobody"):
            assert sfumato("in.txt", "--uniform", "3", "--seed", "4", "-o", name).returncode == 0
    assert (place / "first.txt").read_text() == (place / "second.txt").read_text()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("in.txt",), "Give one of --epsilon"),
        (("in.txt", "--epsilon", "5", "--uniform", "5"), "Found --epsilon and --uniform"),
        (("in.txt", "--budgets", "1,2,3"), "four numbers"),
        (("in.txt", "--budgets", "inf,1,1,1"), "never copied"),
        (("in.txt", "--paper-row", "9"), "`row` must be in"),
        (("none.txt", "--epsilon", "5"), "none.txt"),
        (("in.txt", "--epsilon", "5", "--mechanism", "gaussian"), "not set by an epsilon"),
        (("in.txt", "--epsilon", "5", "--decoder", "fast"), "decoder has to be one of"),
        (("in.txt", "--epsilon", "5", "--unknown", "copy"), "blur, hide or keep"),
        (("in.txt", "--epsilon", "5", "-o", "out.pdf"), ".txt or .jsonl"),
        (("in.txt", "--epsilon", "5", "--threshold", "7"), "`threshold` must be in"),
        (("-", "--epsilon", "5", "--task-column", "asked"), "has no columns"),
        (("in.txt", "--epsilon", "5", "--spans", "X"), "spans from the data"),
        (("in.txt", "--epsilon", "5", "--groups", "none.tsv"), "There is no such file"),
        (("in.txt", "--epsilon", "5", "--groups", "names.txt"), "Line 1 of `names.txt`"),
        (("in.txt", "--epsilon", "5", "--groups", "."), "has to be a file of terms"),
    ],
)
def test_bad_requests_are_one_line_and_exit_2(sfumato, arguments, said):
    done = sfumato(*arguments)
    assert done.returncode == 2
    lines = done.stderr.strip().splitlines()
    assert len(lines) == 1 and lines[0].startswith("sfumato: ") and said in lines[0], done.stderr
    assert "John" not in done.stderr


def test_binary_input_is_refused_without_showing_it(sfumato):
    done = sfumato("-", "--epsilon", "5", stdin=b"fine\n\xff\xfeJohn\n")
    assert done.returncode == 2 and "Line 2 of standard input" in done.stderr and "John" not in done.stderr


def test_what_is_sensitive_has_a_default_and_presidio_can_be_asked():
    found = rewrite._sensitive(None, None, None, False)
    assert [concept.name for concept in found] == list(rewrite.SENSITIVE)
    (asked,) = rewrite._sensitive(None, None, None, True)
    assert isinstance(asked, Presidio)
    assert len(rewrite._sensitive(["email"], None, ["X"], True)) == 3


def test_a_vocabulary_is_chosen_from_what_is_installed(monkeypatch):
    assert rewrite._vocabulary("glove:x") == "glove:x" and rewrite._vocabulary(None) == "minilm"
    monkeypatch.setattr("sfumato.registry._importable", lambda module: False)
    with pytest.raises(InputError, match="glove:FILE"):
        rewrite._vocabulary(None)
