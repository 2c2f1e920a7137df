"""Releases of a library that prose compares: one that works, and a newer one that does not."""

from __future__ import annotations

import re

from tfmemlens.knowledge.releases import numbers_of
from tfmemlens.model.capture import WorkingRelease
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex
from tfmemlens.readers.oom.rules import Era, LineRule

_NAMES = (
    r"(?:tensorflow(?:[-_](?:gpu|cpu|metal|macos|text|probability|datasets|io|addons))?|tf[-_]nightly|keras"
    r"(?:[-_](?:hub|cv|nlp|tuner))?|jax|jaxlib|jax[-_]metal|flax|optax|orbax(?:[-_]checkpoint)?|numpyro"
    r"|torch[-_]xla|libtpu(?:[-_]nightly)?|equinox|dm[-_]haiku|brax|mujoco(?:[-_]mjx)?|tensorstore|numpy"
    r"|pymc|blackjax|grain|clu|easydel|levanter|t5x|netket|jax[-_]md|diffrax|cudnn|tf(?=[ =:v@(]{1,4}\d))"
)
_RELEASE = r"\d{1,4}\.\d{1,4}(?:\.\d{1,4}){0,2}(?:\.?(?:dev|rc|post)\d{1,10})?"
_GOOD = (
    r"(?:work(?:s|ed)?|(?:is|are|was|were|runs?|ran|trains?|trained) (?:\w+ )?"
    r"(?:fine|ok(?:ay)?|good|stable|flat)"
    r"|(?:has|had|shows?) no (?:\w+ )?(?:leak|problem|issue|such)|do(?:es)? not (?:leak|grow|happen|occur)"
    r"|did(?: not|n't) (?:leak|grow|happen|occur)|doesn't (?:leak|grow|happen|occur)"
    r"|do(?:es)?(?: not|n't) (?:have|see|get|show|exhibit)"
    r" (?:(?:this|that|the) (?:problem|issue|error|leak)|(?:it|this)(?=[\s*`]*(?:[.,;!)]|\Z)))"
    r"|(?:solve[sd]?|fix(?:es|ed)?|help(?:s|ed)|avoid(?:s|ed)?))\b"
)
_NOT = r"(?<!not )(?<!n't )(?<!never )"
PACKAGE = LineRule(
    rf"(?i)(?<![\w./-])(?P<name>{_NAMES})(?:[*`]{{0,2}} ?(?:version|release)?[=:v(@ ]{{1,4}}v?)"
    rf"(?P<release>{_RELEASE})\b",
    "orbax-checkpoint: 0.11.19",
    "with jax 0.4.35 it leaks",
    "after updating to numpyro version 0.14.1",
    needs=(
        "tensorflow", "tf-nightly", "tf_nightly", "keras", "jax", "flax", "optax", "orbax", "numpyro",
        "torch-xla", "torch_xla", "libtpu", "equinox", "haiku", "brax", "mujoco", "tensorstore", "numpy",
        "pymc", "grain", "clu", "cudnn", "tf", "easydel", "levanter", "t5x", "netket", "diffrax",
    ),
)  # fmt: skip
WORKING = LineRule(
    rf"(?i)(?:(?P<name>{_NAMES})[ =:v@(]{{1,4}})?(?:\b(?:version|release|v)\.? ?)?"
    rf"(?<![\d.])v?(?P<release>{_RELEASE})\)?[`*]{{0,2}} (?:(?:it|this|everything|all|still) )?{_NOT}{_GOOD}"
    rf"|\b{_NOT}{_GOOD}[^.,;\n]{{0,30}}\b(?:with|on|in|under|using) (?:(?P<name2>{_NAMES})[ =:v@(]{{1,4}})?"
    rf"(?:(?:version|release) )?v?(?P<release2>{_RELEASE})\b"
    rf"|\b(?:downgrad\w+|revert\w+|going back|rolled back|went back|pinn\w+)\b[^.,;\n]{{0,40}}?"
    rf"(?:(?P<name3>{_NAMES})[ =:v@(]{{1,4}})?(?:(?:to|at|=) ?)?(?:(?:version|release)"
    rf" )?v?(?P<release3>{_RELEASE})\b"
    rf"[^;\n]{{0,60}}?{_NOT}{_GOOD}"
    rf"|\b(?:in|with|on|under|using|and) (?:(?P<name4>{_NAMES})[ =:v@(]{{1,4}})v?(?P<release4>{_RELEASE})\b"
    rf"(?:(?!\d\.\d)[^.;?\n]){{0,60}}?\bwithout (?:an?y? )?(?:\w+ )?(?:trouble|problem|issue|error)s?\b"
    rf"|\b(?:in|with|on|under|using) (?:(?P<name5>{_NAMES})[ =:v@(]{{1,4}})?v?(?P<release5>{_RELEASE})"
    r"(?:,| there (?:is|was|were|are)| I (?:have|had))? no (?:\w+ )?"
    r"(?:problem|issue|leak|trouble|error|OOM)s?\b"
    rf"|\b(?:with|on|under|using) (?:(?P<name6>{_NAMES})[ =:v@(]{{1,4}})?v?(?P<release6>{_RELEASE}),?"
    r" (?:the same|the|this|my|it|everything)(?: (?:code|script|program|file|model|step|config\w*|notebook"
    r"|memory|RAM))?"
    rf" {_NOT}(?:compiles|fits|passes|succeeds|trains|runs (?:fine|through|well)|works"
    r"|(?:is|stays|has an?) (?:\w+ )?(?:constant|flat|stable))\b",
    "With 1.14 no problem",
    "I do not have this issue when using version 2.0.1 or below",
    "TLDR; version 0.11.8 works, latest is leaking",
    "it runs fine, works with jax 0.4.28",
    "Downgrading to jaxlib 0.4.16 solves it",
    "under TF 1.13 this script trains without any trouble",
    "With 0.4.34 the same code compiles.",
    "With TF 2.9.2 the same file is constant at 2.6 GB",
    needs=(
        "constant",
        "work",
        "fine",
        "ok",
        "good",
        "stable",
        "flat",
        "no ",
        "not ",
        "n't",
        "solve",
        "fix",
        "help",
        "avoid",
        "without",
        *("compiles", "fits", "passes", "succeeds", "trains", "runs"),
    ),
)


