"""The sentence of a failed allocation, line by line: what each group and each neighbour says, and no more."""

from __future__ import annotations

import pytest

from tfmemlens.model.capture import Capture
from tfmemlens.model.incident import Argument
from tfmemlens.model.line import Line
from tfmemlens.readers.formats.oom_log import read_lines
from tfmemlens.readers.oom.rules import FIRST, LAST, Era
from tfmemlens.readers.oom.sentence import OomMessage, SentenceCollector

GPU = "/job:localhost/replica:0/task:0/device:GPU:0"
PLAIN = f"OOM when allocating tensor with shape[8,32] and type float on {GPU} by allocator GPU_0_bfc"
BARE = "OOM when allocating tensor with shape[8,32]"


def collected(*lines: str, origin: str = "") -> SentenceCollector:
    """The collector after these lines, blank ones told as such."""
    collector = SentenceCollector()
    collector.origin = origin
    for number, text in enumerate(lines, 1):
        if text:
            collector.offer(Line(number, text))
        else:
            collector.blank()
    return collector


def told(*lines: str, origin: str = "") -> OomMessage:
    """The one message that they tell."""
    (message,) = collected(*lines, origin=origin).finished
    return message


class TestTheSentence:
    @pytest.mark.parametrize(
        "text, shape, dtype, device, allocator",
        [
            (PLAIN, (8, 32), "float32", GPU, "GPU_0_bfc"),
            ("OOM when allocating tensor with shape[]", (), None, None, None),
            ("OOM when allocating tensor with shape[7, 9]", (7, 9), None, None, None),
            ("OM when allocating tensor of shape [7,9] and type half", (7, 9), "float16", None, None),
            ("OOM when allocating tensor with shapedim { size: 4 } dim {size: 3}", (4, 3), None, None, None),
            ("OOM when allocating tensor with shape", None, None, None, None),
            ("OOM when allocating tensor with shape[7] by allocator cpu.", (7,), None, None, "cpu"),
            ("OOM when allocating tensor with shape[7] by allocator Simple allocator", (7,), None, None,
             "Simple allocator"),
        ],
    )  # fmt: skip
    def test_its_words(
        self,
        text: str,
        shape: tuple[int, ...] | None,
        dtype: str | None,
        device: str | None,
        allocator: str | None,
    ) -> None:
        found = told(text)
        assert (found.shape, found.dtype, found.device, found.allocator) == (shape, dtype, device, allocator)
        assert not found.temporary and not found.cut and found.in_python

    def test_a_temporary_tensor(self) -> None:
        assert told(PLAIN.replace("tensor", "temporary tensor")).temporary

    @pytest.mark.parametrize(
        "words, dtype, cut",
        [
            ("and type flo", None, True),
            ("and type string", "string", False),
            ("and type resource", "resource", False),
            ("and type variant", "variant", False),
            (f"and type flo on {GPU}", "flo", False),
            ("and type float", "float32", False),
            ("and type float [Op:Mu", "float32", True),
            ("and type float [Op:Mul]", "float32", False),
            ("and type float Op:Mu", "float32", False),
        ],
    )
    def test_a_sentence_that_was_cut(self, words: str, dtype: str | None, cut: bool) -> None:
        found = told(f"OOM when allocating tensor with shape[8] {words}")
        assert (found.dtype, found.cut) == (dtype, cut)

    @pytest.mark.parametrize(
        "text, era",
        [
            ("OOM when allocating tensor with shapedim { size: 40 }", (FIRST, (0, 7))),
            ("Resource exhausted: OOM when allocating tensor with shape[8]", ((0, 8), (1, 4))),
            ("# Resource exhausted: OOM when allocating tensor with shape[8]", (FIRST, LAST)),
            (
                "My runs often end in Resource exhausted: OOM when allocating tensor with shape[8]",
                (FIRST, LAST),
            ),
            ("训练 Resource exhausted: OOM when allocating tensor with shape[8]", (FIRST, LAST)),
            (
                "OP_REQUIRES failed at a.cc:6 : Resource exhausted: OOM when allocating tensor with shape[8]",
                ((0, 8), (1, 4)),
            ),
            ("OOM when allocating tensor with shape[8]", (FIRST, LAST)),
            ("OOM when allocating tensor with shape[8] x", (FIRST, LAST)),
            ("OOM when allocating tensor with shape[8] and type float", (FIRST, LAST)),
            (f"OOM when allocating tensor with shape[8] on {GPU}", (FIRST, LAST)),
            (PLAIN, ((1, 5), LAST)),
            (f"OP_REQUIRES failed at a.cc:67 : Resource exhausted: {PLAIN}", ((1, 5), (2, 8))),
            (f"OP_REQUIRES failed at a.cc:67 : RESOURCE_EXHAUSTED: {PLAIN}", ((2, 7), LAST)),
            (f"  (0) Resource exhausted:  {PLAIN}", ((1, 14), LAST)),
            (f"  (0) RESOURCE_EXHAUSTED:  {PLAIN}", ((2, 7), LAST)),
            (f"{{{{function_node __wrapped__Mul_device_{GPU}}}}} {PLAIN}", ((2, 9), LAST)),
            (f"{{{{function_node __inference_f_3}}}} {PLAIN}", ((1, 5), LAST)),
        ],
    )
    def test_its_wording_tells_the_version(self, text: str, era: Era) -> None:
        assert told(text).era == era

    def test_who_logged_it(self) -> None:
        kernel = told(f"OP_REQUIRES failed at cwise_op.cc:67 : Resource exhausted: {PLAIN}")
        assert (kernel.kernel, kernel.in_python) == ("cwise_op.cc:67", False)
        logged = told(PLAIN, origin="bfc_allocator.cc")
        assert (logged.kernel, logged.in_python) == (None, False)
        assert told(f"  (2) Resource exhausted:  {PLAIN}").root == 2
        assert told(PLAIN).root is None

    def test_an_eager_op_and_a_function(self) -> None:
        eager = told(f"{{{{function_node __wrapped__Mul_device_{GPU}}}}} {PLAIN} [Op:Mul] name: mul/")
        assert (eager.op, eager.node, eager.function) == ("Mul", "mul", f"__wrapped__Mul_device_{GPU}")
        function = told(f"{PLAIN} [Op:__inference_train_function_669]")
        assert (function.op, function.function) == (None, "__inference_train_function_669")
        assert function.era == ((2, 2), LAST)
        known = told(f"{{{{function_node __inference_f_3}}}} {PLAIN} [Op:__inference_g_4]")
        assert known.function == "__inference_f_3"


