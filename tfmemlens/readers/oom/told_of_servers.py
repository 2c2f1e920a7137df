"""What the prose or the log of a post tells of a program that only serves or runs a model."""

from __future__ import annotations

from tfmemlens.readers.oom.rules import LineRule

ABORTS = LineRule(
    r"(?i)(?:\bserving|\bmodel ?server)\b(?:(?!\b(?:old|earlier|works?|worked|runs?|fine|down\w*)\b)"
    r"[^\d\n]){0,40}(?<![\d.])v?"
    r"(?P<release>2\.9\.[0-2]|2\.10\.0)(?![\d.]*\d)(?![^.;\n]{0,30}\b(?:works?|worked|runs|is fine)\b)",
    "FROM tensorflow/serving:2.10.0",
    "docker run tensorflow/serving:2.9.1-gpu",
    "TF Serving by docker, version 2.9.1.",
    "**TensorFlow Serving version**: 2.9.0",
    needs=("serving", "server"),
)
"""Releases of TF Serving in which shapes of unknown rank end in std::bad_alloc."""
_FOUND = r"(?:(?:bounding[- ]?)?box(?:es)?|bbox(?:es)?|detections?|objects?|masks?|plates?|faces?)"
EMPTY_RESULT = LineRule(
    rf"(?i)\b(?:no|without(?: any)?|not (?:\w+ )?(?:any|a single)|n't (?:\w+ )?(?:any|a single)) {_FOUND}\b"
    r"(?! (?:are|is|were|was) (?:needed|required))"
    rf"|\b(?:is|are|was|were|gets?)(?: not|n't|n\u2019t) (?:being )?(?:detected|recogni[sz]ed|drawn)\b"
    r"|\b(?:does|do|did|can)(?: not|n't|not) (?:detect|recogni[sz]e|draw|find any)\b"
    r"|\bdetects? nothing\b|\bnothing (?:is|was|gets) (?:detected|drawn)\b",
    "the picture has no bounding boxes",
    "my cards are not detected",
    "it does not detect them",
    "it detects nothing at all",
    needs=("box", "detect", "object", "mask", "plate", "face", "recogni", "draw", "find any"),
)
"""A program that ran to its end, and found nothing in what it was given."""
TOLD_OF_SERVERS = {"a release that aborts": ABORTS, "an empty result": EMPTY_RESULT}