_MARKS = r"[*`_]{0,2}"
UPGRADED = LineRule(
    r"(?i)\b(?:(?:upgrad|updat|mov|migrat|switch|chang|going|went)\w*|install -U)\b[^.;\n]{0,40}?"
    r"\b(?:from )?"
    rf"(?:{_MARKS}(?P<name>(?!from\b|version\b|release\b)[A-Za-z][\w-]{{1,30}}){_MARKS} )?"
    rf"(?:version |release )?\(?"
    rf"{_MARKS}v?(?P<old>{_RELEASE}){_MARKS} ?(?:to|->|\u2192|=>)"
    rf" ?{_MARKS}(?:[A-Za-z][\w-]{{1,30}} )?v?(?P<new>{_RELEASE})\b",
    "After upgrading from AlphaFold3 **v3.0.0** to **v3.0.3** it fails",
    "I updated numpyro 0.13.0 -> 0.14.0",
    "after pip install -U keras (2.9.0 -> 2.11.0) I can train only smaller ones",
    needs=("upgrad", "updat", "mov", "migrat", "switch", "chang", "going", "went", "install -u"),
)
"""A release that the program ran with, and the one that it has now."""
COMMIT = LineRule(
    r"(?P<source>git\+https?://[\w./-]{1,120}/(?P<name>[\w.-]{1,60}?)(?:\.git)?@(?P<commit>[0-9a-f]{7,40}))\b"
    rf"[^\n]{{0,40}}?\b{_NOT}{_GOOD}",
    "!pip install git+https://github.com/lab/NetLib.git@d06931e79cc3 # This version works well",
    needs="git+http",
)


