"""What a loop that keeps results may do instead: add up, keep numbers, write to disk, forget the oldest."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tfmemlens.findings.support.container_uses import Use, use_of
from tfmemlens.findings.support.program_lines import code_lines
from tfmemlens.findings.support.rows import on_host
from tfmemlens.findings.support.situation import JAX, TENSORFLOW, framework_of
from tfmemlens.model.case import Case, Moment
from tfmemlens.model.finding import Remedy
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex
from tfmemlens.units import human

if TYPE_CHECKING:
    from tfmemlens.findings.support.kept_trees import Kept

_TAPE = regex(r"GradientTape\([^)\n]{0,80}\) as (?P<name>\w{1,40}):")
_ADDS_UP = regex(r"\badd_n\(|\bsum\(|reduce_(?:sum|mean)\(|\bmean\(|tree[._]map\(|\bzip\(\s*\*")
"""Code that wants no more of what was kept than its sum."""
_PICKED = regex(r"\b(?:randint|choice|sample|choices|integers|randrange|permutation|shuffle)\(")
"""Whoever picks among what was kept needs it as it is: a memory of samples."""
_REDUCE = "reduce each result to what you want of it in the end (a mean, a score)"


def instead(case: Case, moment: Moment, keeping: Kept, turns: int | None) -> Iterator[Remedy]:
    """What keeps less of each iteration, best first."""
    if tape := _tape_in(case, keeping):
        yield Remedy(
            f"keep no tape in `{keeping.container}`: `{tape}` holds all outputs of its forward pass until its"
            " gradient is taken. Take it before you keep anything, and scale it later; or keep what the tape"
            " was given, and record it anew when it is wanted",
            f"with tf.GradientTape() as {tape}: ...   # again, from the inputs that you kept",
            slug="no-kept-tape",
        )
        return
    host = on_host(moment)
    whole = keeping.each * keeping.most if keeping.each and keeping.most else None
    whole = keeping.each * (turns // keeping.every) if whole is None and keeping.each and turns else whole
    needs = f": {human(whole)} in all" if whole else ""
    if keeping.most and host:
        yield Remedy(
            f"keep fewer entries in `{keeping.container}` than {keeping.most:,}{needs}, and frames as NumPy"
            " arrays of uint8, a quarter of float32 (on the CPU a plain np.asarray shares the tensor's own"
            " memory)",
            f"{keeping.container}.append(np.array(255 * frame, np.uint8))   # / 255 again when it is sampled",
            slug="smaller-replay",
        )
        return
    if keeping.most:
        yield Remedy(
            f"keep the entries of `{keeping.container}` on the host, as NumPy arrays of a small type (uint8"
            f" for frames){needs}; copy only what is sampled to the device",
            f"{keeping.container}.append(np.asarray(frame, np.uint8))   # no array of the device",
            slug="keep-on-host",
        )
        return
    if keeping.gradients and any(_ADDS_UP.search(text) for text, _ in keeping.uses):
        summed = {line.place for text, line in keeping.uses if _ADDS_UP.search(text)}
        again = [line.place for _, line in keeping.uses if line.place not in summed]
        then = f"; what {again[0]} still wants of each set, compute it again there" if again else ""
        yield Remedy(
            f"add the gradients up as you go: one set of sums instead of all in `{keeping.container}`{then}",
            "total = grads if total is None else [a + b for a, b in zip(total, grads)]"
            if framework_of(case) == TENSORFLOW
            else "total = jax.tree.map(jnp.add, total, grads)",
            slug="keep-numbers",
        )
        return
    if keeping.gradients:
        yield Remedy(
            f"keep only the numbers that you need of them (norms, a running mean), and no gradients in"
            f" `{keeping.container}`",
            f"{keeping.container}.append(float(tf.linalg.global_norm({keeping.value})))"
            if framework_of(case) == TENSORFLOW
            else f"{keeping.container}.append(float(optax.global_norm({keeping.value})))",
            slug="keep-numbers",
        )
        return
    if keeping.weights:
        yield from _of_weights(case, keeping)
        return
    joins = regex(
        rf"\A{re.escape(keeping.container)} = [\w.]+\({re.escape(keeping.container)}(?:, [^()]*)?\)\Z"
    )
    read = use_of(case.capture.surroundings.program(), keeping)
    if read.looked_up:
        yield from _bounded(case, keeping, read, host)
        return
    use = next((each for each in keeping.uses if not joins.search(each[0])), None)
    if use and (_PICKED.search(use[0]) or _is_sampled(keeping, use[0])):
        yield _capped(keeping.container, use[1])
        return
    if read.code:
        yield Remedy(read.says, read.code, slug="reduce-parts")
    elif use:
        yield Remedy(
            f"compute for each result by itself what {use[1].place} wants of all (a mean, a score, a label),"
            " and keep only that",
            slug="reduce-parts",
        )
    elif _is_unread(case, keeping):
        yield Remedy(
            f"leave {keeping.line.place} out: nothing in the code reads `{keeping.container}`; if you look at"
            " it elsewhere, keep a number of each result",
            slug="drop-results",
        )
    else:
        yield Remedy(f"{_REDUCE}, and keep only that", slug="reduce-parts")
    if host:
        yield Remedy(
            f"or write each part to disk instead of into `{keeping.container}`{needs}",
            _to_disk(keeping),
            slug="parts-to-disk",
        )
        return
    there = ", and join them there with np.concatenate or np.stack" if read.joined else ""
    moved = f"np.asarray({keeping.value})" if framework_of(case) == JAX else f"{keeping.value}.numpy()"
    yield Remedy(
        f"or take each result off the device before it is kept, if host RAM has room{there}{needs}",
        f"{_place_in(keeping)}{moved}{'' if _IS_KEYED.match(keeping.line.text) else ')'}",
        slug="keep-numbers",
    )


def _is_sampled(keeping: Kept, text: str) -> bool:
    """Whether a player's memory is read at places that something else chose: `[memory[i] for i in idx]`."""
    name = re.escape(keeping.container)
    chosen = rf"{name}\[(?P<at>\w+)\](?:\[[^\]]*\])? for (?P=at) in (?!range\()"
    return re.search(chosen, text) is not None and _MEMORY.search(keeping.container) is not None


