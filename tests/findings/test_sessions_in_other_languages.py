"""What notebooks and services say of a session or a job that used all RAM, in other languages and words."""

from __future__ import annotations

import pytest

from tests.findings.pages import explained, offered


@pytest.mark.parametrize(
    "line",
    [
        "Tu sesi\xf3n fall\xf3 despu\xe9s de usar toda la memoria RAM disponible.",
        "Sua sess\xe3o falhou depois de usar toda a RAM dispon\xedvel.",
        "Votre session a plant\xe9 apr\xe8s avoir utilis\xe9 toute la RAM disponible.",
        "Die Sitzung ist abgest\xfcrzt, nachdem der gesamte verf\xfcgbare RAM verwendet wurde.",
        "\u4f7f\u7528\u53ef\u80fd\u306a RAM \u3092\u3059\u3079\u3066\u4f7f\u7528\u3057\u305f\u5f8c\u3067"
        "\u3001\u30bb\u30c3\u30b7\u30e7\u30f3\u304c\u30af\u30e9\u30c3\u30b7\u30e5\u3057\u307e\u3057\u305f",
        "Reason: ClientError: Please use an instance type with more memory, or reduce the size of training"
        " data processed on an instance.",
    ],
)
def test_all_ram_was_used(line: str) -> None:
    assert "Host RAM (not GPU memory) ran out" in explained(f"import keras\n{line}\n").verdict


@pytest.mark.parametrize(
    "line",
    [
        "Tu sesi\xf3n fall\xf3 por un motivo desconocido.",
        "La sesi\xf3n usa la GPU. Toda la memoria RAM est\xe1 libre.",
        "The session uses all the RAM that is available to it.",
        "Choose an instance type with more disk.",
    ],
)
def test_other_words_of_a_session(line: str) -> None:
    assert "RAM (not GPU memory) ran out" not in explained(f"import keras\n{line}\n").verdict


READS = """import keras
Your session crashed after using all available RAM.
for f in os.listdir(folder):
    img = cv2.imread(f)
    {line}
X = np.array(kept)
"""


@pytest.mark.parametrize(
    ("line", "as_floats"),
    [
        ("kept.append(img / 255.0)", True),
        ("kept.append(img.astype(np.float32))", True),
        ("kept.append(img)", False),
    ],
)
def test_samples_that_are_kept_as_floats(line: str, as_floats: bool) -> None:
    report = explained(READS.format(line=line))
    assert ("keeps each sample as floating-point numbers" in report.verdict) is as_floats
    assert "converts a whole array" not in report.verdict
    assert "narrow-array" in offered(READS.format(line=line)) or not as_floats