UPDATED_TO = LineRule(
    rf"(?i)\b(?:upgrad|updat|mov|migrat|switch|going|went)(?:ed|ing|e|es)? to (?:{_NAMES} )?v?"
    rf"(?P<release>{_RELEASE})\b",
    "After updating to 2.7 it fails",
    needs=("upgrad", "updat", "mov", "migrat", "switch", "going", "went"),
)
"""The release that came after one that worked."""


MENDED = LineRule(
    rf"(?i)\b(?:as of|since|starting (?:with|from)) (?P<name>{_NAMES})[ =:v@(]{{1,4}}v?"
    rf"(?P<release>{_RELEASE})\b,? "
    r"(?:(?:I|we|it|this|that)(?:'ve|'s|'m)?,? )?(?:(?:has|have|is|was|been|should|be|now) ){0,3}"
    r"(?:fixed|solved|resolved|restored|reverted (?:the|that|this) (?:change|default|old)\w*)\b(?![^.\n]*\?)",
    "As of jaxlib 0.1.30, this is fixed",
    "Starting with tensorflow 2.9.1 that should be resolved",
    "Since jaxlib 0.1.30 we have reverted the default, so memory stays in one piece",
    needs=("as of", "since", "starting"),
)
"""What somebody says of the release that ended the failure."""
_OF_JAX = regex(r"0\.(?:[2-9]|10)\.\d{1,2}")
"""How JAX numbers its releases: two of one series, where no package is named, are its own."""


class Releases:
    """Collects what prose says of releases."""

    def __init__(self) -> None:
        self.packages: list[tuple[str, str, Line]] = []
        self.updated_to = ""
        self.working: tuple[str, str, Line] | None = None
        self.upgraded: WorkingRelease | None = None
        self.moved: tuple[str, str, str] | None = None
        """A package whose release changed, from which to which."""
        self.commit: WorkingRelease | None = None
        self.mended: WorkingRelease | None = None
        self._heading = ("", 0)

    def read(self, line: Line) -> None:
        """Note the releases that a line names, and one that it says works."""
        self._below_a_heading(line)
        named = re.finditer(PACKAGE.pattern, line.text) if PACKAGE.search(line.text) else ()
        for match in named:
            self.packages.append((_package(match["name"]), match["release"], line))
        if not self.updated_to and (now := UPDATED_TO.search(line.text)):
            self.updated_to = now["release"]
        self.upgraded = self.upgraded or _upgraded(line)
        if self.moved is None and (moved := UPGRADED.search(line.text)) and moved["name"]:
            self.moved = (_package(moved["name"]), moved["old"], moved["new"])
        if self.commit is None and (at := COMMIT.search(line.text)):
            self.commit = WorkingRelease(at["name"], at["commit"][:12], None, line, at["source"])
        if self.mended is None and (mends := MENDED.search(line.text)):
            self.mended = WorkingRelease(_package(mends["name"]), mends["release"], None, line, mends=True)
        if self.working is None and (works := WORKING.search(line.text)):
            name = (
                works["name"]
                or works["name2"]
                or works["name3"]
                or works["name4"]
                or works["name5"]
                or works["name6"]
                or ""
            )
            release = next(filter(None, (works[f"release{which}"] for which in _PLACES)))
            self.working = (_package(name), release, line)

    def _below_a_heading(self, line: Line) -> None:
        """Note the releases that stand alone below the name of a package, as forms of issues have them."""
        package, number = self._heading
        if package and line.number - number <= _BELOW and _BEGINS.match(line.text):
            self.packages += [(package, release, line) for release in _EACH.findall(line.text)]
        if head := _HEADS.fullmatch(line.text):
            self._heading = _package(head["name"]), line.number

    def era_after_a_move(self) -> Era | None:
        """The TensorFlow to which prose says that a program moved."""
        if self.moved is None or self.moved[0] != "tensorflow":
            return None
        now = numbers_of(self.moved[2])
        return ((now[0], now[1]), (now[0], now[1])) if numbers_of(self.moved[1]) < now else None

    def value(self) -> WorkingRelease | None:
        """The release that works, where the same line or another tells of one that does not."""
        if self.working is None or self.mended:
            return self.mended or self.commit or self.upgraded
        name, release, line = self.working
        others = [
            (known, at)
            for known, at, at_line in self.packages
            if at != release and (at_line != line or numbers_of(at) > numbers_of(release))
        ]
        if name:
            now = max((at for known, at in others if known == name), key=numbers_of, default=None)
            now = now or (self.updated_to if self.updated_to != release else None) or _bare(line, release)
        elif self.moved and self.moved[1] == release:
            name, now = self.moved[0], self.moved[2]
        else:
            series = release.rpartition(".")[0]
            name, now = next(
                (
                    (known, at)
                    for known, at in others
                    if at.rpartition(".")[0] == series or _both_of_tensorflow(known, at, release)
                ),
                ("", None),
            )
        if not name and not self.packages and _OF_JAX.fullmatch(release):
            now = _bare(line, release)
            name = "jax" if now and now.rpartition(".")[0] == release.rpartition(".")[0] else ""
        told = name and (now or _ANOTHER.search(line.text))
        return WorkingRelease(name, release, now, line) if told else self.commit or self.upgraded


