"""What well-known programs call their settings for batch, sizes and lengths, which their users edit."""

from __future__ import annotations

from typing import NamedTuple

from tfmemlens.findings.support.phase import PREDICTION, other_than_training
from tfmemlens.findings.support.situation import BUILT_IN, TORCH_XLA, framework_of, situation
from tfmemlens.model.capture import Surroundings
from tfmemlens.model.case import Case, Request
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex


class Tool(NamedTuple):
    """A program with its own names for what makes it need less; empty for what it has no setting for."""

    name: str
    batch: str = ""
    images: str = ""
    lengths: str = ""
    boxes: str = ""
    tiles: str = ""
    """How it predicts in parts."""
    queues: str = ""
    """What holds its input in host RAM."""
    instead: str = ""
    """What to do where its users set no batch."""
    results: str = ""
    """What makes its results take less of the host's RAM, where it runs a trained model."""
    model: str = ""
    """What makes the model need less, where neither images nor lengths are settings."""


_TOOLS = (
    Tool(
        "faceswap",
        "`Batch Size` of the Train tab, `-b`",
        model="`Mixed Precision` on (Settings > Train > Global), the trainer's `lowmem`, where it has one,"
        " or a lighter trainer (Lightweight, Original); some need a new model",
    ),
    Tool(
        "DeepFaceLab",
        "`batch_size`, asked for at its start",
        "`resolution`, which needs a new model",
        model="`models_opt_on_gpu` off, which leaves the optimizer in host RAM, `gan_power` 0; in a new model"
        " smaller `ae_dims`, `e_dims` and `d_dims`",
    ),
    Tool(
        "TAO",
        "`batch_size_per_gpu` of `training_config` in the spec file",
        "`output_image_width` and `output_image_height` (`output_width`, `output_height`) in"
        " `augmentation_config` of the spec file, multiples of 16 (32 for some nets)",
    ),
    Tool(
        "the Object Detection API",
        "`batch_size` of `train_config` in the pipeline's config",
        "`image_resizer` in the pipeline's config (`max_dimension` and `min_dimension`, or `height` and"
        " `width`)",
        boxes="`first_stage_max_proposals`, `second_stage_batch_size` in the pipeline's config",
        queues="`batch_queue_capacity` and `prefetch_queue_capacity` of `train_config`, `queue_capacity` of"
        " the input reader",
    ),
    Tool(
        "Mask R-CNN",
        "`IMAGES_PER_GPU` in the config",
        "`IMAGE_MAX_DIM` and `IMAGE_MIN_DIM` in the config, multiples of 64",
        boxes="`IMAGES_PER_GPU` first, as long as it is above 1, then `TRAIN_ROIS_PER_IMAGE`, in the config",
    ),
    Tool("darkflow", "`--batch`", "`width` and `height` in the .cfg, multiples of 32"),
    Tool(
        "DeepSpeech",
        "`--train_batch_size`, `--dev_batch_size`, `--test_batch_size`",
        lengths="drop the longest clips from the CSV files, or split them",
    ),
    Tool(
        "tensor2tensor",
        "`batch_size` in `--hparams`, which counts tokens and not sentences",
        lengths="`max_length` in `--hparams`: longer samples are left out",
    ),
    Tool("nmt", "`--batch_size`", lengths="`--src_max_len` and `--tgt_max_len`"),
    Tool("BERT", "`--train_batch_size`", lengths="`--max_seq_length`"),
    Tool(
        "OpenNMT-tf",
        "`batch_size` in the configuration",
        lengths="`maximum_features_length` and `maximum_labels_length` in the configuration",
    ),
    Tool(
        "DeepLab",
        "`--train_batch_size`",
        "`--train_crop_size` in training, smaller image files in evaluation",
    ),
    Tool(
        "Rasa",
        "`batch_size` of DIETClassifier and TEDPolicy in config.yml",
        queues="`max_ngram` and `max_features` of CountVectorsFeaturizer in config.yml",
    ),
    Tool(
        "the first StyleGAN",
        "`minibatch_base` and the entries of `minibatch_dict` in `sched_args`",
        "a lower resolution of the data set",
    ),
    Tool(
        "StyleGAN",
        "`minibatch_gpu_base` in the training configuration",
        "a lower resolution of the data set, or half of `fmap_base` (16384), which halves the channels of the"
        " large maps",
    ),
    Tool(
        "DeepLabCut",
        "`batch_size` in pose_cfg.yaml, 8 by default for several animals, else 1",
        "`global_scale` in pose_cfg.yaml (0.8 -> 0.4 is a quarter), `max_input_size`, or cropped videos",
    ),
    Tool(
        "automl's EfficientDet",
        "`--train_batch_size`, `--eval_batch_size`",
        "`image_size` in `--hparams`, or the next smaller model: d0 has 512 pixels, d1 640, d2 768",
    ),
    Tool(
        "gpt-2-simple",
        "`batch_size` of finetune, 1 by default",
        model="take the smaller one, '124M' needs a third of '355M'; `only_train_transformer_layers=True` and"
        " `use_memory_saving_gradients=True` of finetune keep less",
    ),
    Tool("PPO2 of baselines", "more `nminibatches`, or fewer `nsteps` x `num_env`"),
    Tool(
        "Spleeter",
        instead="separate shorter parts of the song, by `--duration` and `--offset` or by cutting the file,"
        " or into fewer stems: what counts here are its segments of some 12 seconds, all at once",
    ),
    Tool(
        "TFX",
        instead="bound the batch, which Beam chooses for Evaluator, Transform and BulkInferrer, larger as"
        " long as that is faster: `--tfxio_use_byte_size_batching` among the component's Beam arguments, or"
        " let that step compute on the CPU, `CUDA_VISIBLE_DEVICES=-1`; a Trainer has it in its input_fn",
    ),
    Tool(
        "SHAP",
        instead="give the explainer a smaller background set (`shap.DeepExplainer(model, background[:10])`):"
        " each sample is run beside the whole set, twice its rows at once, forward and backward, however few"
        " samples are explained",
    ),
    Tool("SLEAP", "`batch_size` of the training profile", "`input scaling` of the training profile"),
    Tool("keras-retinanet", "`--batch-size`", "`--image-max-side` and `--image-min-side`"),
    Tool(
        "StarDist",
        "`train_batch_size` of the Config",
        "`train_patch_size` of the Config",
        tiles="`n_tiles=(2, 4, 4)` of predict_instances, one number for each axis",
    ),
    Tool(
        "CSBDeep",
        tiles="a larger `n_tiles` (of `predict`, or in the program's settings), one number for each axis",
    ),
)
_APPLIED = (
    Tool(
        "DeepLabCut",
        "`batch_size` in the project's config.yaml, or `batchsize=` of analyze_videos: pose_cfg.yaml's is the"
        " training's",
        "`cropping=[x1, x2, y1, y2]` of analyze_videos, or a smaller copy of the video"
        " (deeplabcut.DownSampleVideo)",
        results="cut the video into shorter files and analyse them one by one: what it finds in each frame"
        " stays in RAM until the file's end",
    ),
)
"""The same of tools that have other settings where a trained model is run."""
_IN_FIJI = (
    Tool("StarDist", tiles="a larger `Number of Tiles` among the plug-in's advanced options"),
    Tool("CSBDeep", tiles="a larger `Number of tiles` in the plug-in's window"),
)
"""The same of plug-ins with windows."""
_PREFIX, _APPLYING = "tool: ", "applying: "
_SERVES = frozenset({"TensorFlow Serving", BUILT_IN})
_OF_DETECTION = regex(r"FirstStageFeatureExtractor|SecondStage|\bBoxPredictor")
"""Names of nodes that the Object Detection API gives."""

