"""What runs the model, where that is no plain Python program: a server, a browser, Java, C++, R."""

from __future__ import annotations

from tfmemlens.readers.oom.rules import LineRule

PROGRAM = LineRule(
    r"(?P<value>\borg\.tensorflow\b|\bSavedModelBundle\b|\b(?:TF|[Tt]ensor[Ff]low)[- ][Jj]ava\b"
    r"|\bJava [Tt]ensor[Ff]low\b|\btensorflow-core-(?:platform|api|native)\b"
    r"|(?:(?<=\bour )|(?<=\bmy )|(?<=\ba ))Java (?:programm?|app(?:lication)?|service)\b"
    r"|\bTensor[Ff]low (?:for|in|with) Java\b|\bTensor[Ff]low(?:'s)? [\d.]{1,9} ?/ ?Java\b"
    r"|\bSpring ?[Bb]oot\b|\bai\.djl\.|\bDJL\b|\bDeep Java Library\b"
    r"|\.runner\(\)\.(?:feed|fetch|addTarget)\(|\bTensors?\.create\((?:new |\w+[,)])"
    r"|\bT(?:Float(?:16|32|64)|Int(?:32|64)|Uint8|String|Bool)\.(?:tensorOf|scalarOf|vectorOf)\("
    r"|\btfjs-node|\btensorflow-node\b|\btf\.node\.\w|\btensorflow_model_server|\breticulate::"
    r"|\bsession->Run\(|\bTF_CHECK_OK\("
    r"|\bNewSession\(|(?<!tf\.)\bSessionOptions\b|\b_?session_?->(?:Create|Close)\("
    r"|(?<![.\w])TF_(?:SessionRun|NewSession|LoadSessionFromSavedModel)\b(?!\+| ?\(\))"
    r"|\blibtensorflow[-_](?:cpu|gpu)\b"
    r"|(?:(?<=\bin )|(?<=\busing ))(?:the )?(?:[Tt]ensor[Ff]low )?C\+\+ API\b"
    r"|Running gRPC ModelServer|\btensorflow_serving/|servable version|\btensorflow/serving:"
    r"|\b(?i:tritonserver|Triton[- ](?:Inference[- ])?Server|TensorRT Inference Server|TRTIS"
    r"|Triton (?:container|Information))\b"
    r"|\bconfig\.pbtxt\b"
    r"|\btensorflow_(?:savedmodel|graphdef)\b"
    r"|\bTFS\b(?! ?[=:(\[])|\bTF ?Serving\b|\btf[- ]?serving\b(?!\.)|\b[Tt]ensor[Ff]low[- ][Ss]erving\b"
    r"|\b[Tt]ensor[Ff]low\.js\b|@tensorflow/tfjs(?!-node)\b|\btf\.memory\(\)|\b(?i:webgl)\b"
    r"|\bChrome(?:'s)? (?:GPU process|task manager)\b"
    r"|\btfjs(?:-core|-layers)?\b(?!-node)|\bTensorFlowSharp\b|\bTensor[Ff]low\.NET\b|\bKeras\.NET\b"
    r"|\btflite_flutter\w*|\b[Ff]lutter\b|\bmvn (?:clean|install|package|test|verify)\b"
    r"|\busing (?:static )?Tensorflow\b(?= ?[.;])"
    r"|\bTensorflow\.(?:Eager|Contexts|Binding)\.\w|\bTF(?:Tensor|Session)\b"
    r"|\bEXLA\b|\(exla \d|\bLivebook\b|\.livemd\b|\bElixir \d|\bBumblebee\.\w|\bMix\.install\b"
    r"|\bNx\.(?:Serving|Defn|Tensor|default_backend)\b"
    r"|\bGo (?:heap|bindings?|runtime|garbage collector|API|client)\b"
    r"|\b(?:Go|GO|[Gg]olang) [Tt]ensor[Ff]low\b|\btensorflow/go\b|\btfgo\.|\btf\.LoadSavedModel\()",
    "\tat org.tensorflow.Session.run(Session.java:830)",
    "pods that run TF Java code",
    "a Spring Boot service that classifies images with DJL",
    'out = session.runner().feed("x", x).fetch("y").run().get(0);',
    "Tensor<Float> x = Tensor.create(new long[]{1, 64}, FloatBuffer.wrap(row));",
    "try (TFloat32 x = TFloat32.tensorOf(matrix)) {",
    "    at Object.kernelFunc (/app/node_modules/@tensorflow/tfjs-node-gpu/dist/Relu.js:33:24)",
    "C API: TF_SessionRun takes the process down",
    "libtensorflow-cpu-windows 2.4.0, called from our program",
    "a leak of tensorflow-core-platform-gpu 0.4",
    "the Java TensorFlow library grows",
    "OOM in the C++ API",
    "Triton container 22.04",
    'status = session->Run({{"input:0", img}}, {"out:0"}, {}, &outputs);',
    "TF_CHECK_OK(session.Run({{x, values}}, {out}, &outputs));",
    "Successfully loaded servable version {name: ocr version: 7}",
    "docker run --gpus all tensorflow/serving:2.6.0-gpu",
    "a request to TFServing fails",
    "with many clients TFS runs out of memory",
    "it fails with tensorflow-node-gpu",
    "const image = tf.node.decodeImage(bytes);",
    'platform: "tensorflow_savedmodel"',
    "nvcr.io/nvidia/tritonserver:20.03-py3",
    "TensorFlowSharp in a C# service",
    "   at Tensorflow.Eager.EagerRunner.TFE_Execute(Context ctx)",
    "Chrome's GPU process crashes",
    "in the Flutter app it opens and closes an interpreter",
    "run mvn clean install",
    "using static Tensorflow.Binding;",
    "    (exla 0.9.1) lib/exla/executable.ex:18: EXLA.Executable.run/3",
    "the notebook fine_tuning.livemd in Livebook, Elixir 1.16",
    "github.com/tensorflow/tensorflow/tensorflow/go v1.12, in a service of ours",
    "We use the Go TensorFlow API",
    "The Go heap stays small",
    needs=(
        "go heap",
        "go binding",
        "go runtime",
        "go garbage",
        "go api",
        "go client",
        "go tensorflow",
        "golang t",
        "tensorflow/go",
        "tfgo.",
        "tf.loadsaved",
        "org.tensor",
        "savedmodelb",
        "java",
        "flow-core-",
        "c++ api",
        "spring",
        "djl",
        "runner().",
        "r.create(",
        "rs.create(",
        "tensorof(",
        "scalarof(",
        "vectorof(",
        "tfjs-node",
        "tensorflow-node",
        "tf.node.",
        "tfs",
        "tensorflow_",
        "reticulate",
        "session->",
        "session_->",
        "tf_check_ok",
        "newsession",
        "sessionoptions",
        "tf_sessionrun",
        "tf_newsession",
        "tf_loadsession",
        "libtensorflow",
        "modelserver",
        "triton",
        "rt inference server",
        "trtis",
        "config.pbtxt",
        "servable",
        "serving",
        "tfjs",
        "low.js",
        "webgl",
        "chrome",
        "tf.memory",
        "flowsharp",
        "flow.net",
        "keras.net",
        "tensorflow.",
        "using ",
        "mvn ",
        "flutter",
        "tftensor",
        "tfsession",
        "exla",
        "livebook",
        "livemd",
        "elixir ",
        "bumblebee.",
        "mix.install",
        "nx.",
    ),
)
_NAMES = (
    (
        (
            ".runner()",
            "tensor.create(",
            "tensors.create(",
            "tfloat",
            "tint32.",
            "tint64.",
            "tuint8.",
            "tstring.",
            "tbool.",
            "org.tensorflow",
            "savedmodelbundle",
            "tf java",
            "tf-java",
            "tensorflow java",
            "tensorflow-java",
            "java tensorflow",
            "java prog",
            "java app",
            "java service",
            "tensorflow-core-",
            "tensorflow for java",
            "tensorflow in java",
            "tensorflow with java",
            "spring",
            "ai.djl.",
            "djl",
            "deep java library",
            "mvn ",
        ),
        "Java",
    ),
    (("tflite_flutter", "flutter"), "Dart"),
    (("tfjs-node", "tensorflow-node", "tf.node."), "Node"),
    (("tensorflow.js", "@tensorflow/tfjs", "tfjs", "tf.memory", "webgl", "chrome"), "TensorFlow.js"),
    (
        (
            "tensorflow_model_server",
            "running grpc",
            "tensorflow_serving/",
            "servable version",
            "tensorflow/serving",
            "tfserving",
            "tfs",
            "tf serving",
            "tensorflow-serving",
            "tf-serving",
            "tensorflow serving",
        ),
        "TensorFlow Serving",
    ),
    (
        (
            "tritonserver",
            "triton server",
            "triton-server",
            "triton-inference",
            "triton inference",
            "triton container",
            "triton information",
            "tensorrt inference",
            "trtis",
            "config.pbtxt",
            "tensorflow_savedmodel",
            "tensorflow_graphdef",
        ),
        "Triton",
    ),
    (("reticulate",), "R"),
    (
        (
            "session->",
            "tf_check_ok(",
            "_session->",
            "session_->",
            "_session_->",
            "newsession(",
            "sessionoptions",
            "tf_sessionrun",
            "tf_newsession",
            "tf_loadsession",
            "libtensorflow",
            "the c++ api",
            "the tensorflow c++ api",
            "tensorflow c++ api",
            "c++ api",
        ),
        "C++",
    ),
    (
        (
            "tensorflowsharp",
            "tensorflow.net",
            "keras.net",
            "tensorflow.eager",
            "tensorflow.contexts",
            "tensorflow.binding",
            "using tensorflow",
            "using static tensorflow",
            "tftensor",
            "tfsession",
        ),
        "C#",
    ),
    (
        ("exla", "(exla", "livebook", ".livemd", "elixir", "bumblebee", "mix.install", "nx."),
        "Elixir",
    ),
    (("go heap", "go binding", "go runtime", "go garbage", "go api", "go client"), "Go"),
    (("go tensor", "golang t", "tensorflow/go", "tfgo", "tf.loadsavedmodel"), "Go"),
)
"""What a program is called, by how the words that show it begin."""


def program(text: str) -> str | None:
    """The program that words show; None of any other word."""
    small = text.lower()
    return next((name for starts, name in _NAMES if small.startswith(starts)), None)