class TestTags:
    @pytest.mark.parametrize(
        "tag, node, op, era",
        [
            ("[[Node: a/b = Conv2D[T=DT_FLOAT](x, y)]]", "a/b", "Conv2D", ((0, 5), (1, 11))),
            (
                "[[node a/b (defined at t.py:3)  = Conv2D[T=DT_FLOAT](x)]]",
                "a/b",
                "Conv2D",
                ((1, 12), (1, 12)),
            ),
            ("[[node a/b (defined at t.py:3) ]]", "a/b", None, ((1, 13), (2, 6))),
            ("[[{{node a/b}} = Conv2D[T=DT_FLOAT](x)]]", "a/b", "Conv2D", ((1, 11), (1, 13))),
            ("[[{{node a/b}}]]", "a/b", None, ((1, 12), LAST)),
            ("[[a/b]]", "a/b", None, (FIRST, LAST)),
        ],
    )
    def test_each_era_has_its_own(self, tag: str, node: str, op: str | None, era: Era) -> None:
        sentence = "OOM when allocating tensor with shape[8] and type float"
        below, behind = told(sentence, f"\t {tag}"), told(f"{sentence} {tag}")
        for found in (below, behind):
            assert (found.node, found.op, found.era) == (node, op, era)
        assert collected(tag).era == era  # without a sentence, too
        assert told(f"OP_REQUIRES: {PLAIN}", "x").node is None

    def test_attributes_inputs_and_the_users_line(self) -> None:
        tag = '[[node c (defined at C:\\w\\t.py:31)  = Conv2D[T=DT_FLOAT, data_format="NHWC"](x, w/read)]]'
        found = told(PLAIN, tag)
        assert found.attributes == (("T", "DT_FLOAT"), ("data_format", '"NHWC"'))
        assert found.inputs == ("x", "w/read")
        assert found.source == "C:\\w\\t.py:31"
        library = told(PLAIN, "[[node c (defined at /lib/python3.6/site-packages/keras/a.py:31) ]]")
        assert library.source is None

    def test_the_first_node_counts_and_others_are_kept(self) -> None:
        found = told(PLAIN, "[[{{node a}}]]", "[[{{node a}}]] [[b/PartitionedCall]]", "[[c]]")
        assert (found.node, found.also) == ("a", ["b/PartitionedCall", "c"])
        assert found.caller == "b/PartitionedCall"

    @pytest.mark.parametrize(
        ("message", "receiver", "node"),
        [
            (BARE, "cpu", None),  # was told of the failure of another
            (f"{BARE} and type float on /device:GPU:0 by allocator GPU_0_bfc", "CPU", None),
            (f"{BARE} and type float on /device:CPU:0 by allocator cpu", "CPU", "steps/_7"),
            (BARE, "gpu", "steps/_7"),
        ],
    )
    def test_what_waits_for_a_copy_on_the_cpu(self, message: str, receiver: str, node: str | None) -> None:
        tag = f'[[Node: steps/_7 = _Recv[recv_device="/task:0/{receiver}:0", tensor_type=DT_INT32]()]]'
        found = told(message, tag)
        assert found.node == node
        assert bool(found.attributes) is bool(node)

    def test_a_tag_that_was_cut(self) -> None:
        found = told(PLAIN, '[[Node: conv/Conv2D = Conv2D[T=DT_FLOAT, data_format="NHWC", _devi')
        assert (found.node, found.op) == ("conv/Conv2D", "Conv2D")
        assert found.attributes[:2] == (("T", "DT_FLOAT"), ("data_format", '"NHWC"'))

    def test_the_function_of_a_tag(self) -> None:
        found = told(PLAIN, "\t [[{{function_node __inference_f_3}}{{node a}}]]")
        assert found.function == "__inference_f_3"
        assert told(PLAIN, "\t [[{{function_node cond_true_3}}{{node a}}]]").function is None

    def test_an_op_behind_brackets(self) -> None:
        found = told(PLAIN, "[[{{node a}}]] [Op:Mul] name: b/c/")
        assert (found.node, found.op) == ("a", "Mul")
        assert told(PLAIN, "[[{{node a}} = Add[](x)]] [Op:Mul]").op == "Add"
        assert told(PLAIN, "[[{{node a}} = Add[](x)]]", "[Op:__inference_f_3]", "[Op:Mul]").op == "Mul"


