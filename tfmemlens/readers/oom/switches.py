"""What the text shows as set or in use already, so that nobody is advised to do it: code in a traceback, a
command line, a variable of the environment, a message of TensorFlow's.

Advice is no setting: TensorFlow's own hint names a variable that is not set.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from tfmemlens.patterns import regex
from tfmemlens.readers.oom.platforms import PLATFORM, platform
from tfmemlens.readers.oom.programs import PROGRAM, program
from tfmemlens.readers.oom.rules import LineRule, RuleTable, Words
from tfmemlens.readers.oom.table_rows import as_setting

_TO = r"(?:['\"\])]*\s*(?:[=:]|\s)|['\"\])]{1,3}\s*,)\s*['\"]?"
"""Between a name and its value: `=`, `: `, `'] = '`, `", "` of setdefault, a blank of a command line. A comma
behind a bare name is a tuple's, and what follows it no value: `(batch_size, 128)`.
"""
_ADVICE = regex(
    r"\A\s*#(?!SBATCH |PBS |BSUB )"
    r"|(?<!\bI )\btry\b"
    r"|\b(?:do|did|have) you\b"
    r"|\b(?:consider|maybe|perhaps|should|could|can|might|recommend\w*|suggest\w*|instead of)\b"
    r"|variable ['\"]?\Z"
    r"|\bdef (?:fit|evaluate|predict|train|test)(?:_generator|_loop|_on_batch)?\(self\b",
    re.IGNORECASE,
)
_HELD_OUT = r"\b(?:va|val|val_\w+|\w+_val|valid\w*|dev|dev_\w+|test\w*|eval\w*)\b"
"""Names of data that nothing is trained on."""
_TRUE, _FALSE = ("true", "1", "yes", "on"), ("false", "0", "no", "off", "none", "null", "disabled")


def _variable(name: str, example: str, value: str = r"[\w.]*\w") -> LineRule:
    return LineRule(rf"\b{name}{_TO}(?P<value>{value})", example, needs=name)


_RUNS_WELL = (
    r"(?<![a-z\d_.-])(?:works?|worked|(?:runs?|ran|trains?|trained) (?:fine|through|well|ok"
    r"|on (?:an? |my )?(?:single|one|1)(?! of\b))|fits|is fine"
    r"|no (?:more )?(?:errors?|OOM|problems?)|(?:goes|gets) through"
    r"|funktioniert|klappt|l\u00e4uft|geht|funciona|funcion\u00f3"
    r"|fonctionne|marche|funziona|\u0440\u0430\u0431\u043e\u0442\u0430\u0435\u0442"
    r"|\u624d(?:\u80fd|\u53ef\u4ee5)?\u591f?(?:\u8bad\u7ec3|\u8a13\u7df4|\u8dd1|\u8fd0\u884c|\u884c)"
    r"|\u53ef\u4ee5|\u6b63\u5e38|\u6ca1\u95ee\u9898|\u6210\u529f|\u52d5(?:\u304f|\u304d|\u3044\u305f)"
    r"|\ub3d9\uc791|\uc791\ub3d9)"
    r"(?!\W{0,2}(?:\w+ )?(?:nicht|not|pas|kein\w*|nie|never)\b|\ud558\uc9c0|[^\n\u3002]*\u5417)"
)
"""That a run goes well, in words of several languages."""
_NEXT_BATCH = r"\bbatch(?:[_ -]?size)? ?[=:]? ?\d"
"""Another batch, of which the words behind it speak."""
_DENIES = (
    r"(?:\b(?:not|never|neither|none|nicht|kein\w*|ne|pas|\u043d\u0435|nor|hardly|only|would|should|could"
    r"|might|may|OO?Ms?|errors?|fail\w*|crash\w*|out of memory|make)\b"
    r"|n['\u2019]t\b|[\u4e0d\u6c92\u7121]|\u6ca1(?!\u95ee\u9898)|no (?:funci|va\b))"
)
_NOT_FOR_LONG = (
    r"(?!\W+(?:\w+ )?(?:on|in|under|until|till|for (?:a|the first|one|some|\d+)|at first|before"
    r"|the first|only|if)\b)"
)
_WELL = r"(?: (?:is|was|runs|goes))? (?:ok(?:ay)?|fine|works?|fits|runs)\b[ .,;]{0,3}"
"""What follows a batch that goes well, where the same line goes on with one that does not."""
_OF_A_BATCH = r"(?i)\bbatch[^\n]{0,60}?(?<![\d.,(])\b"
_BUT = r"(?:(?:but|while|whereas|and)\b)?[ ,;]{0,3}(?:with |at |even )?"
_SEVERAL = r"\d{1,5}(?:(?:,| and| or|,? and)? ?\d{1,5}){0,6}"
_ENDS_BADLY = r"(?:(?:not|n't) |OOM|out of memory|fail|crash|error|too (?:much|large|big)|die)"
_OF_OTHER_DATA = "".join(
    f"(?<!{name}-)" for name in ("predict", "prediction", "infer", "inference", "eval", "evaluation", "val",
                                 "valid", "validation", "test", "dev")
)  # fmt: skip
"""No flag of another phase's batch stands before it: `--eval-batch-size 16`."""
LOWERED = LineRule(
    r"(?i)\bbatch(?:[ _-]?size)?s?\b[`'\"]?\s{0,2}:?\s{0,2}"
    r"(?P<value>\d{1,5} ?(?:-+>|=+>|\u2192) ?\d{1,5})(?![\d.])(?!\s?[?(])",
    "# out of memory, batch_size 100 -> 32",
    "batch: 64 => 16",
    needs=("atch",),
)
"""What a writer changed, in a comment as a rule."""

