"""Programs that many start and few have written, by their files, flags and names: each has settings of its
own for batch, sizes and lengths.
"""

from __future__ import annotations

from tfmemlens.readers.oom.rules import LineRule

DETECTION_API = LineRule(
    r"(?i)\bobject[_ -]?detection[_ ](?:api|tutorial)\b|\bobject_detection[/\\.]|\bpipeline_config_path\b"
    r"|\bpipeline\.config\b|\bmodel_main(?:_tf2)?\.py|\b(?:faster_rcnn|ssd)_\w{3,60}\.config\b"
    r"|\bimage_resizer\b|\bFirstStageFeatureExtractor\b",
    "python train.py --pipeline_config_path=training/faster_rcnn_inception_v2_pets.config",
    'File "/content/models/research/object_detection/model_main_tf2.py", line 106, in <module>',
    "I use the Object Detection API",
    needs=("detection", "pipeline", "model_main", "rcnn", "ssd_", "image_resizer", "firststage"),
)
MATTERPORT = LineRule(
    r"\bIMAGES_PER_GPU\b|\bIMAGE_(?:MIN|MAX)_DIM\b|\bTRAIN_ROIS_PER_IMAGE\b|\bMask_RCNN\b|(?i:matterport)"
    r"|\bmrcnn[/\\.]",
    'File "/home/me/Mask_RCNN/mrcnn/model.py", line 2356, in train',
    "IMAGES_PER_GPU = 2",
    "the implementation by Matterport",
    needs=("images_per", "_dim", "_rois", "mask_rcnn", "matterport", "mrcnn"),
)
DARKFLOW = LineRule(
    r"(?i)\bdarkflow\b|\bflow --(?:model|imgdir)\b|--model cfg/",
    "flow --model cfg/yolo.cfg --load bin/yolo.weights --train",
    needs=("darkflow", "flow --", "cfg/"),
)
DEEP_SPEECH = LineRule(
    r"(?i)\bDeepSpeech\.py\b|\bdeep ?speech\b|\brun-(?:librivox|ldc93s1|swb)\b",
    'File "DeepSpeech.py", line 1737, in <module>',
    needs=("speech", "run-"),
)
TENSOR2TENSOR = LineRule(
    r"(?i)\btensor2tensor\b|\bt2t[-_]\w+|\bhparams_set\b",
    "t2t-trainer --model=transformer --hparams_set=transformer_base_single_gpu",
    needs=("tensor2tensor", "t2t", "hparams"),
)
NMT = LineRule(
    r"\bnmt\.nmt\b|\btensorflow/nmt\b|--(?:src|tgt)=\w+ --|--vocab_prefix\b",
    "python -m nmt.nmt --src=vi --tgt=en --vocab_prefix=/tmp/vocab",
    needs=("nmt", "--src", "--tgt", "--vocab_prefix"),
)
BERT_SCRIPTS = LineRule(
    r"\brun_(?:classifier|squad|pretraining)\w*\.py\b",
    "python run_squad.py --do_train=True --train_batch_size=12",
    needs=("run_",),
)
OPENNMT = LineRule(
    r"(?i)\bonmt-main\b|\bopennmt\b|\bmaximum_(?:features|labels)_length\b",
    "onmt-main --model_type Transformer --config data.yml train",
    "maximum_features_length: 100",
    needs=("onmt", "maximum_"),
)
DEEPLAB = LineRule(
    r"--train_crop_size\b|\bdeeplab[/\\](?:train|eval|vis)\.py",
    'python deeplab/train.py --train_crop_size="513,513" --train_batch_size=4',
    needs=("crop_size", "deeplab"),
)
RETINANET = LineRule(
    r"(?i)\bkeras[-_]retinanet\b|\bretinanet-(?:train|evaluate)\b",
    'File "keras_retinanet/bin/train.py", line 551, in main',
    needs=("retinanet",),
)
STARDIST = LineRule(
    r"(?i)\bstar-?dist|\bpredict_instances(?:_big)?\b",
    "I train a StarDist model in 3D",
    "model.predict_instances(x, n_tiles=(1, 4, 4))",
    needs=("stardist", "star-dist", "predict_instances"),
)
CSB_DEEP = LineRule(
    r"(?i)\bn_tiles\b|\bcsb-?deep\b|\bcryo-?care\b|\b(?:down|up)_level_\d_no_\d",
    "restored = model.predict(volume, axes='ZYX', n_tiles=(1, 4, 4))",
    "[[{{node up_level_0_no_1/convolution}}]]",
    needs=("n_tiles", "csb", "cryo", "_level_"),
)
"""The base of StarDist, CARE, Noise2Void and cryoCARE, which all cut what they predict in the same tiles."""
SHAP = LineRule(
    r"\bshap[/\\]explainers[/\\]_?deep\b",
    "/opt/lib/python3.6/site-packages/shap/explainers/deep/deep_tf.py in run(self, out, inputs, X)",
    needs="shap",
)
"""A frame of its DeepExplainer: what only names the library may have failed elsewhere."""
RASA = LineRule(
    r"(?i)\brasa\b|\bDIETClassifier\b|\bTEDPolicy\b",
    "When running rasa train with 30,000 examples",
    needs=("rasa", "dietclassifier", "tedpolicy"),
)
STYLE_GAN = LineRule(
    r"(?i)\bstyle-?gan(?: ?-?[23])?\b|\bminibatch_gpu_base\b",
    "I train StyleGAN2 at resolution 1024",
    needs=("style", "minibatch_gpu"),
)
STYLE_GAN_1 = LineRule(
    r"\bnetworks_stylegan\.py|\bminibatch_(?:base|dict)\b",
    "'sched_args': {'lod_initial_resolution': 8, 'minibatch_base': 128}",
    needs=("networks_stylegan", "minibatch_"),
)
DEEP_LAB_CUT = LineRule(
    r"(?i)\bdeeplabcut\b|\bpose_cfg\.yaml|\bmaDLC\b|\bDLC (?=\d\.\d)",
    "----> 1 deeplabcut.train_network(config_path, gputouse=0)",
    "Multi animal training in DLC 2.2b5",
    needs=("deeplabcut", "pose_cfg", "dlc"),
)
DEEP_LAB_CUT_APPLIED = LineRule(
    r"(?i)\banaly[sz]e_(?:videos?|time_lapse)|\bAnalyzeVideo\b|\bpredict_(?:videos|multianimal)\b"
    r"|\bvideo analysis\b|\b(?:analy[sz]e|analy[sz]ing) (?:\w+ ){0,3}videos?\b",
    "deeplabcut.analyze_videos(config, videos)",
    "it stops when I analyze a video",
    needs=("analy", "predict_"),
)
"""DeepLabCut finds the animals of a video, and trains nothing."""
AUTOML_DETECTION = LineRule(
    r"--(?:model_name|hparams)=\S{0,60}efficientdet|\befficientdet-d?\d\b|\bautoml[/\\]efficientdet",
    "python main.py --mode=train --model_name=efficientdet-d1 --train_batch_size=8",
    "MODEL=efficientdet-d1",
    needs="efficientdet",
)
GPT_2_SIMPLE = LineRule(
    r"(?i)\bgpt[-_]?2[-_]simple\b|\bgpt2\.(?:finetune|generate)\(",
    "gpt2.finetune(sess, 'corpus.txt', model_name='355M')",
    needs=("gpt2", "gpt-2", "gpt_2"),
)
PPO_OF_BASELINES = LineRule(
    r"\bbaselines[/\\.]ppo2\b|\bnminibatches\b",
    'File "/home/me/baselines/baselines/ppo2/ppo2.py", line 203, in learn',
    needs=("ppo2", "nminibatches"),
)
SLEAP = LineRule(
    r"(?i)(?<![\w-])sleap(?:[-_]train|\.nn|[/\\]|\b(?= (?:\d|model|train|GUI|project)))",
    "sleap-train centroid.json labels.pkg.slp",
    needs="sleap",
)
TFX = LineRule(
    r"(?i)(?<![\w-])tfx(?![\w-])|\btensorflow_model_analysis\b|\btfma\b|\btft_beam\b|\btfx_bsl\b",
    "I made a bert tfx pipeline",
    'File "/usr/lib/python3.8/site-packages/tensorflow_model_analysis/model_util.py", line 758, in setup',
    needs=("tfx", "model_analysis", "tfma", "tft_beam"),
)
SPLEETER = LineRule(
    r"(?i)spleeter",
    "separator = Separator('spleeter:4stems', MWF=True)",
    "SpleeterGUI 2.9.4.0",
    needs="pleeter",
)
SPLEETER_APPLIED = LineRule(
    r"\bspleeter(?:['\"]?,)? ['\"]?separate\b|(?i:\bSpleeter-?GUI\b)|\bfrom spleeter\.separator\b"
    r"|\bseparate_to_file\(|\bSeparator\(['\"]spleeter:|deezer/spleeter(?::\S+)? separate\b"
    r"|(?i:\bspleeter\b)(?=[^\n]{0,200}\b(?:separat\w+|songs?|tracks?|mix\w*|stems?)\b)",
    "spleeter separate -i song.mp3 -p spleeter:4stems -o out",
    "docker run deezer/spleeter separate -o /output mix.mp3",
    "from spleeter.separator import Separator",
    "SpleeterGUI stops at long songs",
    "Spleeter is killed at a track of 50 minutes",
    needs=("spleeter", "separate_to_file"),
)
SPLEETER_FILTER = LineRule(
    r"(?<![\w-])--mwf\b|\bMWF ?= ?True\b|[\"']mwf[\"'] ?: ?true",
    "spleeter separate --mwf song.mp3",
    "separator = Separator('spleeter:4stems', MWF=True)",
    needs=("--mwf", "mwf=", "mwf =", 'mwf"', "mwf'"),
)
SPLEETER_DURATION = LineRule(
    r"(?i)\bspleeter\b[^\n]{0,300}\bseparate\b[^\n]{0,300}\s(?:-d|--duration)[ =]\d{2,6}\b",
    "spleeter separate -d 3600 song.mp3",
    needs="separate",
)
STARDIST_APPLIED = LineRule(
    r"\bpredict_instances\b",
    "labels, details = model.predict_instances(volume)",
    needs="predict_instances",
)
BEHIND_THE_NETWORK = LineRule(
    r"\bNMS\b|(?i:\bnon[- ]?max\w* suppression\b|\bpost[- ]?process\w*)",
    "it happens in the NMS, once the GPU is done",
    "RAM is full in the post-processing",
    needs=("nms", "suppression", "process"),
)
"""Where StarDist's candidates are compared with each other, on the CPU."""
FACESWAP = LineRule(
    r"(?i)(?<![\w-])faceswap(?:\.py)?(?![\w-])|\benough GPU memory available to train the selected model\b",
    "faceswap crashes when I press Train",
    "ERROR    You do not have enough GPU memory available to train the selected model at the selected"
    " settings. You can try a number of things:",
    needs=("faceswap", "gpu memory available to train"),
)
DEEP_FACE_LAB = LineRule(
    r"(?i)\bdeepfacelab\b|\bmodels_opt_on_gpu\b|\bSAEHD\b",
    "==     models_opt_on_gpu: True                       ==",
    "DeepFaceLab 2.0, SAEHD",
    needs=("deepfacelab", "models_opt_on", "saehd"),
)
TAO = LineRule(
    r"\bbatch_size_per_gpu\b|\b(?:tao|tlt) (?:model )?(?:detectnet_v2|yolo_v[34]|ssd|dssd|retinanet|unet"
    r"|faster_rcnn|mask_rcnn|classification\w*) train\b|\btlt-train\b",
    "  batch_size_per_gpu: 16",
    "tao detectnet_v2 train -e /workspace/specs/train.txt",
    needs=("batch_size_per", "tao ", "tlt"),
)
IN_AN_APP = LineRule(
    r"(?i)\bplug-?in[^.\n]{0,30}\b(?:fiji|imagej2?)\b|\b(?:fiji|imagej2?)(?:'s)? (?:\w+ )?plug-?in\b"
    r"|\bde\.csbdresden\.|\bStarDist2D\.java\b",
    "I run the StarDist plugin in Fiji",
    "\tat de.csbdresden.stardist.StarDist2D.run(StarDist2D.java:280)",
    needs=("fiji", "imagej", "csbdresden", "stardist2d"),
)
"""StarDist and CSBDeep as plug-ins of an application with windows, whose users write no Python."""
TOOLS = {
    "tool: faceswap": FACESWAP,
    "tool: DeepFaceLab": DEEP_FACE_LAB,
    "tool: TAO": TAO,
    "in Fiji": IN_AN_APP,
    "applying: Spleeter": SPLEETER_APPLIED,
    "Spleeter: its filter": SPLEETER_FILTER,
    "Spleeter: a duration": SPLEETER_DURATION,
    "applying: StarDist": STARDIST_APPLIED,
    "StarDist: behind the network": BEHIND_THE_NETWORK,
    "tool: Spleeter": SPLEETER,
    "tool: TFX": TFX,
    "tool: DeepLabCut": DEEP_LAB_CUT,
    "applying: DeepLabCut": DEEP_LAB_CUT_APPLIED,
    "tool: automl's EfficientDet": AUTOML_DETECTION,
    "tool: gpt-2-simple": GPT_2_SIMPLE,
    "tool: PPO2 of baselines": PPO_OF_BASELINES,
    "tool: SLEAP": SLEAP,
    "tool: first StyleGAN": STYLE_GAN_1,
    "tool: Rasa": RASA,
    "tool: StyleGAN": STYLE_GAN,
    "tool: Object Detection API": DETECTION_API,
    "tool: Mask R-CNN": MATTERPORT,
    "tool: darkflow": DARKFLOW,
    "tool: DeepSpeech": DEEP_SPEECH,
    "tool: tensor2tensor": TENSOR2TENSOR,
    "tool: nmt": NMT,
    "tool: BERT": BERT_SCRIPTS,
    "tool: OpenNMT-tf": OPENNMT,
    "tool: DeepLab": DEEPLAB,
    "tool: keras-retinanet": RETINANET,
    "tool: SHAP": SHAP,
    "tool: StarDist": STARDIST,
    "tool: CSBDeep": CSB_DEEP,
}
"""What is used, and how a line tells it."""