class TestWhatStandsAbove:
    @pytest.mark.parametrize(
        "header, node, era",
        [
            (
                "Detected at node 'm/conv/Relu' defined at (most recent call last):",
                "m/conv/Relu",
                ((2, 4), LAST),
            ),
            (
                "Detected at node m/conv/Relu defined at (most recent call last):",
                "m/conv/Relu",
                ((2, 4), LAST),
            ),
            ("Node: 'm/conv/Relu'", "m/conv/Relu", ((2, 4), LAST)),
            ("Caused by op 'm/conv/Relu', defined at:", "m/conv/Relu", ((1, 5), LAST)),
            ("nothing", None, ((1, 5), LAST)),
        ],
    )
    def test_headers_name_the_node(self, header: str, node: str | None, era: Era) -> None:
        found = told(header, PLAIN)
        assert (found.node_above, found.node, found.era) == (node, None, era)

    @pytest.mark.parametrize(
        "header, layer, era",
        [
            (
                "Exception encountered when calling layer 'd_5' (type Dense).",
                ("d_5", "Dense"),
                ((2, 7), LAST),
            ),
            ("Exception encountered when calling Dense.call().", ("", "Dense"), ((2, 16), LAST)),
            ("nothing", None, ((1, 5), LAST)),
        ],
    )
    def test_headers_name_the_layer(self, header: str, layer: tuple[str, str] | None, era: Era) -> None:
        found = told(header, PLAIN)
        assert (found.keras_layer, found.era) == (layer, era)

    def test_a_header_serves_one_sentence_of_pythons(self) -> None:
        header = "Exception encountered when calling layer 'd_5' (type Dense)."
        first, second = collected(header, PLAIN, PLAIN).finished
        assert (first.keras_layer, second.keras_layer, second.era) == (("d_5", "Dense"), None, ((1, 5), LAST))
        collector = collected(header)
        collector.origin = "bfc_allocator.cc"
        collector.offer(Line(2, PLAIN))
        collector.origin = ""
        collector.offer(Line(3, PLAIN))
        logged, python = collector.finished
        assert (logged.keras_layer, python.keras_layer) == (None, ("d_5", "Dense"))

    def test_an_instruction_of_xla(self) -> None:
        text = (
            '%f = f32[8] mul(), metadata={op_type="Mul" op_name="net/mul" source_file="n.py" source_line=31}'
        )
        found = told(text, PLAIN)
        assert (found.node_above, found.source) == ("net/mul", "n.py:31")
        assert told(text.partition(" source")[0] + "}", PLAIN).source is None

    def test_the_traceback_of_the_exception_tells_what_ran(self) -> None:
        frames = (
            "Traceback (most recent call last):",
            '  File "train.py", line 31, in <module>',
            "    model.fit(x)",
            '  File "/lib/python3.9/site-packages/keras/engine/training.py", line 7, in fit',
            "    step()",
        )
        found = told(*frames, PLAIN)
        assert (found.ran_at, found.source) == (("train.py:31", "model.fit(x)"), None)
        assert found.keras_call == "fit"
        assert told(*frames[1:], PLAIN).ran_at == ("train.py:31", "model.fit(x)")  # without its head
        assert told(*frames[:3], PLAIN).keras_call is None

    def test_frames_below_a_header_tell_what_made_the_op(self) -> None:
        lines = (
            "Traceback (most recent call last):",
            '  File "train.py", line 31, in <module>',
            "    model.fit(x)",
            "Detected at node 'm/mul' defined at (most recent call last):",
            '  File "model.py", line 12, in call',
            "    return a * b",
            PLAIN,
        )
        found = told(*lines)
        assert (found.source, found.source_text) == ("model.py:12", "return a * b")
        assert found.ran_at == ("train.py:31", "model.fit(x)")