SWITCHES: tuple[tuple[str, LineRule], ...] = (
    (
        "tensor_parallel_size",
        LineRule(
            r"\b(?:tensor_parallel_size|tensor-parallel-size|tp[-_]size|ici_tensor_parallelism)[= ]{1,3}"
            r"(?P<value>[2-9]|[1-9]\d{1,3})\b",
            "tensor_parallel_size=8, pipeline_parallel_size=1",
            "--tensor-parallel-size 4",
            needs=("tensor", "tp"),
        ),
    ),
    (
        "failed_batch",
        LineRule(
            rf"{_OF_A_BATCH}\d{{1,5}}{_WELL}{_BUT}(?P<value>{_SEVERAL})"
            rf"(?: is| are| gives?| goes| runs?| all)? {_ENDS_BADLY}",
            ".batch(96); // a small one like 12 is ok, but 24, 48, 96 oom",
            "batch size 16 works, 32 fails with OOM",
            needs="atch",
        ),
    ),
    (
        "failed_batch",
        LineRule(
            r"(?i)\b(?:when|once|if|as soon as|after) (?:I|we) (?:(?:try to|tried to|then|just) )?"
            r"(?:adjust|chang|increas|rais|bump|set|switch|enlarg)\w*\b[^.,;?\n]{0,24}"
            r"\bbatch(?:[ _-]?size)?(?: up)?(?: from \d{1,5})?(?: to| ?=) ?(?P<value>\d{1,5})\b"
            r"(?![.,]\d|k\b|%)"
            r"(?:(?!\b(?:not?|never|without)\b|n't)[^.;?\n]){0,40}?"
            r"\b(?:OOMs?|out of memory|errors?|fails?|crash\w*|exhausted)\b",
            "But when I changed the batch size to 48, I got this OOM error.",
            "as soon as we increase batch_size from 8 to 16 it crashes",
            needs="atch",
        ),
    ),
    (
        "working_batch",
        LineRule(
            rf"{_OF_A_BATCH}(?P<value>\d{{1,5}}){_WELL}(?={_BUT}{_SEVERAL}"
            rf"(?: is| are| gives?| goes| runs?| all)? {_ENDS_BADLY})",
            ".batch(96); // a small one like 12 is ok, but 24, 48, 96 oom",
            "batch size 16 works, 32 fails with OOM",
            needs="atch",
        ),
    ),
    (
        "working_batch",
        LineRule(
            r"(?i)(?<![a-z_])(?:(?:per_device_)?(?:train|mini|micro|global)[_-]?)?batch(?:[_ -]?size)?"
            r"(?: from \d{1,5})?"
            r"(?: (?:down )?(?:to|of|is|at|auf)|\s*(?:=|:|->|\u00e0|\u0434\u043e"
            r"|[\u6539\u8c03\u964d\u8bbe\u51cf\u8abf]?[\u4e3a\u6210\u5230]))?\s*"
            r"(?P<value>\d{1,5})(?![a-z_\d]|[.,]\d|%)"
            rf"(?:(?!{_DENIES}|{_NEXT_BATCH})[^?\n]){{0,40}}?{_RUNS_WELL}(?![a-z])"
            rf"{_NOT_FOR_LONG}(?![^.\n]*\?)"
            rf"|{_RUNS_WELL}(?![a-z])(?:(?!{_DENIES})[^?.\n]){{0,24}}?\b(?:with|at|mit|con|avec)\b"
            r"[^?.,\n]{0,16}?\bbatch(?:[_ -]?size)?(?: (?:of|is|at)| ?[=:])? ?(?P<after>\d{1,5})"
            rf"(?![a-z_\d]|[.,]\d|%){_NOT_FOR_LONG}(?![^.\n]*\?)"
            r"|\bbatch(?:[_ -]?size)? (?:must|has to|had to|needs to|needed to) be"
            r" (?:lowered|reduced|decreased|set|cut)(?: down)? to (?P<least>\d{1,5})\b",
            "2. I set batch_size = 8, then it works, but it is slow",
            "with a batch size of 4 it runs fine",
            "Changing the batch size from 128 to 48 works now",
            "With 2.4.1 the batch size must be lowered to 3",
            "it trains well with batch size 16",
            "mit batch_size=2 l\u00e4uft es",
            "it runs on a single RTX 4090 with batch_size=2",
            "\u628abatch_size=8\u5c31\u53ef\u4ee5",
            needs="atch",
        ),
    ),
    (
        "working_batch",
        LineRule(
            r"(?i)(?<![a-z_])batch(?:[ _-]?size)?[ =:]{1,3}(?P<value>\d{1,5})\)?\s?(?:[:-]|[-=]>|\u2192)\s?"
            r"(?:OK|fine|works|pass(?:es|ed)?|success\w*|\u2713|\u2705)(?![a-z])(?! until| at first| for)",
            "run 3 (batch 16): OK, 10.1 GB of 11 GB used",
            "batch_size=8 -> works",
            needs="atch",
        ),
    ),
    (
        "batch_size",
        LineRule(
            rf"{_OF_OTHER_DATA}(?<!\w)(?:(?:per_device_)?train_?|global_?|mini_?|local_?|total_?)?"
            r"[Bb]atch[_ -]?size"
            r"(?:['\"]{0,2}\s*(?:[=:]|is|of|\s|from)|['\"]{1,2}\s*,)\s*(?:(?<==)['\"])?"
            r"(?:\d{1,6} ?(?:to|->|\u2192) ?)?(?P<value>\d+)L?\b",
            "batch_size=32",
            "--batch_size=8",
            "---> 27 history = model.fit(x_train, y_train, batch_size=64, epochs=10)",
            "'train_batch_size': 16",
            "python train.py --batch-size 64",
            "history <- model %>% fit(x, y, epochs = 10, batch_size = 1024)",
            "When I try to train with input (96, 96, 96, 1) and batch size = 1, it fails",
            "I went from train batch size 12 to 6",
            "with a batch size of 2",
            '--per_device_train_batch_size="256"',
            needs="atch",
        ),
    ),
    (
        "batch_size",
        LineRule(
            r"(?<![\w.])(?:TRAIN_)?BATCH_SIZE(?:['\"]?(?: ?[=:] ?| to | of )|\s{2,40})(?P<value>\d{1,5})\b"
            r"(?!\s*[*+/-])",
            "I set BATCH_SIZE to 4",
            "BATCH_SIZE = 32",
            "BATCH_SIZE                     4",
            needs="BATCH_SIZE",
        ),
    ),
    (
        "batch_size",
        LineRule(
            r"(?:\A|\s)--(?:train[_-]|global[_-]|mini[_-])?batch[ =](?P<value>\d{1,6})(?=\s|\\|\Z)",
            "python -m longctx.train --batch 64 --seq 4096",
            "train.py --epochs=3 --batch=12",
            needs="batch",
        ),
    ),
    (
        "batch_size",
        LineRule(
            r"(?i:\b(?:the |a |mini-?|micro-?|per-device )?batch (?:is|of|=|==) (?:only |just |already )?)"
            r"(?P<value>\d{1,6})\b(?![.,]\d|k\b|M\b|%| (?:tokens|steps|epochs|batches))",
            "the batch is 1 already",
            "I train with a batch of 16 images",
            needs="atch",
        ),
    ),
    (
        "batch_size",
        LineRule(
            r"(?i:\bbatch[ _-]?size (?:(?:that )?(?:I|we) (?:have |am |are )?(?:used?|using|chose|set) )?"
            r"(?:is|was) (?:(?:already|only|just|currently|now) ){0,2}(?:set |fixed )?(?:to |at )?)"
            r"(?P<value>\d{1,5})\b(?![.,]\d)",
            "The batch size that I use is only 8",
            "the batch size is already set to 4",
            needs="atch",
        ),
    ),
    (
        "batch_size",
        LineRule(
            rf"\A(?:(?!{_HELD_OUT}|predict).)*?\.batch\((?:batch_size ?= ?)?(?P<value>\d+)\s*[,)]",
            "model.fit(train.batch(2), validation_data=holdout.batch(16), epochs=60)",
            "ds = ds.shuffle(1000).batch(32, drop_remainder=True).prefetch(2)",
            needs=".batch(",
        ),
    ),
    (
        "batch_size",
        LineRule(
            r"\bmax_batch_size\s*[{:]\s*(?:value\s*:\s*)?(?P<value>[1-9]\d*)",
            "max_batch_size { value: 512 }",
            needs="max_batch_size",
        ),
    ),
    (
        "batch_size",
        LineRule(
            r"\A\s*(?:export )?(?:BS|GLOBAL_BATCH_SIZE|global_batch_size)\s?=\s?"
            r"(?P<value>\d{1,6})\s*(?:#.*)?\Z",
            "BS=256",
            "export GLOBAL_BATCH_SIZE=512",
            needs=("bs", "batch_size"),
        ),
    ),
    (
        "batch_size",
        LineRule(
            r"(?i)\b(?:lower|reduc|decreas|chang|cut|dropp|halv|shrank|shrunk|set|went|mov)(?:ed|d|t|ing)?\b"
            r"[^.?\n]{0,24}\bbatch(?:es|[_ -]?size)?(?: down)? to (?P<value>\d{1,5})\b(?![.,]?\d|%|k\b)"
            r"(?!.*\b(?:same|still|nothing|too|no (?:help|luck|difference|change)|may|might|could|would"
            r"|should|helps?|solve[sd]?|fix(?:e[sd])?|or)\b)"
            r"|\bbatch[_ -]?size (?:auf|\u00e0|a|para|\u0434\u043e|\u043d\u0430) (?P<in_words>\d{1,5})\b"
            r"(?![.,]?\d|%)"
            r"|(?<![a-zA-Z_])batch[_ -]?size ?[\u6539\u8c03\u964d\u8bbe\u51cf\u8abf\u6e1b]\w{0,2}"
            r"[\u6210\u4e3a\u5230\u81f3] ?(?P<in_signs>\d{1,5})\b",
            "So I lowered the batch size to 16 and now I get",
            "Ich habe die batch size auf 8 gesetzt",
            "\u628abatch_size\u6539\u62104",
            needs="atch",
        ),
    ),
    (
        "failed_batch",
        LineRule(
            r"(?i)\A(?=[^\n]{0,400}\b(?:fails?|died|dies|crash\w*"
            r"|same(?! (?:command|code|script|data|model|conf|setting|machine|GPU|image|program))"
            r"|still|no (?:help|difference|luck)|nothing|OO?MM?s?|stuck|errors?|exception|comes up|happens"
            r"|occurs|appears)\b)"
            r"(?=[^\n]{0,400}\b(?:too|also|as well|same|even|still|nothing|tried)\b"
            r"|(?:[^\n]{0,200}?[.!?;] )?(?:So )?(?:When|With) (?:the |a )?batch)"
            r"(?:[^\n]{0,300}[.!?] )?"
            r"(?:(?!\b(?:(?<!I )(?<!we )(?<!to )runs?|works?|fits?|fine|ok|ran)\b)[^\n]){0,300}"
            r"(?<!dev )(?<!test )(?<!val )(?<!validation )(?:\b(?:train_)?"
            r"batch(?:es|(?:[_ -]?size)?s?)\b|\bbs\b)(?: smaller,?)?"
            r"(?:[=: ]| of | ?(?:up ?|down ?)?to ){1,3}\(?"
            r"(?P<value>\d{1,5}"
            r"(?:(?:,? (?:and|or|then|und|y|et) (?:with |even |also )?|, ?|/| -> |->)\d{1,5}){0,6})\b"
            r"(?![.,]?\d|k\b|%)"
            r"(?!.*\b(?:runs?|works?|fits?|fine|ran|goes well|went well)\b)",
            "tried train_batch_size=6 and 4 too, same error with 6 / 4 in front",
            "--batch 8 fails too with the same shape",
            "the same error after reducing the batch_size upto 1",
            "Making the batch smaller, down to 1, gives the same error",
            "smaller batches (512, 256, 64) change nothing",
            "I get this error with a batch size of 8, 4 and with 1 as well",
            needs="atch",
        ),
    ),
    (
        "validation_batch_size",
        LineRule(
            rf"{_HELD_OUT}(?:\s*=[^=,]{{0,80}}?|[\w ]{{0,30}})\.batch\((?:batch_size ?= ?)?"
            r"(?P<value>\d+)\s*[,)]",
            "model.fit(train.batch(2), validation_data=holdout.batch(16), epochs=60)",
            "val_ds = val_ds.batch(8)",
            "train_input_fn uses .batch(64), eval uses .batch(4096)",
            needs=".batch(",
        ),
    ),
    (
        "validation_batch_size",
        LineRule(
            rf"(?:validation|valid|val|eval|test)_batch_?size{_TO}(?P<value>\d+)\b",
            "model.fit(x, y, validation_batch_size=16)",
            "--eval_batch_size=8",
            needs="batch",
        ),
    ),
    (
        "memory_limit",
        LineRule(
            r"\bmemory_limit\s*=\s*(?P<value>\d+)\b",
            "tf.config.LogicalDeviceConfiguration(memory_limit=1024)",
            needs="memory_limit",
        ),
    ),
    (
        "memory_limit",
        LineRule(
            r"(?i)\b(?:cap(?:s|ped|ping)?|limit(?:s|ed|ing)?) (?:(?:the|my|its|each|tensorflow'?s?|tf) ){0,2}"
            r"(?:GPU|card|device|VRAM|video card)s?(?:'s)?(?: memory)?(?: (?:usage|use))? (?:at|to)"
            r" (?P<value>[1-9]\d{2,5})\b(?! ?(?:GB|GiB|G|%|W|watts?|Hz|MHz)\b)",
            "I cap the card at 6144",
            "we limit the GPU memory to 4096 MB",
            needs=("cap ", "caps ", "capped ", "capping ", "limit"),
        ),
    ),
    (
        "lowered_batch",
        LineRule(
            r"(?i)\b(?:lower|reduc|decreas|chang|cut|dropp|set)\w*\b[^.\n]{0,24}"
            r"\bbatch(?:es|(?:[ _-]?size)?s?)\b"
            r"[^.\n]{0,12}\bfrom (?P<value>\d{1,5} to \d{1,5})\b",
            "I lowered batch_size from 16 to 4",
            "reduced the batch size from 64 to 32 and it is the same",
            needs=("atch",),
        ),
    ),
    ("lowered_batch", LOWERED),
    (
        "allow_growth",
        LineRule(
            r"(?:allow_growth\s*=|set_memory_growth\([^)]*?,"
            r"|TF_FORCE_GPU_ALLOW_GROWTH['\"\]]*\s*[=:])\s*['\"]?"
            r"(?P<value>(?i:true|false))\b",
            "config.gpu_options.allow_growth = True",
            "tf.config.experimental.set_memory_growth(gpu, True)",
            "export TF_FORCE_GPU_ALLOW_GROWTH=true",
            needs=("growth",),
        ),
    ),
    (
        "allow_growth",
        LineRule(
            r"(?i)(?<!if )(?<!when )\b(?:(?:have|had|already|also) (?:been )?(?:set|enabled|tried|used|added)"
            r"|even (?:with|after)|(?:I|we) (?:set|enabled|tried|use|used|added)|setting|enabling)\b"
            r"[^.\n=(]{0,40}"
            r"\b(?:memory|allow)[_ ]growth\b(?![^.\n]{0,40}(?:works?|helps?|solve|fix))(?P<value>)",
            "I have already set memory growth, to no avail",
            "it fails even with allow_growth",
            needs=("growth",),
        ),
    ),
    (
        "max_enqueued_batches",
        LineRule(
            r"\bmax_enqueued_batches\W{1,6}(?:value\W{1,4})?(?P<value>\d{1,9})\b",
            " max_enqueued_batches { value: 1000000 }",
            needs="max_enqueued_batches",
        ),
    ),
    (
        "per_process_gpu_memory_fraction",
        LineRule(
            r"per_process_gpu_memory_fraction\s*=\s*(?P<value>\d{0,3}\.?\d{1,9}|\d)",
            "per_process_gpu_memory_fraction=0.5",
            needs="memory_fraction",
        ),
    ),
    (
        "max_workspace_size_bytes",
        LineRule(
            r"\bmax_workspace_size(?:_bytes)?(?:\s*=|\s*:|\s(?:is|was|at|of|to))?\s*"
            r"(?:(?:[Tt]he|my|[a-z]+'s) ){0,2}"
            r"\(?\s*(?P<value>\d{1,13}(?:\s*<<\s*\d{1,2})?)(?![\d.*])"
            r"|MemoryPoolType\.WORKSPACE,\s*(?P<of_pool>\d{1,13}(?:\s*<<\s*\d{1,2})?)(?![\d.*])",
            "trt.create_inference_graph(..., max_workspace_size_bytes=512 << 20)",
            "--max_workspace_size is the script's 4294967296",
            "params = trt.TrtConversionParams(max_workspace_size_bytes=(1 << 30))",
            "config.set_memory_pool_limit(trt.MemoryPoolType.WORKSPACE, 1 << 30)",
            needs=("workspace",),
        ),
    ),
    (
        "TF_GPU_ALLOCATOR",
        _variable("TF_GPU_ALLOCATOR", "os.environ['TF_GPU_ALLOCATOR'] = 'cuda_malloc_async'"),
    ),
    (
        "HSA_OVERRIDE_GFX_VERSION",
        LineRule(
            rf"\bHSA_OVERRIDE_GFX_VERSION(?:{_TO}| (?:is |was )?(?:set )?(?:to|at) ['\"]?)"
            r"(?P<value>\d{1,2}\.\d\.\w)",
            "HSA_OVERRIDE_GFX_VERSION=10.3.0 python train.py",
            "I have HSA_OVERRIDE_GFX_VERSION set to 11.0.0",
            needs="HSA_OVERRIDE_GFX_VERSION",
        ),
    ),
    (
        "XLA_PYTHON_CLIENT_PREALLOCATE",
        _variable("XLA_PYTHON_CLIENT_PREALLOCATE", "XLA_PYTHON_CLIENT_PREALLOCATE=false python train.py"),
    ),
    (
        "XLA_PYTHON_CLIENT_MEM_FRACTION",
        LineRule(
            rf"\bXLA_(?:PYTHON_)?CLIENT_MEM_FRACTION(?:{_TO}| (?:is |was )?(?:set )?(?:to|at) "
            r"|['\"]?\)?\s+(?:gives|is|returns|prints|shows)\s+['\"]?)"
            r"(?P<value>\d*\.?\d+)",
            "export XLA_PYTHON_CLIENT_MEM_FRACTION=.95",
            "XLA_PYTHON_CLIENT_MEM_FRACTION is set to .95 in my profile",
            'Sys.getenv("XLA_PYTHON_CLIENT_MEM_FRACTION") gives "1.00"',
            needs="CLIENT_MEM_FRACTION",
        ),
    ),
    (
        "without_command_buffers",
        LineRule(
            r"--xla_gpu_(?:enable_command_buffer=(?![\w+-])|graph_level=0\b)(?P<value>)",
            'export XLA_FLAGS="--xla_gpu_enable_command_buffer= --xla_dump_to=/tmp/d"',
            "XLA_FLAGS=--xla_gpu_graph_level=0 python train.py",
            needs=("command_buffer", "graph_level"),
        ),
    ),
    (
        "TF_FORCE_UNIFIED_MEMORY",
        LineRule(
            rf"\bTF_FORCE_UNIFIED_MEMORY['\"`]?(?:{_TO}| set to | to )['\"]?(?P<value>1|(?i:true))\b",
            "export TF_FORCE_UNIFIED_MEMORY=1",
            'os.environ.setdefault("TF_FORCE_UNIFIED_MEMORY", "1")',
            "I have 'TF_FORCE_UNIFIED_MEMORY' set to 1",
            needs="FORCE_UNIFIED",
        ),
    ),
    (
        "XLA_PYTHON_CLIENT_ALLOCATOR",
        _variable("XLA_PYTHON_CLIENT_ALLOCATOR", 'os.environ["XLA_PYTHON_CLIENT_ALLOCATOR"]="platform"'),
    ),
    (
        "CUDA_VISIBLE_DEVICES",
        LineRule(
            r"\bCUDA_VISIBLE_DEVICES(?:['\"]\]?\s*[=:,]\s*['\"]|=['\"](?!\s)|=(?!['\"]))"
            r"(?P<value>-1|(?=['\"]|\s|\Z))",
            "CUDA_VISIBLE_DEVICES= python3 train.py",
            "os.environ['CUDA_VISIBLE_DEVICES'] = '-1'",
            'export CUDA_VISIBLE_DEVICES=""',
            needs="CUDA_VISIBLE",
        ),
    ),
    (
        "container_memory",
        LineRule(
            r"(?:\A\s*memory: +|--mem(?:ory)?[= ]|docker run.* -m |\blimits\.memory[=:] ?)"
            r"['\"]?(?P<value>\d{1,7}(?:\.\d+)?(?:[KMGT]i?[Bb]?|[kmg]))\b"
            r"|(?<![\d.=])\b(?P<of>\d{1,4} ?[GT]i?B?) (?:memory |RAM )?limit\b(?!=)",
            "      memory:  12Gi",
            '        memory: "16Gi"',
            "docker run --memory=16g --gpus all train",
            "srun --mem=64G python train.py",
            "#SBATCH --mem=64Gb",
            "it gets OOMKilled (64 Gi limit)",
            "container trainer terminated: OOMKilled, limits.memory=940Gi",
            needs=("memory:", "--mem", "docker run", "limit"),
        ),
    ),
    (
        "max_old_space_size",
        LineRule(
            r"--max[-_]old[-_]space[-_]size[= ](?P<value>\d{3,7})\b",
            "node --max-old-space-size=4096 train.js",
            needs=("old-space", "old_space"),
        ),
    ),
    ("TF_ENABLE_ONEDNN_OPTS", _variable("TF_ENABLE_ONEDNN_OPTS", "export TF_ENABLE_ONEDNN_OPTS=1")),
    (
        "TF_CUDNN_WORKSPACE_LIMIT_IN_MB",
        _variable("TF_CUDNN_WORKSPACE_LIMIT_IN_MB", "export TF_CUDNN_WORKSPACE_LIMIT_IN_MB=256"),
    ),
    ("xla_dump_to", _variable("xla_dump_to", "XLA_FLAGS=--xla_dump_to=/tmp/xla python train.py", r"\S+?")),
    (
        "inter_op_parallelism_threads",
        LineRule(
            r"inter_op_parallelism_threads\s*[=(:]\s*(?P<value>\d+)",
            "tf.config.threading.set_inter_op_parallelism_threads(1)",
            "config = tf.ConfigProto(inter_op_parallelism_threads=1)",
            needs="inter_op_parallelism_threads",
        ),
    ),
    ("jit_compile", _variable("jit_compile", "model.compile('adam', 'mse', jit_compile=True)", "True|False")),
    ("swap_memory", _variable("swap_memory", "tf.nn.dynamic_rnn(cell, x, swap_memory=True)", "True|False")),
    ("drop_remainder", _variable("drop_remainder", "ds = ds.batch(32, drop_remainder=True)", "True|False")),
    (
        "donate_argnums",
        LineRule(
            r"\bdonate_arg(?:num|name)s\s*=\s*(?:[(\[](?=\s*['\"]?\w+['\"]?\s*,?\s*[)\]])\s*)?['\"]?"
            r"(?P<value>[(\[]\s*['\"]?\w+['\"]?(?:\s*,\s*['\"]?\w+['\"]?){1,9}\s*,?\s*[)\]]|\w+)",
            "step = jax.jit(step, donate_argnums=(0, 1))",
            "@partial(jax.jit, donate_argnames='state')",
            needs="donate_arg",
        ),
    ),
    (
        "donate_argnums",
        LineRule(
            r"\bfilter_(?:jit|pmap)\([^#]*\bdonate\s*=\s*['\"]"
            r"(?P<value>(?:all|warn)(?:-except-first)?)",
            "@eqx.filter_jit(donate='all')",
            needs="donate",
        ),
    ),
    (
        "faulthandler",
        LineRule(
            r"\b[Tt]hread 0x[0-9a-f]+ \(most recent call (?P<value>first)\)",
            "Current thread 0x00007f22c8a1d740 (most recent call first):",
            needs="most recent call first",
        ),
    ),
    (
        "program",
        PROGRAM,
    ),
    (
        "jax.devices",
        LineRule(
            r"\b(?P<value>Cpu|Cuda|Gpu|Rocm|Tpu)Device\(id=\d",
            "[CpuDevice(id=0)]",
            "Addressable PjRt-IFRT device: CudaDevice(id=0)",
            needs="Device(id=",
        ),
    ),
    (
        "vendor",
        LineRule(
            r"\b(?P<value>HIP_ERROR|hipError|hipMalloc|MIOpen|DmlAllocator|(?<=device:)DML(?=:\d)|(?i:rocm))",
            "failed to allocate 2.00GiB (2147483648 bytes) from device: HIP_ERROR_OutOfMemory",
            "MIOpen Error: handlehip.cpp:68: Memory not available to allocate buffer: 805306368",
            "/job:localhost/replica:0/task:0/device:DML:0 by allocator DmlAllocator",
            needs=("hip", "miopen", "rocm", "dml"),
        ),
    ),
    (
        "platform",
        PLATFORM,
    ),
    (
        "data_format",
        LineRule(
            r"data_format['\"(]*\s*[=:(]?\s*['\"](?P<value>channels_first)",
            "tf.keras.backend.set_image_data_format('channels_first')",
            "x = tf.layers.conv2d(x, 8, 3, data_format='channels_first')",
            '    "image_data_format": "channels_first",',
            needs="channels_first",
        ),
    ),
    (
        "layout_optimizer",
        LineRule(
            r"layout_optimizer['\"]?\s*[=:]\s*(?:[\w.]*\.)?(?P<value>OFF|False)\b",
            "tf.config.optimizer.set_experimental_options({'layout_optimizer': False})",
            "config.graph_options.rewrite_options.layout_optimizer = rewriter_config_pb2.RewriterConfig.OFF",
            needs="layout_optimizer",
        ),
    ),
    (
        "mixed_precision",
        LineRule(
            r"(?:[Pp]olicy\w*['\"]?\s*(?:\(\s*(?:name\s*=\s*)?|[=:]\s*|(?=\"))"
            r"|\bdtype\s*=\s*)['\"](?P<value>mixed_b?float16)",
            "tf.keras.mixed_precision.set_global_policy('mixed_float16')",
            "policy = mixed_precision.Policy(name=\"mixed_bfloat16\")",
            '<Policy "mixed_float16">',
            "layers.Conv2D(8, 3, dtype='mixed_float16')",
            needs="mixed_",
        ),
    ),
    (
        "mixed_precision",
        LineRule(
            r"Mixed precision compatibility check \((?P<value>mixed_b?float16)\)",
            "Mixed precision compatibility check (mixed_float16): OK",
            needs="compatibility check",
        ),
    ),
    (
        "mixed_precision",
        LineRule(
            r"Converted [1-9]\d*/\d+ nodes to (?P<value>b?float16) precision",
            "Converted 1098/5289 nodes to float16 precision using 2 cast(s) to float16",
            needs=" nodes to ",
        ),
    ),
    (
        "mixed_precision",
        LineRule(
            r"(?:[Mm]ixed[_ ]precision|auto_mixed_precision|AUTO_MIXED_PRECISION"
            r"|\b(?:use_)?(?:amp|fp16|bf16))['\"\]]*\s*[=:]\s*['\"]?"
            r"(?:rewriter_config_pb2\.)?(?:RewriterConfig\.)?"
            r"(?P<value>(?!latest\b)[A-Za-z]\w{0,30}(?![\w.(\[])|[01]\b(?!\.\d))",
            "export TF_ENABLE_AUTO_MIXED_PRECISION=1",
            "python train.py --mixed_precision=bf16",
            "trainer = Trainer(fp16=True)",
            "tf.config.optimizer.set_experimental_options({'auto_mixed_precision': True})",
            needs=("mixed", "amp", "fp16", "bf16"),
        ),
    ),
    (
        "mixed_precision",
        LineRule(
            r"(?:\A|\s)--(?P<value>(?:use_)?(?:fp16|bf16|amp))(?=\s+-|\s*\Z)",
            "python train.py --fp16 --batch 8",
            needs="--",
        ),
    ),
    (
        "mixed_precision",
        LineRule(
            r"(?P<value>enable_mixed_precision_graph_rewrite)\(",
            "opt = tf.train.experimental.enable_mixed_precision_graph_rewrite(opt)",
            needs="enable_mixed_precision_graph_rewrite",
        ),
    ),
    (
        "mixed_precision",
        LineRule(
            r"\b(?:torch_)?dtype\s*=\s*(?:jnp|torch)\.(?P<value>b?float16)\b",
            "x = nn.Dense(1024, dtype=jnp.bfloat16)(x)",
            "model = AutoModel.from_pretrained(name, torch_dtype=torch.bfloat16)",
            needs=("jnp.", "torch."),
        ),
    ),
    (
        "clear_caches",
        LineRule(
            r"\A\s*(?P<value>jax\.clear_(?:caches|backends))\(\)",
            "    jax.clear_caches()",
            needs="clear_",
        ),
    ),
    (
        "recompute",
        LineRule(
            r"\b(?P<value>(?:jax|nn|hk|eqx|keras|ops|linen|flax)\.(?:checkpoint|remat)|(?:tf|layers"
            r"|contrib)\.recompute_grad"
            r"|RematScope|remat_scope|gradient_checkpointing_enable|rematted_computation)\b(?!\.\w)",
            "y = jax.checkpoint(block)(x)",
            "@tf.recompute_grad",
            "with keras.RematScope(mode='full'):",
            "model.gradient_checkpointing_enable()",
            'op_name="jit(step)/jit(main)/transpose(jvp(net))/rematted_computation/dot_general"',
            needs=("checkpoint", "remat", "recompute_grad"),
        ),
    ),
    (
        "recompute",
        LineRule(
            r"(?<![\w.])(?:gradient_checkpointing|use_(?:remat|recompute)|remat(?:_policy)?|recompute_grads?)"
            r"['\"]?\s*[=:]\s*['\"]?(?P<value>(?!(?:f|bf|s|u|pred|c)(?:8|16|32|64)?\[)\w+)",
            "gradient_checkpointing=True",
            "remat_policy: 'full'",
            needs=("gradient_checkpointing", "remat", "recompute"),
        ),
    ),
    (
        "recompute",
        LineRule(
            r"(?<![\w$])(?:[A-Z]+_){0,3}(?:REMAT|REMATERIALIZE|(?:GRADIENT|ACTIVATION)_CHECKPOINTING)"
            r"=['\"]?(?P<value>1|[Tt]rue|TRUE|full)\b",
            "USE_REMAT=1 python train.py --seq_len 4096",
            "export MODEL_GRADIENT_CHECKPOINTING=true",
            needs=("remat", "checkpointing"),
        ),
    ),
    (
        "recompute",
        LineRule(
            r"(?<![\w.-])--?(?P<value>(?:use[-_]|do[-_])?"
            r"(?:remat|recompute|rematerial\w*|gradient[-_]checkpointing))\b"
            r"(?![-_\w]|[ =](?:0|no|none|off|false)\b)",
            "./repro.py --remat --dropout-rate 0.1",
            needs=("-remat", "-recompute", "checkpointing", "_remat", "_recompute"),
        ),
    ),
    (
        "gradient_accumulation",
        LineRule(
            r"(?:\b(?:grad(?:ient)?_accum(?:ulation)?(?:_steps)?|accum(?:ulation|ulate)?_(?:steps"
            r"|grad_batches)"
            r"|every_k_schedule)|Gradient Accumulation steps)"
            rf"{_TO}(?P<value>\d+)",
            "optimizer = keras.optimizers.Adam(1e-3, gradient_accumulation_steps=4)",
            "python train.py --gradient_accumulation_steps 4",
            "  Gradient Accumulation steps = 8",
            "optimizer = optax.MultiSteps(optimizer, every_k_schedule=4)",
            needs=("accum", "every_k"),
        ),
    ),
)  # fmt: skip
"""A setting's name, and how a line shows it; several for what has several ways."""
_SWITCHES = RuleTable(SWITCHES)
_NUMBERS = (
    "container_memory",
    "batch_size",
    "working_batch",
    "failed_batch",
    "validation_batch_size",
    "memory_limit",
    "max_enqueued_batches",
    "max_workspace_size_bytes",
    "lowered_batch",
    "per_process_gpu_memory_fraction",
    "gradient_accumulation",
    "inter_op_parallelism_threads",
    "max_old_space_size",
    "donate_argnums",
)
"""Settings whose 0 and 1 are numbers."""
_WORDS = Words(
    "HSA_OVERRIDE", "old-space", "old_space",
    "atch", "BS=", "BS =", "BATCH_S",
    "CUDA_VIS", "memory:", "--mem", " -m ", "memory_limit", "cap", "Cap", "limit", "rowth", "GROWTH",
    "memory_fraction", "max_workspace", "WORKSPACE",
    "ALLOCAT", "CLIENT_", "ONEDNN", "CUDNN_W", "xla_dump", "inter_op_p", "jit_comp", "swap_mem", "drop_rem",
    "donate_a", "donate=", "channels_f", "layout_opt", "mixed", "Mixed", "nodes to", "PRECISION",
    "fp16", "bf16",
    "amp", "jnp.", "dtype=torch.",
    "Device(", "call first", "org.tens", "Sharp", "low.NET", "Keras.NET", "Tensorflow.", "TFTensor",
    "TFSession",
    "mvn ", "lutter",
    "tfjs", "ow-node", "tf.node.", "TFS", "low.js", "WebGL", "webGL", "webgl", "Chrome", "tf.memory(",
    "TF_CHECK", "tensorflow_mod", "ModelServer", "low_serving", "servable",
    "riton", "Inference Server", "TRTIS", "config.pbtxt", "tensorflow_",
    "TFServing", "TF Serving", "tf-serving", "w/serving:", "ow-serving", "ow Serving", "ow serving",
    "reticulate", "->Run(", "SavedModelB", ".runner()", "ensor.create(", "ensors.create(",
    ".tensorOf(", ".scalarOf(", ".vectorOf(", "TF Java", "TF-Java", "ow Java", "ow-java", "ow java",
    "Java T", "Java p", "Java a", "Java s", "Java t", "ow-core-",
    "ow for Java", "ow in Java", "ow with Java", "/ Java", "/Java",
    "C++ API",
    "NewSession(", "SessionOptions", "ession->", "ession_->",
    "TF_Session", "TF_NewS", "TF_LoadS", "ibtensorflow", "Spring", "ai.djl", "DJL", "Deep Java",
    "WSL", "microsoft-standard", "Tegra", "tegra", "Jetson", "jetson", "JETSON", "NvMap",
    "name: Orin", "name: Xavier",
    " nano", " Nano", "aspb", "RPi", "HIP_", "hip", "MIOpen", "ROCm", "rocm", "DML:", "DmlAlloc",
    "FORCE_UNI", "command_buffer", "graph_level",
    "remat", "Remat", "REMAT", "_CHECKPOINTING", "recompute", "checkpoint", "ccum", "every_k",
    "arallel_size", "arallel-size", "tp-size", "tp_size", "arallelism=", "clear_c", "clear_b",
    "Go heap", "Go bind", "Go run", "Go garb", "Go API", "Go client",
    "o Tensor", "O Tensor", "o tensor", "olang T", "olang t", "low/go", "tfgo.", "LoadSaved",
    "exla", "EXLA", "Livebook", ".livemd", "Elixir ", "Bumblebee.", "Mix.install", "Nx.",
)  # fmt: skip
"""What a line must hold to be looked at closely."""


