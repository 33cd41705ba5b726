"""STAMP's judge on fictional passages: one that reads well, and one that reads nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.text.small import chat_server

from sfumato.embedders import load_embedder
from sfumato.text.chat import Chat
from sfumato.text.repair import Repair
from sfumato_research.stamp.judging import CLEAN, NOTHING, judge, private
from sfumato_research.stamp.mending import repaired
from sfumato_research.stamp.rows import POLAR
from sfumato_research.stamp.sets import AnswerScorer, fantasy
from sfumato_research.studies import Setting
from sfumato_research.studies.running import read_result
from sfumato_research.text.fantasy import passages
from sfumato_research.text.judge import SYSTEM, Recording
from sfumato_research.text.reader import Example

REPOSITORY = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def setting(tmp_path_factory):
    return Setting(tmp_path_factory.mktemp("judge"), quick=True)


@pytest.fixture(scope="module")
def texts(setting):
    return fantasy(setting)


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch):
    monkeypatch.setenv("no_proxy", "*")


def asked(body):
    context, _, question = body["messages"][1]["content"].partition("\nQuestion: ")
    return context.removeprefix("Context: "), question


def test_a_judge_that_reads_finds_what_noise_leaves(setting, texts, monkeypatch, tmp_path):
    answers = {(one.question): one.answers[0] for one in texts.examples}

    def reads(body):
        context, question = asked(body)
        return answers[question] if answers[question].lower() in context.lower() else "nothing"

    with chat_server(reads) as (address, seen):
        monkeypatch.setenv("SFUMATO_JUDGE", f"m@{address}")
        monkeypatch.setenv("SFUMATO_JUDGE_RECORD", str(tmp_path))
        found = judge(setting, "fantasy", texts)
    cosine, exact = found.tables
    assert exact.rows[0][:2] != exact.rows[1][:2] and exact.rows[0][1].value == 1.0
    assert exact.rows[1][1].value == 0.0 and cosine.rows[0][4].low > 0
    (finding,) = found.findings
    assert finding.same is True and not finding.cause
    recording = Recording.load(tmp_path / "stamp-judge-fantasy.json.gz")
    assert recording.about["set"] == "fantasy" and all(body in _requests(recording) for _, body in seen)


def _requests(recording):
    return [each["request"] for each in recording.asked.values()]


def test_nothing_follows_from_a_judge_that_is_blind(setting, texts, monkeypatch, tmp_path):
    with chat_server(lambda body: "dog") as (address, _):
        monkeypatch.setenv("SFUMATO_JUDGE", f"m@{address}")
        monkeypatch.setenv("SFUMATO_JUDGE_RECORD", str(tmp_path))
        found = judge(setting, "squad", texts)
    (finding,) = found.findings
    assert finding.same is None and "no better than none" in finding.cause
    assert not Recording.load(tmp_path / "stamp-judge-squad.json.gz").words


def test_the_recorded_run_gives_the_published_figures():
    """What was answered about clean passages and about none is scored again."""
    recording = Recording.load(REPOSITORY / "research" / "recordings" / "stamp-judge-fantasy.json.gz")
    parts = read_result(REPOSITORY / "docs" / "results" / "stamp.json")["parts"]
    table = next(each for each in parts["judge-fantasy"]["tables"] if each["title"].endswith("cosine"))
    asked = [(one, q) for one in passages(24, seed=2) for q in one.questions]
    scorer = AnswerScorer.of(
        [Example(one.text, q.text, (q.answer,)) for one, q in asked], load_embedder("minilm")
    )
    chat = Chat(recording.about["model"], base_url="http://127.0.0.1:1/v1", temperature=0.0)
    for row, kept in ((0, True), (1, False)):
        said = [
            recording.answer_to(
                chat.request(
                    SYSTEM, f"Context: {one.text if kept else ''}\nQuestion: {q.text}", most_tokens=5
                )
            ).strip()
            for one, q in asked
        ]
        value = scorer.scores(said)["answer cosine"].mean()
        assert value == pytest.approx(table["rows"][row][1]["value"], abs=1e-4)


def test_private_texts_stand_beside_clean_ones_and_none(setting, texts):
    made = private(setting, texts)
    assert made[CLEAN] == list(texts.texts) and set(made[NOTHING]) == {""}
    assert len(made) == 2 + 3 and all(len(each) == len(texts.texts) for each in made.values())
    assert made[f"3|{POLAR}"] != made[CLEAN]
    assert made == private(setting, texts), "the same noise every time"


def test_repairs_that_break_a_rule_are_counted_and_change_nothing(setting, texts):
    made = {f"3|{POLAR}": list(texts.texts)}
    with chat_server(lambda body: body["messages"][1]["content"].split("\n\n", 1)[1]) as (address, _):
        kept = repaired(setting, texts, made, Repair(Chat("m", base_url=address)))
    with chat_server(lambda body: "In 1999 it was so.") as (address, _):
        broken = repaired(setting, texts, made, Repair(Chat("m", base_url=address)))
    assert [row[:3] for row in kept.rows] == [["3", 2, 2]] and kept.rows[0][3].value == 0.0
    assert [row[:3] for row in broken.rows] == [["3", 2, 0]] and broken.rows[0][3].value == 0.0