class TestWhatStandsBelow:
    made = (
        '  File "net.py", line 5, in build',
        "    y = conv(x)",
        '  File "/lib/python3.9/site-packages/x.py", line 7, in conv',
    )

    def test_what_made_the_op(self) -> None:
        found = told(PLAIN, "Caused by op 'net/conv', defined at:", *self.made)
        assert (found.node, found.source, found.source_text) == ("net/conv", "net.py:5", "y = conv(x)")
        named = told(PLAIN, "[[{{node a}}]]", "Original stack trace for 'net/conv':", *self.made)
        assert (named.node, named.source) == ("a", "net.py:5")

    def test_the_place_in_the_tag_counts_more(self) -> None:
        found = told(PLAIN, "[[node a (defined at t.py:3) ]]", "Original stack trace for 'a':", *self.made)
        assert found.source == "t.py:3"

    def test_what_made_the_forward_op(self) -> None:
        lines = (
            PLAIN,
            "[[node a (defined at t.py:3) ]]",
            "Original stack trace for 'a':",
            '  File "o.py", line 9, in m',
            "    opt.minimize(l)",
            "...which was originally created as op 'net/conv', defined at:",
            *self.made,
        )
        found = told(*lines)
        assert (found.forward_node, found.source) == ("net/conv", "net.py:5")

    @pytest.mark.parametrize(
        "head, era",
        [
            ("Caused by op 'a', defined at:", (FIRST, (1, 14))),
            ("Original stack trace for 'a':", ((1, 14), LAST)),
            ("Function call stack:", ((2, 0), (2, 8))),
            ("My Function call stack:", (FIRST, LAST)),
            ('  File "/lib/python3.7/x.py", line 3, in f', ((1, 13), (2, 11))),
        ],
    )
    def test_heads_and_files_tell_the_version_of_the_log(self, head: str, era: Era) -> None:
        assert collected(head).era == era

    def test_a_session(self) -> None:
        frame = '  File "/x/tensorflow/python/client/session.py", line 3, in run'
        assert collected(frame).session and collected(frame, "run()").session
        assert not collected(self.made[0]).session

    def test_the_hint(self) -> None:
        hint = "Hint: If you want to see a list of allocated tensors when OOM happens, add x."
        eager = hint + " This isn't available when running in Eager mode."
        found = told(PLAIN, hint, hint)
        assert (found.hint, found.era) == (Line(2, hint), ((1, 5), LAST))
        assert told(PLAIN, eager).era == ((2, 5), LAST)
        assert collected(hint).finished == []

    def test_what_the_layer_was_called_with(self) -> None:
        lines = (
            PLAIN,
            'Call arguments received by layer "d" (type Dense):',
            "  \u2022 a=tf.Tensor(shape=(8, None, 32), dtype=float32)",
            "  \u2022 training=True",
            "end",
            "  \u2022 b=tf.Tensor(shape=(9,), dtype=float32)",
        )
        found = told(*lines)
        assert found.arguments == (Argument("a", (8, None, 32), "float32", Line(3, lines[2])),)
        assert found.training is True
        assert told(*lines[:2], "  \u2022 training=False").training is False
        assert told(*lines[:2], "  \u2022 training=None").training is None

    def test_400_lines_later_nothing_belongs_to_it(self) -> None:
        tag = "[[{{node a}}]]"
        assert told(PLAIN, *["x"] * 398, tag).node == "a"
        assert told(PLAIN, *["x"] * 399, tag).node is None