_OF_A_GUIDE = regex(
    r"(?i)\b(?:documentation|docs?|guide|tutorial|manual|readme|FAQ|website|page)\b"
    r"[^.\n]{0,40}\b(?:mention|say|suggest|recommend|describe|show|propose|list|advise|give)s?\b"
    r"|\b(?:is|are) there (?:a|any) way\b|\b(?:could|can|did) ?(?:n't|not) (?:find|figure out) (?:a "
    r"|any |the |out )?"
    r"(?:way|how)\b|\bhow (?:can|do|could|would|to|should) (?:I|we|one)?\b"
)
_ADVISES_CODE = regex(
    r"(?i)\byou (?:can|could|should|may|might|need to|have to|must) (?:\w+ ){0,2}?"
    r"(?:modify|change|add|set|use|try|insert|put|edit)\b(?! to\b)"
    r"|\b(?:workaround|worked around|fix(?:ed)?|solv(?:ed|es?)|resolv(?:ed|es?))\b[^.\n]{0,40}"
    r"\b(?:adding|setting|using|inserting|putting|by|with)\b[^.\n]{0,40}(?:lines?|code|snippet|this|below)\b"
    r"|\b(?:this|it|that|these|which) (?:should|will|may|might|could) (?:work|help|fix|solve)s?\b"
    r"|\A\W{0,6}(?:the )?(?:solution|fix|workaround|work-around)\b[^.\n]{0,20}:?\W*\Z"
)
"""Prose that announces code as what ends a failure: it was not set in the run that failed."""
_OPENS = regex(r":\s*\Z")
_OF_CODE = regex(
    r"\A(?:\s{2,}|\t)\S|\A[\w.]+(?:\(| ?=[^=])|\A[)\]}]|\A\s*(?:import|from|export|set|#|//)\b|\A\W*\Z"
)