_HEADS = regex(rf"(?i)[#* ]{{1,8}}(?P<name>{_NAMES}) (?:version|release)s?[:*? ]{{0,6}}")
_BEGINS = regex(rf"(?i)\W{{0,3}}(?:tf|tensorflow|v|version)?[ =v]{{0,2}}{_RELEASE}(?!\w)")
_EACH = regex(rf"(?i)(?<![\w.])v?({_RELEASE})(?![\w.]*\d)")
_BELOW = 2
"""Lines from a heading of a form to what was filled in."""
_BARE = regex(rf"(?i)\b(?:with|on|after|since|in) (?:the )?(?:version |release )?v?(?P<release>{_RELEASE})\b")


def _bare(line: Line, release: str) -> str | None:
    """A newer release in the same line, without a name: `works with jax 0.4.14. With 0.4.31 I get`."""
    found = (match["release"] for match in _BARE.finditer(line.text))
    newer = (each for each in found if each.count(".") == release.count("."))
    return next((each for each in newer if numbers_of(each) > numbers_of(release)), None)


_PLACES = ("", "2", "3", "4", "5", "6")
_OF_TENSORFLOW = regex(r"(?:1\.1?\d|2\.[12]?\d)(?:\.\d)?\Z")


def _both_of_tensorflow(package: str, now: str, works: str) -> bool:
    """Whether a release without a name may be TensorFlow's, as the one that is named with it."""
    return package == "tensorflow" and all(map(_OF_TENSORFLOW.match, (now, works)))


def _package(name: str) -> str:
    """What pip calls it."""
    name = name.lower().replace("_", "-")
    return "tensorflow" if name == "tf" else name


def _upgraded(line: Line) -> WorkingRelease | None:
    """The release from before an upgrade, where the line goes on with what fails since then."""
    match = UPGRADED.search(line.text)
    if match is None or not match["name"] or not _FAILS.search(line.text, match.end()):
        return None
    old, new = match["old"], match["new"]
    return WorkingRelease(match["name"], old, new, line) if numbers_of(old) < numbers_of(new) else None


_FAILS = regex(
    r"(?i)\b(?:fail|crash|OOM|out of memory|error|regress|leak|no longer|not work|n't work|more memory"
    r"|can \w+ only|problem|issue|exhaust|get)\w*"
)
"""What came of it."""


_ANOTHER = regex(r"(?i)\b(?:latest|newer|newest|upgrad\w+|updat\w+|regression|downgrad\w+|revert\w+|later)\b")
"""Words for a release that is not the one that works, without a number."""
