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
SERVED = LineRule(
    r"(?i)(?<!feature )(?<!pull )\brequest(?:s|ed|ing)?\b|:predict\b|\bpredict(?:s|ed|ing|ions?)?\b"
    r"|\bclients?\b"
    r"|\binfer(?:ence|ences|ring)?\b|\bquer(?:y|ies|ying)\b|\btraffic\b|\bload[- ]test|\bQPS\b|\bbatch"
    r"|\bcall(?:s|ed|ing)? (?:the |its |this )?(?:API|server|endpoint|model)\b",
    "it crashes when I send a request to the server",
    "curl -d @x.json http://localhost:8501/v1/models/m:predict",
    needs=("request", "predict", "client", "infer", "quer", "traffic", "load", "qps", "batch", "call"),
)
"""Something was asked of a server, which had loaded its model by then."""
MANY_SERVED = LineRule(
    r"(?i)\bbatch|\bconcurren|\bparallel|\bsimultaneous|\bat (?:once|the same time)\b|\btraffic\b"
    r"|\bload[- ]test"
    r"|\bstress|\bQPS\b|\bper (?:second|minute)\b|\b(?:many|several|multiple|more|large|big|huge|\d{2,7})"
    r" (?:\w+ ){0,2}(?:requests|clients|users|images|examples|instances|sentences|texts|rows|samples|threads"
    r"|payloads?|inputs?)\b",
    "we send 64 images in one request",
    "with 20 concurrent clients",
    needs=(
        "batch", "concurren", "parallel", "simultan", "at once", "same time", "traffic", "load", "stress",
        "qps", "per second", "per minute", "requests", "clients", "users", "images", "examples", "instances",
        "sentences", "texts", "rows", "samples", "threads", "payload", "input",
    ),
)  # fmt: skip
"""Much was asked of a server at once."""
CLIENT_DIED = LineRule(
    r"(?i)\b(?:OOM|error|exception|crash\w*|bad_alloc|failure)\b[^.\n]{0,40}\b(?:on|in|at|by|from)"
    r" (?:the |my |our )?client\b(?!'s| requests?)"
    r"|\bclient (?:process |program |side |itself )?(?:crash|die[sd]|abort|ran out|runs out"
    r"|(?:is|was) killed)",
    "the failure is seen on the client, when it sends 300 rows",
    "our client crashes, and the server goes on",
    needs="client",
)
"""The process that sends requests is the one that died."""
RELEASE = LineRule(
    r"(?i)(?:\bserving|\bmodel ?server)\b[^\d\n]{0,40}(?<![\d.])v?[12]\.\d{1,2}(?:\.\d{1,2})?(?![\d.]*\d)",
    "docker run tensorflow/serving:2.8.2",
    "**TensorFlow Serving version**: 2.5.1",
    needs=("serving", "server"),
)
"""Which release of the server runs."""
INFERS = LineRule(
    r"(?i)(?<!type )(?<!shape )(?<!variational )(?<!bayesian )(?<!causal )(?<!Triton )(?<!TensorRT )"
    r"(?<!posterior )(?<!statistical )(?<!probabilistic )(?<!amortized )(?<!MCMC )"
    r"\b(?:inferenc(?:e|es|ing)|inferring)\b(?!_)(?! net(?:work)?s?\b)(?!.*\btrain)",
    "Inference takes minutes with this model",
    "that is 4 GB in a single inference",
    needs=("inferenc", "inferring"),
)
"""A model is asked for results, in words that say nothing of a training."""
LEARNS = LineRule(
    r"(?i)\b(?:pre-?|re-?)?train(?:s|ing)?\b|\bfine-?tun\w+|\bbackwards? (?:pass|step)|\bback-?prop\w*"
    r"|\bgradients?\b|(?<!graph )(?<!layout )(?<!memory )(?<!grappler )\boptimi[sz]er\b"
    r"|\badamw?\b|\bsgd\b|\bepochs?\b|\bloss(?:es)?\b(?! of)|\blearning rate\b",
    "the backward pass runs out of memory",
    "after the third epoch",
    "pretraining needs more",
    needs=(
        "train",
        "tun",
        "backward",
        "back-prop",
        "backprop",
        "gradient",
        "optimi",
        "adam",
        "sgd",
        "epoch",
        "loss",
        "learning",
    ),
)
"""A word of what learns: beside it, a line on inference does not make a text one of inference alone."""
ONE_CALL = LineRule(
    r"(?i)\b(?:exhaust\w*|out of memory|OOMs?|fill(?:s|ed)?|full|crash(?:es|ed)?|takes? all)\b[^.\n]{0,40}"
    r"\b(?:in|on|at|by|with|during|after|for) (?:just |only |even )?(?:a |the |its |my )?"
    r"(?:single|first|very first|one) (?:inference|predict\w*|call|image|picture|photo|frame|run)\b(?! time)",
    "that is 4 GB exhausted in a single inference",
    "it is out of memory at the first prediction",
    needs=("inference", "predict", "call", "image", "picture", "photo", "frame", "run"),
)
"""One call is enough to fill the memory: nothing that calls leave behind is the reason."""
_STAGE = (
    r"(?:creat|build|construct|initiali[sz]|load|restor|compil|defin|instantiat|sett)ing(?: up)?(?: up| the"
    r"| a| pre-?trained| from)*"
)
_OF_A_MODEL = r"(?:model|network|net|graph|weights|checkpoint|VGG\w*|ResNet\w*|generator|discriminator)"
MAKES_THE_MODEL = LineRule(
    rf"(?i)\A\W{{0,4}}(?:\[[^\]\n]{{1,30}}\]|[\d:. ,-]{{8,30}}|INFO\b:?)?\W{{0,4}}{_STAGE}"
    rf" (?:[\w-]{{1,20}} ){{0,2}}{_OF_A_MODEL}\b(?: [\w./-]{{1,60}}){{0,3}}\s*(?:\.{{2,4}}|\u2026|:|\Z)",
    "[i] Building the model...",
    "Loading pretrained weights from vgg16.npy ...",
    "INFO: Constructing generator network",
    "12:01:33 - Restoring checkpoint",
    needs=("model", "net", "graph", "weights", "checkpoint", "vgg", "ator"),
)
"""What a program prints as it begins to make or load its model."""
ONE_PROMPT = LineRule(
    r"\bprompt ?= ?f?[\"'][^\"'\n]{3,300}[\"']\s*,?\s*\)?\s*\Z",
    '    prompt="a cup of tea, oil on canvas",',
    needs="prompt",
)
"""A pipeline makes what one text asks for."""
BETWEEN_PROCESSES = LineRule(
    r"\bmultiprocessing[/\\](?:synchronize|heap|shared_memory|queues)\.py\b|\bSemLock\.__init__\("
    r"|_multiprocessing\.SemLock\b",
    '  File "/usr/lib/python3.8/multiprocessing/synchronize.py", line 59, in __init__',
    "    sl = self._semlock = _multiprocessing.SemLock(",
    needs=("multiprocessing", "semlock"),
)
"""Python makes a lock or shared memory for several processes, which lie in /dev/shm."""
TOLD_OF_SERVERS = {
    "made between processes": BETWEEN_PROCESSES,
    "one call fills it": ONE_CALL,
    "making the model": MAKES_THE_MODEL,
    "one prompt": ONE_PROMPT,
    "inferring in words": INFERS,
    "learning in words": LEARNS,
    "a server's release": RELEASE,
    "a release that aborts": ABORTS,
    "an empty result": EMPTY_RESULT,
    "a served call": SERVED,
    "many served calls": MANY_SERVED,
    "the client died": CLIENT_DIED,
}