WHERE_IT_RUNS = ("platform", "program")
"""What also a line of advice tells."""


class QuotedGuide:
    """Follows code that prose announces as what a guide says, or as what the writer asks how to do: it is set
    nowhere.
    """

    def __init__(self) -> None:
        self._inside = False

    def holds(self, text: str) -> bool:
        """Whether this line is quoted so; lines are to be given in their order."""
        if (_OF_A_GUIDE.search(text) and _OPENS.search(text)) or _ADVISES_CODE.search(text):
            self._inside = True
        elif self._inside and not _OF_CODE.search(text):
            self._inside = False
        return self._inside


def settings(text: str) -> Iterator[tuple[str, str]]:
    """(name, value) of each setting that a line shows; yes and no as `True` and `False`."""
    if not _WORDS.occur_in(text):
        return
    text, works = _as_the_program_sees_it(as_setting(text)), False
    for name, rule in _SWITCHES.likely(text):
        shown = rule.search(text)
        if shown and name in _PARTS and _ANOTHER_VALUE.match(text, shown.end()):
            continue  # a list of what was tried, and not what the failing run has
        if shown and (rule in (PLATFORM, PROGRAM, LOWERED) or not _ADVICE.search(text, 0, shown.start())):
            works = works or name == "working_batch"
            if name in ("batch_size", "failed_batch") and works:
                continue  # the line says that another batch than the run's goes well
            given = shown["value"] if name not in _NUMBERS else next(filter(None, shown.groups()), "")
            if name == "lowered_batch":
                given = _ARROW.sub(" to ", given)
            yield name, _product(text, shown, given) if name in _NUMBERS else _value(given or "True")


