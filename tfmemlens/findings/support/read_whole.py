"""Lines of a quoted TensorFlow program that take a whole data set into host RAM, where a batch would do."""

from __future__ import annotations

from tfmemlens.findings.support.grower import Grower
from tfmemlens.findings.support.program_lines import code_lines, reads_a_batch
from tfmemlens.findings.support.situation import TENSORFLOW, framework_of
from tfmemlens.findings.support.tf_code import TABLE
from tfmemlens.findings.support.told_again import DATA_IN_PARTS
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Remedy
from tfmemlens.patterns import regex

_AS_LIST = next(each for each in TABLE if each.slug == "data-set-as-list").code
_CONVERTED = regex(
    r"\b(?P<what>[\w.]{1,40} ?\([\w., ]{1,60}\))\s?\.astype ?\(\s*['\"]?(?:np\.|tf\.)?float"
    r"|\b(?:[xX]|images?|train|valid|test)_?\w{0,20}(?:, ?\w{1,20}){0,2} ?= ?"
    r"(?P<call>(?:\w{1,20}\.)?(?:load|read|get)_(?:all_)?(?:images|imgs|pictures|videos|frames"
    r"|files)\w{0,12})\("
)
"""What comes of a call for many files: `to_tensor(files).astype("float32")`, `x = load_images(folder)`."""
_THE_SET_ITSELF = Remedy(
    "give the data set itself to fit and evaluate: it is read batch by batch already. A list of it holds"
    " every batch, and in `__getitem__` all of it is read for each batch",
    "model.fit(train_ds)   # no Sequence around it; else: for batch in train_ds: ...",
    slug="one-batch-at-a-time",
)
_IN_UINT8 = Remedy(
    "where one array must be, keep images in it as uint8, and convert each batch: float32 takes four times as"
    " much, and each further step of arithmetic makes one more copy",
    "ds = ds.map(lambda x, y: (tf.cast(x, tf.float32) / 255, y))",
    slug="narrow-array",
)


_H5 = r"(?:h5\w{0,12}|hf\w{0,8}|hdf\w{0,10}|\w{1,16}_(?:h5|hdf5?)|f|fh)"
_OF_HDF5 = regex(
    rf"\b(?P<what>{_H5}\[['\"][\w/ -]{{1,40}}['\"]\])(?:\[(?::|\.\.\.|\(\))\]|\.value\b)"
    rf"|\bnp\.(?:array|asarray)\(\s*(?P<given>{_H5}"
    r"(?:\.get\(['\"][\w/ -]{1,40}['\"]\)|\[['\"][\w/ -]{1,40}['\"]\]))"
)
"""A data set of an HDF5 file, all of it: `f['images'][:]`, `np.array(hf.get('x'))`."""


def _slice_of(dataset: str) -> Remedy:
    return Remedy(
        "leave it in the file, and read the rows of one batch at a time: the data set of h5py is sliced like"
        " an array. No parts and no second file are needed for that; shuffle the order of batches, and keep"
        " each slice in one piece",
        f"x = {dataset}[i:i + 32]   # in a Sequence's __getitem__, or a generator that fit gets",
        slug="map-the-file",
    )


def read_whole(case: Case) -> Grower | None:
    """The first line that does; None where the code shows none."""
    if framework_of(case) != TENSORFLOW:
        return None
    code = code_lines(case.capture.surroundings)
    for line in code:
        if _AS_LIST.search(line.text):
            again = ", again for each batch that is asked for" if reads_a_batch(line, code) else ""
            what = f"the list that {line.place} makes of the whole data set{again}"
            return Grower(what, line, (_THE_SET_ITSELF,), sure=True)
        match = _OF_HDF5.search(line.text)
        if match and not reads_a_batch(line, code):
            dataset = match["what"] or match["given"]
            what = f"`{dataset}` ({line.place}), which is read as a whole into one array"
            return Grower(what, line, (_slice_of(dataset), _IN_UINT8), sure=True)
        match = _CONVERTED.search(line.text)
        if match and not reads_a_batch(line, code):
            made = f"`{match['what']}`" if match["what"] else f"`{match['call']}(...)`"
            what = f"all samples in one array, which {made} makes ({line.place})"
            return Grower(what, line, (DATA_IN_PARTS, _IN_UINT8), sure=True)
    return None