_MEMORY = regex(r"(?i)memor|replay|experience|transition|buffer|pool\b")


def _is_unread(case: Case, keeping: Kept) -> bool:
    """Whether the code, read from its file, names a list nowhere but where it is made and filled."""
    name = re.escape(keeping.container)
    lines = [
        line for line in code_lines(case.capture.surroundings) if re.search(rf"(?<![\w.]){name}\b", line.text)
    ]
    makes = rf"\A\s*(?:[\w.]+\s*,\s*)*{name}\s*(?:,[\w\s,.]*)?(?::[^=]*)?=(?!=)"
    read = [each for each in lines if each != keeping.line and not re.match(makes, each.text)]
    return keeping.container.isidentifier() and bool(keeping.line.source) and len(lines) > 1 and not read


_AVERAGES = regex(r"(?i)\bmean\(|average|\bavg|\bswa\b|\b(?:sum|add_n)\(|/ ?(?:float\()?len\(|\bzip\(\s*\*")


def _last_that_are_read(case: Case, keeping: Kept) -> Remedy | None:
    """Only the newest sets, where the program reads `sets[-3:]` and no other slice."""
    own = rf"(?<![\w.]){re.escape(keeping.container)}"
    tail = rf"{own}\[-(?P<last>(?!1\b)[\w.]{{1,40}}):\]"
    name = rf"{own}(?!\w|\.append\(|\[-1\]|\s*=|:)"
    lines = [line for line in code_lines(case.capture.surroundings) if re.search(name, line.text)]
    found = [(line, match["last"]) for line in lines if (match := re.search(tail, line.text))]
    if len(found) != 1 or len(lines) != 1:
        return None
    line, last = found[0]
    number = last if last.isdecimal() else "n"
    few, where = (number, "") if number == last else ("few", f"; n: `{last}` there")
    return Remedy(
        f"only the last {few} of `{keeping.container}` are read ({line.place}): keep no other",
        f"del {keeping.container}[:-{number}]   # after each append{where}",
        slug="keep-numbers",
    )