def _as_the_program_sees_it(text: str) -> str:
    """The line without what only carries a variable into a container: a prefix, or a pair of a manifest."""
    return _PAIR.sub(r"\g<name>=", _CARRIED.sub("", text)) if "ENV_" in text or "value" in text else text


_CARRIED = regex(r"\b(?:SINGULARITY|APPTAINER)ENV_(?=[A-Z])")
"""What Singularity and Apptainer take off the name of a variable that a container is to have."""
_PAIR = regex(
    r"['\"]?\bname['\"]?: ?['\"]?(?P<name>[A-Z][A-Z_]{3,40})['\"]?, ?['\"]?value['\"]?: ?(?=['\"]?[\w.])"
)
_ARROW = regex(r" ?(?:-+>|=+>|\u2192) ?")
_FACTORS = regex(r"(?: ?\* ?\d{1,6}){1,4}\b(?![.\w*])")


def _product(text: str, shown: re.Match[str], given: str) -> str:
    """The number that a setting is given, which code may write as a product: `batch = 12*12`."""
    group = shown.lastgroup or "value"
    rest = _FACTORS.match(text, shown.end(group)) if shown[group] == given and given.isdigit() else None
    factors = map(int, rest[0].replace("*", " ").split()) if rest else ()
    return str(math.prod(factors, start=int(given))) if rest else given