class TestFramesOfOthers:
    def test_cells_of_a_notebook(self) -> None:
        found = told("Cell In[12], line 27", "---> 27 history = model.fit(x)", PLAIN)
        assert found.ran_at == ("In[12]:27", "history = model.fit(x)")
        old = told("<ipython-input-9-1a2b> in <module>", "----> 3 model.fit(x)", PLAIN)
        assert old.ran_at == ("In[9]:3", "model.fit(x)")
        nameless = told("/tmp/ipykernel_42/3541986.py in <module>", "----> 3 model.fit(x)", PLAIN)
        assert nameless.ran_at == ("the cell:3", "model.fit(x)")
        file = told("~/proj/net.py in call(self, x)", "     11 x = 1", "---> 12     return x * y", PLAIN)
        assert file.ran_at == ("~/proj/net.py:12", "return x * y")

    def test_java_and_node(self) -> None:
        library = "\tat org.tensorflow.Session.run(Session.java:595)"
        own = "\tat com.acme.S.predict(S.java:71)"
        outer = "\tat com.acme.S.main(S.java:9)"
        assert told(PLAIN, library, own, outer).source == "S.java:71"
        assert (
            told(PLAIN, "    at /app/node_modules/x.js:4:2", "    at /app/d.js:48:21").source
            == "/app/d.js:48"
        )
        assert told(PLAIN, "[[node a (defined at t.py:3) ]]", own).source == "t.py:3"


