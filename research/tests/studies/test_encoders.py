"""The table of study encoders against what the encoders themselves say."""

from __future__ import annotations

import pytest
from tests.contracts.embedder_cases import tiny_model

from sfumato.embedders import EMBEDDERS, load_embedder
from sfumato.errors import ParameterError
from sfumato_research.studies.base import Setting
from sfumato_research.studies.data import encoder
from sfumato_research.studies.encoders import ENCODERS, families, present, study_encoder

OWN = "SFUMATO_ENCODER768"


def test_names_titles_and_places_stand_once_and_packaged_ones_are_registered():
    assert len({each.name for each in ENCODERS}) == len({each.title for each in ENCODERS}) == len(ENCODERS)
    assert all(each.folder or each.name in EMBEDDERS for each in ENCODERS)


def test_dimensions_are_the_encoders_own():
    for each in present():
        if each.name != "encoder768":
            assert load_embedder(each.spec).dim == each.dim


def test_an_encoder_made_from_another_is_no_other_family():
    assert families(["minilm", "encoder768"]) == ["BERT, distilled"]
    assert len(families(each.name for each in ENCODERS)) == len(ENCODERS) - 1


def test_a_folder_in_the_environment_is_opened_under_the_studys_name(tmp_path, monkeypatch):
    folder = tiny_model(tmp_path)
    monkeypatch.setenv(OWN, str(folder))
    assert [each.name for each in present("encoder768")] == ["encoder768"]
    setting = Setting(tmp_path, cache=tmp_path / "cache")
    found = encoder(setting, "encoder768")
    assert found.dim == 32 and (tmp_path / "cache" / "encoder768").is_file()
    assert found.model_id == load_embedder(folder).model_id


def test_without_the_variable_or_the_folder_it_is_left_out(tmp_path, monkeypatch):
    monkeypatch.delenv(OWN, raising=False)
    assert present("encoder768") == []
    with pytest.raises(ParameterError, match=OWN):
        _ = study_encoder("encoder768").spec
    monkeypatch.setenv(OWN, str(tmp_path / "gone"))
    assert present("encoder768") == []


def test_another_embedder_stands_for_itself():
    other = study_encoder("fake:16")
    assert (other.spec, other.title, other.family) == ("fake:16", "fake:16", "")
