"""Write a RunMetadata in TensorFlow's own text format: as_text.py OUTPUT INPUT. Runs in an environment with TensorFlow."""
import sys

from google.protobuf import text_format
from tensorflow.core.protobuf import config_pb2


def main(output, source):
    metadata = config_pb2.RunMetadata()
    with open(source, "rb") as raw:
        metadata.ParseFromString(raw.read())
    with open(output, "w") as out:
        out.write(text_format.MessageToString(metadata))


if __name__ == "__main__":
    main(*sys.argv[1:])