TAKEN = (
    "[[{{node a}}]]",
    "[Op:Mul]",
    "Detected at node 'a' defined at (most recent call last):",
    "Traceback (most recent call last):",
    "Node: 'a'",
    '%f = f32[8] mul(), metadata={op_name="net/mul"}',
    "Exception encountered when calling layer 'd' (type Dense).",
    "Exception encountered when calling Dense.call().",
    'Call arguments received by layer "d" (type Dense):',
    '  File "train.py", line 31, in <module>',
    "Cell In[12], line 27",
    "\tat com.acme.S.predict(S.java:71)",
    "Caused by op 'a', defined at:",
    "Original stack trace for 'a':",
    "...which was originally created as op 'a', defined at:",
    "Hint: If you want to see a list of allocated tensors when OOM happens, add x.",
    "0 successful operations.",
    "2 root error(s) found.",
)
"""A line of each kind, as it stands without a sentence."""


class TestWhatIsTaken:
    @pytest.mark.parametrize("text", [PLAIN, *TAKEN])
    def test_a_line_of_its_own_language(self, text: str) -> None:
        assert SentenceCollector().offer(Line(1, text))
        assert collected(PLAIN).offer(Line(2, text))

    @pytest.mark.parametrize(
        "text", ["step 3 loss 0.2", "---> 3 fit()", "  \u2022 a=tf.Tensor(shape=(8,), dtype=int8)"]
    )
    def test_other_lines_are_left(self, text: str) -> None:
        assert not SentenceCollector().offer(Line(1, text))
        assert not collected(PLAIN).offer(Line(2, text))

    def test_what_a_frame_quotes_and_what_a_layer_was_given(self) -> None:
        frame = '  File "train.py", line 31, in <module>'
        assert collected(frame).offer(Line(2, "    step 3 loss 0.2"))
        assert collected(frame).quotes_code and not collected(frame, "x").quotes_code
        assert not collected(frame, "").offer(Line(2, "    step 3 loss 0.2"))
        assert not SentenceCollector().quotes_code
        assert collected("Cell In[12], line 27").offer(Line(2, "---> 27 fit()"))
        arguments = 'Call arguments received by layer "d" (type Dense):'
        assert collected(arguments).offer(Line(2, "  \u2022 training=True"))
        assert not collected(arguments, "end").offer(Line(3, "  \u2022 training=True"))

    def test_a_new_collector_knows_nothing(self) -> None:
        collector = SentenceCollector()
        assert collector.current is None and not collector.session and collector.era == (FIRST, LAST)
        assert collected(PLAIN).current is not None


class TestCreation:
    """What the frames above a sentence say of a weight that is made."""

    made = (
        "Traceback (most recent call last):",
        '  File "net.py", line 5, in build',
        "    self.d = Dense(2048)",
        '  File "/lib/python3.9/site-packages/keras/layers/core/dense.py", line 7, in build',
        "    self.kernel = self.add_weight(",
    )

    def test_of_a_layer(self) -> None:
        found = told(*self.made, PLAIN)
        assert found.creating and not found.updating
        assert found.keras_layer == ("", "Dense")
        header = "Exception encountered when calling layer 'mine' (type Mine)."
        assert told(header, *self.made, PLAIN).keras_layer == ("mine", "Mine")
        assert told(*self.made[:3], PLAIN).keras_layer is None
        assert not told(*self.made[:3], PLAIN).creating

    def test_a_line_that_makes_a_layer_needs_an_op_of_a_first_value(self) -> None:
        fill, relu = (
            f"{{{{function_node __wrapped__{op}_device_{GPU}}}}} {PLAIN}" for op in ("Fill", "Relu")
        )
        assert told(*self.made[:3], fill).creating
        assert not told(*self.made[:3], relu).creating
        header = "Exception encountered when calling layer 'mine' (type Mine)."
        assert not told(header, *self.made[:3], fill).creating

    def test_of_an_optimizer(self) -> None:
        frame = '  File "/lib/python3.9/site-packages/keras/optimizers/adam.py", line 7, in build'
        found = told(*self.made[:3], frame, "    self.add_slot(", PLAIN)
        assert (found.creating, found.updating, found.optimizer) == (True, True, "adam")
        assert told(*self.made, PLAIN).optimizer is None