def _of_weights(case: Case, keeping: Kept) -> Iterator[Remedy]:
    """Copies of a model's weights: their mean needs one set, the best or the last of them a file."""
    name = keeping.container.rpartition(".")[2]
    program = case.capture.surroundings.program()
    averaged = _AVERAGES.search(name) or any(
        _AVERAGES.search(line.text)
        for statement in program
        for line in statement.lines
        if name in line.text or "zip(*" in line.text
    )
    if tail := _last_that_are_read(case, keeping):
        yield tail
    elif averaged:
        yield Remedy(
            f"keep a running mean of the weights instead of every set in `{keeping.container}`: one set,"
            " however many there were",
            f"mean = w if mean is None else [m + (x - m) / n for m, x in zip(mean, w)]   # w ="
            f" {keeping.value}, the n-th",
            slug="keep-numbers",
        )
    else:
        yield Remedy(
            f"keep the best or the newest set alone, and not every one in `{keeping.container}`",
            f"{keeping.container}[:] = [{keeping.value}]",
            slug="keep-numbers",
        )
    of_jax = framework_of(case) == JAX
    yield Remedy(
        "or write each set to a file, and read those that are needed one at a time",
        "pickle.dump(jax.device_get(params), open(f'epoch{epoch}.pkl', 'wb'))"
        if of_jax
        else "model.save_weights(f'epoch{epoch}.h5')",
        slug="parts-to-disk",
    )


_IS_KEYED = regex(r"\A\s*(?P<place>[\w.]{1,60}\[[^\[\]\n]{1,60}\]\s*=(?!=)\s*)")


def _place_in(keeping: Kept) -> str:
    """What stands before the value: `hist[it] = ` of a dictionary, `hist.append(` of a list."""
    keyed = _IS_KEYED.match(keeping.line.text)
    return keyed["place"] if keyed else f"{keeping.container}.append("


_FEW_ENTRIES = 8


def _bounded(case: Case, keeping: Kept, read: Use, host: bool) -> Iterator[Remedy]:
    """A cache, whose entries are read as they are: no numbers can take their place."""
    name = keeping.container
    few = f"if len({name}) > {_FEW_ENTRIES}: {name}.pop(next(iter({name})))   # behind {keeping.line.place}"
    if read.epoch:
        yield Remedy(
            f"leave `{read.epoch}` out of the key `{read.key}`, where it is stored and where it is looked up,"
            f" if what is kept is the same in each epoch: with it no entry of an earlier epoch is ever read"
            " again; or let the cache forget the oldest",
            few,
            slug="reduce-parts",
        )
    else:
        yield Remedy(
            f"let the cache `{name}` forget the oldest: what is missing is made anew",
            few,
            slug="reduce-parts",
        )
    if not host:
        moved = f"np.asarray({keeping.value})" if framework_of(case) == JAX else f"{keeping.value}.numpy()"
        yield Remedy(
            "or keep its entries on the host, if RAM has room",
            f"{name}[{read.key}] = {moved}",
            slug="keep-on-host",
        )


def _to_disk(keeping: Kept) -> str | None:
    """The kept value as a file, under the program's own name for it."""
    value = keeping.value
    if not value.isidentifier():
        return None
    if keeping.gradients:
        return f"np.savez(f'{value}{{i}}.npz', *{value})   # i: a counter"
    return f"np.save(f'{value}{{i}}.npy', {value})   # i: a counter; later: np.load(name, mmap_mode='r')"


def _capped(container: str, use: Line) -> Remedy:
    """A memory from which samples are drawn forgets the oldest, and lies outside the device."""
    return Remedy(
        f"cap `{container}`, from which {use.place} draws samples: keep the newest, as arrays of NumPy",
        f"{container} = collections.deque(maxlen=1000); {container}.append(np.asarray(x))",
        slug="keep-numbers",
    )


def _tape_in(case: Case, keeping: Kept) -> str | None:
    """The name of a gradient tape that is among what is kept."""
    kept = set(re.findall(r"\w+", keeping.value))
    lines = code_lines(case.capture.surroundings)
    tapes = (match["name"] for line in lines if (match := _TAPE.search(line.text)))
    return next((tape for tape in tapes if tape in kept), None)