_PARTS = ("XLA_PYTHON_CLIENT_MEM_FRACTION", "per_process_gpu_memory_fraction")
_ANOTHER_VALUE = regex(
    r"(?i)[`'\")]{0,3}(?:\s?[,/]\s?(?:(?:and|or) )?|\s(?:and|or|then|to) )(?:also |then |even |with "
    r"|to ){0,2}"
    r"[`'\"]?(?:\d?\.\d|\w+ (?:other|lower|smaller|different) values)"
)
"""`to .20, .50`, `.3 and .5`: a part of the GPU is given several values, one after another."""
_ASKS = regex(
    r"\A[>$#\s]*(?:In \[\d{1,4}\]: )?(?:print\()?"
    r"(?:Sys\.getenv\(|os\.(?:environ(?:\.get)?[\[(]|getenv\()|echo \$|(?:- )?(?P<of>['\"]?)name(?P=of): ?)"
    r"['\"{]?(?P<name>(?:XLA|TF|CUDA|JAX)_[A-Z_]{3,40})['\"}]?[\])]{0,2},?\s*\Z"
)
_ANSWERS = regex(
    r"\A\s*(?:\[1\] |Out\[\d{1,4}\]: |['\"]?value['\"]?: ?)?"
    r"['\"]?(?P<value>[\w.-]{1,20})['\"]?\s*\Z"
)


def asked_for(text: str) -> str | None:
    """The variable of the environment that a line of a console asks for, `Sys.getenv("TF_GPU_ALLOCATOR")`, or
    that a manifest names: `- name: TF_GPU_ALLOCATOR`.
    """
    match = _ASKS.match(text) if "_" in text else None
    return match["name"] if match else None


def answered(name: str, text: str) -> Iterator[tuple[str, str]]:
    """The setting that the next line gives it: `[1] "cuda_malloc_async"`, `value: cuda_malloc_async`."""
    match = _ANSWERS.match(text)
    yield from settings(f"{name}={match['value']}") if match else ()


_VENDORS = {
    "HIP_ERROR": "AMD",
    "hipError": "AMD",
    "hipMalloc": "AMD",
    "MIOpen": "AMD",
    "DmlAllocator": "DirectML",
    "DML": "DirectML",
    "ROCm": "AMD",
    "rocm": "AMD",
}


def _value(text: str) -> str:
    if named := _VENDORS.get(text) or program(text) or platform(text):
        return named
    lowered = text.lower()
    if lowered in _FALSE:
        return "False"
    return "True" if lowered in _TRUE else text