IN_USER_CODE = """Traceback (most recent call last):
  File "train.py", line 90, in main
    model.fit(seen, truth)
  File "/usr/lib/python3/dist-packages/tensorflow/python/framework/func_graph.py", line 977, in wrapper
    raise e.ag_error_metadata.to_exception(e)
tensorflow.python.framework.errors_impl.ResourceExhaustedError: in user code:

    /home/ann/steps.py:41 train_step  *
        self.optimizer.minimize(loss, self.weights, tape=tape)
    /usr/lib/python3/dist-packages/tensorflow/python/keras/optimizer_v2/adam.py:129 _create_slots
        self.add_slot(var, 'v')
    <string>:3 raise_from

    ResourceExhaustedError: OOM when allocating tensor with shape[4096,1,128] and type float on CPU [Op:Fill]
"""


def test_frames_below_in_user_code_are_read() -> None:
    """TensorFlow 2.0 to 2.4 lists the frames of a tf.function so; the user's deepest is where it was."""
    found = told(*IN_USER_CODE.splitlines())
    assert (found.creating, found.optimizer) == (True, "adam")
    assert found.ran_at[0] == "/home/ann/steps.py:41"


@pytest.mark.parametrize(
    ("tag", "node"), [("[[loss/mul]]", "loss/mul"), ("[[Link](http://a.example/log)]", None)]
)
def test_a_link_in_brackets_names_no_node(tag: str, node: str | None) -> None:
    found = told("ResourceExhaustedError: OOM when allocating tensor with shape[8,8] and type float", tag)
    assert found.node == node


def explain_lines(*texts: str) -> Capture:
    return read_lines(list(enumerate(texts, 1)))


BROKEN = (
    "ResourceExhaustedError (see above for traceback): OOM when allocating tensor with shape",
    "[96,5000] and type float on /job:localhost/replica:0/task:0/device:GPU:0 by allocator ",
    "GPU_0_bfc [[Node: net/logits/MatMul = MatMul",
    '[T=DT_FLOAT, _device="/job:localhost/replica:0/task:0/device:GPU:0"](net/a, net/b)]]',
)


def test_a_sentence_broken_before_its_shape_and_its_node_broken_too() -> None:
    (found,) = explain_lines(*BROKEN).incidents
    asked = found.request
    assert (asked.shape, asked.node, asked.op) == ((96, 5000), "net/logits/MatMul", "MatMul")


def test_brackets_below_a_sentence_without_a_shape_are_not_its_own() -> None:
    (bare,) = explain_lines(BROKEN[0], "[96,5000] is what I expected").incidents
    assert bare.request.shape is None


RAISED_AGAIN = """Traceback (most recent call last):
  File "/usr/lib/python3.9/concurrent/futures/process.py", line 9, in _process_worker
    r = call_item.fn(*call_item.args, **call_item.kwargs)
  File "/home/ann/work.py", line 7, in job
    model.predict(x)
tensorflow.python.framework.errors_impl.ResourceExhaustedError: Graph execution error:

{}

Traceback (most recent call last):
  File "/home/ann/main.py", line 30, in main
    print(future.result())
  File "/usr/lib/python3.9/concurrent/futures/_base.py", line 3, in __get_result
    raise self._exception
tensorflow.python.framework.errors_impl.ResourceExhaustedError: Graph execution error:
"""


@pytest.mark.parametrize(
    ("between", "place"),
    [
        ("The above exception was the direct cause of the following exception:", "/home/ann/work.py:7"),
        ("The second run, of another day:", "/home/ann/work.py:7"),  # the first failure's own place
    ],
)
def test_a_workers_exception_that_is_raised_again_has_the_workers_place(between: str, place: str) -> None:
    (failure,) = explain_lines(*RAISED_AGAIN.format(between).splitlines()).incidents
    assert failure.request.ran_by is None
    assert failure.request.source == place
