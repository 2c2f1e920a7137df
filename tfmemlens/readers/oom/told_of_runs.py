"""What a text tells of how the models of a run share, search and serve: who makes batches, what goes well
alone, which flag helps.
"""

from __future__ import annotations

from tfmemlens.readers.oom.rules import LineRule

GAUSSIAN_PROCESS = LineRule(
    r"\b(?i:gpflow|gpytorch|gpjax)\.models\.(?:GPR|VGP)\b|\bGaussianProcess(?:Regress\w+|Classif\w+)?\("
    r"|\bmodels?\.(?:GPR|VGP)\(|\bGPR\(|(?i:\bgpflow(?:'s)? (?:GPR|VGP)\b)|\bgp_?gpr\b"
    r"|(?i:\bexact (?:GPs?|gaussian process\w*)\b)"
    r"|\btf\.(?:linalg\.)?(?:cholesky|inv|matrix_inverse|slogdet|self_adjoint_eig\w*)\(",
    "L = tf.linalg.cholesky(K + noise * tf.eye(n))",
    "m = gpflow.models.GPR((X, Y), kernel=k)",
    "gp = tfd.GaussianProcess(kernel, index_points=x)",
    "we fit an exact GP to all stations",
    "gpflow GPR with the optimizer of tfp",
    needs=("gp", "gaussian", "cholesky", "inv(", "inverse(", "slogdet(", "self_adjoint"),
)
"""A Gaussian process that holds the covariance of all points, and no sparse one; or a line that factorises or
inverts such a matrix."""
BATCHED_BY_A_LIBRARY = LineRule(
    r"\b(?:RunInference|BulkInferrer|run_inference|BatchElements|ModelHandler)\b|\bEvaluator\("
    r"|\btensorflow_model_analysis\b|\btft_beam\b"
    r"|@serve\.batch\b|\bdynamic_batching\b|(?i:\btriton (?:inference )?server\b)",
    "predictions = examples | RunInference(handler)",
    "TFX's BulkInferrer on Dataflow",
    "evaluator = Evaluator(examples=example_gen.outputs['examples'], model=trainer.outputs['model'])",
    "dynamic_batching { max_queue_delay_microseconds: 100 }",
    needs=(
        "inference",
        "evaluator",
        "model_analysis",
        "tft_beam",
        "bulkinferrer",
        "batchelements",
        "modelhandler",
        "serve.batch",
        "dynamic_batching",
        "triton",
    ),
)
"""A library joins examples or requests to the batch that a model is given."""
_BY_ITSELF = (
    r"(?:alone|on its own|on their own|by itself|by themselves|separately|individually|one at a time)"
)
EACH_ALONE = LineRule(
    r"(?i)\b(?:each|every|any|either|all|both)(?: one)?\b(?: (?:of )?(?:(?:the|my|these|those) )?(?:them"
    r"|one|two"
    r"|three|four|models?|nets?|networks?|detectors?|graphs?|sessions?))*,? (?:\w+ )?(?:works?|runs?|fits?"
    r"|goes|loads?"
    rf"|is|are)\b(?! not| n)(?: (?:ok|okay|fine|well|good|perfectly|just))*,? {_BY_ITSELF}\b"
    rf"|\b(?:each|every|any|either|all|both) (?:one |model |net |network )?(?:of (?:them|these|the models) )?"
    rf"{_BY_ITSELF} (?:works?|runs?|fits?|loads?|is|are)\b(?! not| n)"
    rf"|\b{_BY_ITSELF},? (?:each|every|all|both)(?: (?:of (?:them|the models)|one|model|net|network))? "
    r"(?:works?|runs?|fits?|loads?|is|are)\b(?! not| n)",
    "Each of them alone works.",
    "each model works fine on its own",
    "Alone each one runs",
    needs=("alone", "own", "itself", "themselves", "separately", "individually", "one at a time"),
)
"""Of several models each goes well where no other is loaded."""
SEVERAL_MODELS = LineRule(
    r"(?i)\b(?:two|three|four|five|six|several|multiple|many|both|[2-9])\b(?: [\w-]+){0,3}? (?:models"
    r"|detectors|nets"
    r"|networks|classifiers|sessions|graphs|SavedModels)\b",
    "Three detectors are loaded",
    "I load 2 frozen graphs",
    needs=("models", "detectors", "nets", "networks", "classifiers", "sessions", "graphs"),
)
INTEGRATED = LineRule(
    r"(?i)\b(?:integrated (?:GPU|graphics)|i-?GPU|APU|Vega (?:[368]|1[01])\b|Iris (?:Xe|Plus)|UHD"
    r" (?:Graphics )?\d{3}"
    r"|Radeon(?:\(TM\))? Graphics\b)",
    "AMD Vega 8 (laptop)",
    "an integrated GPU",
    needs=("integrated", "gpu", "apu", "vega", "iris", "uhd", "graphics"),
)
"""A GPU that has a part of the machine's RAM."""
AUTOKERAS = LineRule(
    r"(?i)\bauto-?keras\b|\bak\.(?:\w+(?:Classifier|Regressor|Forecaster)|AutoModel)\b",
    "clf = ak.ImageClassifier(max_trials=10)",
    "What is AutoKeras doing?",
    needs=("keras", "ak."),
)
"""AutoKeras searches, which builds its models itself."""
AFTER_TRIALS = LineRule(
    r"(?i)\b(?:after|past|behind) (?:the (?:last|final)|all(?: (?:the|of the|\d{1,3}))?) (?:\w+ )?trials?\b"
    r"|\ball (?:(?:the|of the|my) )?(?:\w+ )?(?:trials )?(?:finish|complete|succeed|are done|are through"
    r"|went well)"
    r"|\bfinal (?:fit|training)\b|\btrials?\b[^.\n]{0,40}\b(?:are|is) (?:all )?(?:done|finished|complete)\b",
    "What is it doing after the last trial?",
    "All eight finish and a table is printed",
    "the trials are done, then it trains again",
    needs=("trial", "all ", "final "),
)
"""It happened when all trials of a search were done."""
WORKS_WITH_A_FLAG = LineRule(
    r"(?i)(?:\A|[\s`'\"(])--(?!\w+[ =]?\w*:\s*\Z)[a-z][\w-]{1,30}(?:[ =][\w.]{1,20})?[`'\")]{0,2},?"
    r" (?:(?:it|this|that|everything|all) )?(?:is|are|works?|worked|runs?|ran|fits?|trains?|goes)"
    r" (?:(?:just|all|perfectly|well|quite) )?(?:ok(?:ay)?|fine|good|well|without (?:a |any )?(?:problem"
    r"|error"
    r"|issue)s?|through)\b",
    "--light True is ok.",
    "with `--small` it works fine",
    "--tiny=1 runs without problems",
    needs="--",
)
"""A flag of the program with which, as the text says, the same goes through."""
TOLD_OF_RUNS = {
    "works with a flag": WORKS_WITH_A_FLAG,
    "AutoKeras": AUTOKERAS,
    "after the trials": AFTER_TRIALS,
    "each model alone": EACH_ALONE,
    "several models": SEVERAL_MODELS,
    "an integrated GPU": INTEGRATED,
    "batching by a library": BATCHED_BY_A_LIBRARY,
    "an exact Gaussian process": GAUSSIAN_PROCESS,
}
"""What is told, and how a line tells it."""
