"""A search over hyper-parameters tried a model that does not fit.

What it means: the trials before went well; this one drew a wider or deeper model, or the models of earlier
trials are still held. The search goes on only if such trials are kept out.
When it fires: KerasTuner or Optuna counts its trials in the log, and one after the first failed.
What to do: narrow the range, skip models that are too large, and let no trial keep the model of another.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support.rows import failures
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity

BASIS = Basis.NAME
EXPLAINS = "no bytes"


def check(case: Case) -> Iterator[Finding]:
    trial = case.capture.surroundings.trial
    if trial is None or trial[0] < 2:
        return
    for index, _ in list(failures(case))[:1]:
        yield Finding(
            severity=Severity.FACTOR,
            headline=f"it failed in trial {trial[0]} of a search: those before it fitted",
            because=f"it failed in trial {trial[0]} of a search, and those before it fitted",
            evidence=(Evidence("the trial", trial[1]),),
            remedies=(
                Remedy(
                    "cap the hyper-parameter that decides the size of the model, or skip models that are too"
                    " large",
                    'hp.Int("units", 256, 2048)   # KerasTuner: tuner = ...(max_model_size=...)',
                    slug="cap-the-search",
                ),
                Remedy(
                    "if a model of this size fitted before: clear what earlier trials keep",
                    "tf.keras.backend.clear_session()   # first line of the function that builds the model",
                    slug="clear-session",
                ),
            ),
            moment=index,
        )
