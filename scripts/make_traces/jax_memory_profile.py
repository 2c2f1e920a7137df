"""What a small JAX training holds, as save_device_memory_profile writes it: jax_memory_profile.py FILE."""
import gzip
import sys

import jax
import jax.numpy as jnp

WIDTH = 1024


def make_params():
    return [jnp.ones((WIDTH, WIDTH)) for _ in range(6)]


def make_slots(params):
    return [jnp.zeros_like(weight) for weight in params for _ in range(2)]


def make_batch():
    return jnp.zeros((512, 4096))


@jax.jit
def loss(params, batch):
    return sum(weight.sum() for weight in params) + batch.sum()


params = make_params()
slots = make_slots(params)
batch = make_batch()
history = [loss(params, batch) for _ in range(3)]
jax.block_until_ready(history)
jax.profiler.save_device_memory_profile(sys.argv[1])


def varint(raw, at):
    value = shift = 0
    while True:
        value |= (raw[at] & 127) << shift
        shift, at = shift + 7, at + 1
        if raw[at - 1] < 128:
            return value, at


def encoded(value):
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def scrubbed(raw):
    """The profile without this machine's folders: field 6 of profile.proto is its table of strings."""
    out, at = bytearray(), 0
    while at < len(raw):
        start = at
        tag, at = varint(raw, at)
        value, at = varint(raw, at)
        if tag & 7 == 2:
            text, at = raw[at : at + value], at + value
            if tag >> 3 == 6:
                library = text.find(b"site-packages/")
                text = text[library:] if library >= 0 else text.rpartition(b"/")[2]
                out += encoded(tag) + encoded(len(text)) + text
                continue
        out += raw[start:at]
    return bytes(out)


with open(sys.argv[1], "rb") as file:
    profile = gzip.decompress(file.read())
with open(sys.argv[1], "wb") as file:
    file.write(gzip.compress(scrubbed(profile), mtime=0))