_OF_MASKS = regex(r"\bmrcnn_(?:mask|class|bbox)|\broi_align_(?:mask|classifier)")
"""Names of layers that Mask R-CNN gives."""
_OF_STACKS = regex(r"\bstack\d_(?:enc|dec)\d_(?:conv\d|s\d+_to_s\d)")
"""Names of layers that SLEAP gives."""
_BY_NODES = {"the Object Detection API": _OF_DETECTION, "Mask R-CNN": _OF_MASKS, "SLEAP": _OF_STACKS}


def tool(case: Case) -> tuple[Tool, Line | None] | None:
    """The program that the input names, with the line that names it; None of an unknown one."""
    told = case.capture.surroundings
    if situation(case).program in _SERVES:
        return None  # its settings are those of the training
    elsewhere = told.shows("on a TPU") is not None or framework_of(case) == TORCH_XLA
    for each in _TOOLS:
        if elsewhere and "gpu" in each.batch:
            continue  # another program of the name
        if line := told.shows(_PREFIX + each.name.removeprefix("the ")):
            return _applied(told, each), line
    if explains := _only_explains(told):
        return next(each for each in _TOOLS if each.name == "SHAP"), explains
    asked = case.moments[0].request if case.moments else None
    node = f"{asked.failed.node or ''} {asked.failed.op or ''}" if asked else ""
    name = next((name for name, nodes in _BY_NODES.items() if nodes.search(node)), None)
    return next(((each, asked.failed.line) for each in _TOOLS if asked and each.name == name), None)


def _only_explains(told: Surroundings) -> Line | None:
    """The line that makes a DeepExplainer of SHAP, where nothing in the text trains."""
    line = told.shows("explaining")
    trains = told.shows("fitting") or told.shows("training")
    return line if line and "DeepExplainer(" in line.text and not trains else None


def _applied(told: Surroundings, known: Tool) -> Tool:
    """The tool with the settings that count where the text tells that it runs a trained model."""
    if told.shows("in Fiji"):
        return next((each for each in _IN_FIJI if each.name == known.name), known)
    if told.shows(_APPLYING + known.name) is None:
        return known
    return next((each for each in _APPLIED if each.name == known.name), known)


def in_tiles(case: Case, request: Request) -> str:
    """How such a program predicts in parts, where that is what failed; empty where it is not."""
    known, ran = tool(case), other_than_training(case, request)
    predicts = ran is not None and ran[0] == PREDICTION
    return known[0].tiles if known and predicts else ""


def of_batch(case: Case) -> str:
    """Where such a program's batch is set; empty where that is not known."""
    known = tool(case)
    return f" ({known[0].batch})" if known and known[0].batch else ""


def of_images(case: Case) -> str:
    """What makes images smaller in such a program; empty where that is not known."""
    known = tool(case)
    return f"smaller images: {known[0].images}" if known and known[0].images else ""


def instead_of_a_batch(case: Case) -> str:
    """What users of such a program do who set no batch; empty where that is not known."""
    known = tool(case)
    return known[0].instead if known else ""


def fewer_results(case: Case) -> str:
    """What makes results take less host RAM where such a program runs a trained model; empty where that is
    not known.
    """
    known = tool(case)
    return known[0].results if known else ""
