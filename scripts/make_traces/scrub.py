"""Take this machine's paths and host name out of a captured run: scrub.py WORK_FOLDER < raw > clean.

Only the directories in front of a known folder go; numbers, node names and messages stay as they were.
"""
import re
import socket
import sys

PATH_START = r"(?<![\w/.])(?:/[^\s/:\"'<>()\[\]{}]+)+?"


def scrub(text, work_folder, host=socket.gethostname()):
    """Return the text with machine paths shortened."""
    text = text.replace(work_folder.rstrip("/") + "/", "").replace(work_folder.rstrip("/"), ".")
    text = re.sub(PATH_START + r"/(?:site|dist)-packages/", "site-packages/", text)
    text = re.sub(PATH_START + r"/(lib/python3\.\d+/)", r"\1", text)
    if len(host) > 3 and host != "localhost":
        text = re.sub(r"\b%s\b" % re.escape(host), "host", text)
    return text


if __name__ == "__main__":
    raw = sys.stdin.buffer.read().decode("utf-8", "surrogateescape")
    sys.stdout.buffer.write(scrub(raw, sys.argv[1]).encode("utf-8", "surrogateescape"))
