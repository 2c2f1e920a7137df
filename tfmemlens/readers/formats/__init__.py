"""One format a module: what it looks like, and what it says. There is no list to edit.

A module here whose name has no underscore in front is a reader; its file name is its slug
(`memory_dump.py` is `memory-dump`). It defines

- `HOLDS`, what the format can tell of memory (`model.capture.Holds`): it decides which file of a log
  directory is a traced step, which of several accounts of one step is read, and what the verdict says of an
  input without figures;
- `sniff(sample) -> Confidence`, by the content and never by the name. `sample.binary` and `sample.text` are
  the first 64 KiB, one of them empty; `sample.mentions(b"…")` looks into the whole text, or into places of a
  big one;
- `read(opened, hints) -> Capture`, which may raise UnreadableInput and UsageError. Evidence lines carry
  `opened.label` as their source, which names the file where there are several;

and where it applies

- `SHARED = True`: other formats may stand in the same text. All shared formats that are at least LIKELY
  read, and what they found is joined; without it, the surest format has the whole input to itself;
- `QUOTED = True`, of a shared format: people quote it within a post, so a text of it is read as prose, too;
- `takes(text) -> bool`, of a shared format: whether a line is its own, so that others leave it alone;
- `steps(opened) -> Iterator[Step]`: the traced steps in a file. Without it, a file of a format that holds
  steps is one;
- `run_of(path) -> (name, seconds) | None`: the run whose files, one a host, are one step;
- `join(captures) -> captures`: what becomes of several inputs when one of them is of this format;
- `SUFFIXES`, how its files are usually named: the endings are taken off to get a step's name;
- `COMPANIONS`, endings or whole names of files that are written beside it and tell nothing of memory:
  they are passed over when a directory is read;
- `BESIDE_STEPS`, whole names of files that describe the program and are read with a traced step of their
  directory; of those that a pattern (`bfc_*`) names, the newest.

`keras_models/` keeps the same contract for models that never ran: their captures hold a `network`.
"""
