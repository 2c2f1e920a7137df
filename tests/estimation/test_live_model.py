"""A model's file gives a trace the user's names: which layers, which variables, which slots."""

from __future__ import annotations

from pathlib import Path

import pytest

import tfmemlens
from tfmemlens import pipeline
from tfmemlens.cli.main import main
from tfmemlens.errors import UnreadableInput
from tfmemlens.estimation.keras_step.live_model import live_model
from tfmemlens.model.attribution import Kind
from tfmemlens.model.capture import Hints
from tfmemlens.readers import keras_models
from tfmemlens.values import replace

FOLDER = Path(__file__).parents[2] / "sample_traces" / "with_model"
TRACE, MODEL = FOLDER / "2.21-siamese.xplane.pb.gz", FOLDER / "2.21-siamese.keras"
WEIGHTS = 4 * (3 * 3 * 3 * 16 + 16 + 3 * 3 * 16 * 12 + 12 + 2 * 12 + 1536 * 8 + 8 + 8 * 10 + 10)
"""Bytes of the trained ones: two convolutions, the norm's scale and shift, two dense layers."""
AVERAGES = 4 * 2 * 12


class TestTheModel:
    model = live_model(keras_models.read(MODEL))

    def test_its_layers_by_their_paths(self) -> None:
        layers = dict(self.model.layers)
        assert self.model.names == ("siamese",)
        assert layers["backbone"] == "Functional"
        assert layers["backbone/deep"] == "Conv2D"
        assert layers["head_hidden"] == "Dense"

    def test_its_variables_and_two_slots_of_each_that_is_trained(self) -> None:
        by_kind = {
            kind: sum(each.tensor.bytes or 0 for each in self.model.variables if each.kind is kind)
            for kind in (Kind.PARAMETER, Kind.OPTIMIZER_SLOT)
        }
        assert by_kind == {Kind.PARAMETER: WEIGHTS + AVERAGES, Kind.OPTIMIZER_SLOT: 2 * WEIGHTS}
        assert [each.name for each in self.model.variables if "head_hidden/kernel" in each.name] == [
            "head_hidden/kernel",
            "head_hidden/kernel (adam slot 1)",
            "head_hidden/kernel (adam slot 2)",
        ]

    def test_what_layers_return(self) -> None:
        assert self.model.makers_of((16, 8, 8, 12)) == ("backbone/deep", "backbone/norm")
        assert self.model.makers_of((16, 10)) == ("head_classes",)

    def test_of_an_optimizer_that_is_not_known_no_slot_is_claimed(self) -> None:
        network = keras_models.read(MODEL)
        for named in (None, "Shampoo"):
            found = live_model(replace(network, optimizer=named))
            assert {each.kind for each in found.variables} == {Kind.PARAMETER}


class TestATraceWithIt:
    @staticmethod
    def bytes_of(model: Path | None, column: str) -> dict[str, int]:
        trace = tfmemlens.read(TRACE, model=model)
        return {str(key): int(row["bytes"]) for key, row in trace.by(column).iterrows()}

    def test_layers_have_the_users_names_and_calls_of_one_are_one(self) -> None:
        assert {"siamese/backbone/deep", "siamese/pair"} <= set(self.bytes_of(None, "layer"))
        named = set(self.bytes_of(MODEL, "layer"))
        assert {"backbone/deep", "backbone/stem", "head_hidden", "pair"} <= named
        assert not any(layer.startswith("siamese") for layer in named)

    def test_what_stood_has_the_names_of_variables(self) -> None:
        """Each buffer is rounded up to 256 bytes: 10 weights, 2 averages, 20 slots. At the peak a gradient op
        still reads deep's kernel, and the update has made its new value beside it.
        """
        sizes = (1728, 64, 6912, 48, 48, 48, 49152, 32, 320, 40)
        held = sum(-(-size // 256) * 256 for size in sizes)
        kinds = self.bytes_of(MODEL, "kind")
        assert kinds["parameter"] == held + 2 * 256 + 6912
        assert kinds["optimizer-slot"] == 2 * held

    def test_the_peak_stays_what_was_measured(self) -> None:
        assert (
            sum(self.bytes_of(MODEL, "kind").values())
            == sum(self.bytes_of(None, "kind").values())
            == 70266112
        )

    @pytest.mark.parametrize("command", ["profile", "explain", "report"])
    def test_on_the_command_line(
        self, command: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
    ) -> None:
        page = ["-o", str(tmp_path / "page.html")] if command == "report" else ["--full"]
        assert main([command, str(TRACE), "--model", str(MODEL), *page]) == 0
        text = (tmp_path / "page.html").read_text() if command == "report" else capsys.readouterr().out
        assert "head_hidden" in text
        assert "siamese/backbone/deep" not in text

    def test_a_file_that_is_no_model_is_refused(self) -> None:
        with pytest.raises(UnreadableInput, match="is not a supported model file"):
            pipeline.timelines(TRACE, Hints(model=str(TRACE)))

    def test_another_model_is_told(self) -> None:
        other = FOLDER.parents[1] / "sample_models" / "files-2.21" / "small.keras"
        found = [pipeline.timelines(TRACE, Hints(model=str(each))) for each in (other, MODEL)]
        told = [[note.text for note in each.notes if "--model" in note.text] for each in found]
        assert told[1] == []
        (text,) = told[0]
        assert text == (
            "1 of the 6 layers of the model given with --model stands in this trace: it may not be the one"
            " that ran"
        )
