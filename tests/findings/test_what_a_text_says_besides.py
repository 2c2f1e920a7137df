"""What a text says beside its failure: ranks on one card, a loss of nan, a machine without a GPU."""

from __future__ import annotations

import pytest

from tests.findings.logs import oom
from tests.findings.test_what_is_no_batch import explained, slugs

CREATED = (
    "[1,{rank}]<stderr>:Created TensorFlow device (/job:localhost/replica:0/task:0/device:GPU:0 with"
    " {mb} MB memory) ->"
    " physical GPU (device: 0, name: Tesla P100-PCIE-16GB, pci bus id: 0000:{bus}:00.0, compute"
    " capability: 6.0)\n"
)
SOFT = (
    "Allocator (GPU_0_bfc) ran out of memory trying to allocate 1.14GiB with freed_by_count=0. The"
    " caller indicates"
    " that this is not a failure, but may mean that there could be performance gains if more memory"
    " were available.\n"
)


def ranks(second_bus: str, second_mb: int, code: str = "config = tf.ConfigProto()") -> str:
    failure = oom("64,112,112,64", "resnet/conv1/Conv2D").replace("tensorflow.", "[1,1]<stderr>:tensorflow.")
    created = CREATED.format(rank=0, mb=15214, bus="04")
    created += CREATED.format(rank=1, mb=second_mb, bus=second_bus)
    return f"{created}{failure}\n    {code}\n"


def test_ranks_on_one_card_are_told_with_the_line_that_pins_none() -> None:
    told = explained(ranks("04", 311))
    assert "2 ranks (1,0, 1,1) opened the same GPU, pci bus id 0000:04:00.0, and rank 1,1" in told.verdict
    assert "without visible_device_list" in told.verdict
    assert "visible_device_list = str(hvd.local_rank())" in (told.actions[0].remedy.code or "")
    pinned = explained(ranks("04", 311, "config = tf.ConfigProto(gpu_options=g(visible_device_list='0'))"))
    assert "opened the same GPU" in pinned.verdict and "without visible" not in pinned.verdict


@pytest.mark.parametrize(("bus", "mb"), [("05", 311), ("04", 15000)])
def test_ranks_on_cards_of_their_own_or_of_other_machines_are_not(bus: str, mb: int) -> None:
    assert "opened the same GPU" not in explained(ranks(bus, mb)).verdict


def test_a_loss_of_nan_is_no_matter_of_memory() -> None:
    assert (
        "the loss is nan (line 1) has another cause than memory"
        in explained("step 3 loss nan\n" + SOFT).verdict
    )
    assert slugs("step 3 loss nan\n" + SOFT) == ["find-the-nan"]
    assert slugs("step 3 loss 0.2, Nancy\n" + SOFT) == []


@pytest.mark.parametrize(
    ("said", "asked"),
    [
        ("My laptop has no GPU.", False),
        ("pip install tensorflow-cpu==2.9", False),
        ("There is no GPU memory left", True),
        ("It needs 16 GB", True),
    ],
)
def test_who_has_no_gpu_is_not_asked_for_it(said: str, asked: bool) -> None:
    told = slugs(
        f"{said}\nterminate called after throwing an instance of 'std::bad_alloc'\n  what():  std::bad_alloc"
    )
    assert ("check-the-device" in told) is asked


COPY = (
    "InternalError: Failed copying input tensor from /job:localhost/replica:0/task:0/device:CPU:0 to"
    " /job:localhost/replica:0/task:0/device:GPU:0 in order to run _EagerConst: Dst tensor is not"
    " initialized.\n"
)


@pytest.mark.parametrize(
    ("stated", "named"),
    [
        (
            "x_train.shape (52000, 192, 192, 3) float64",
            "`x_train` [52000,192,192,3] of line 1, 42.85 GiB as float64",
        ),
        ("X: (52000, 192, 192, 3)", "`X` [52000,192,192,3] of line 1, 21.42 GiB as float32"),
        ("kernel (3, 3, 64, 64)", ""),
        ("x (52000, 192, 192, 3), z (90000, 160, 160, 3)", ""),
    ],
)
def test_the_array_that_was_copied_is_the_one_that_the_text_states(stated: str, named: str) -> None:
    verdict = explained(f"{stated}\n{COPY}").verdict
    assert named in verdict and (("a whole array" not in verdict) is bool(named))


@pytest.mark.parametrize(("name", "ids"), [("all_logits", True), ("queue", False)])
def test_steps_keep_what_was_chosen_and_not_all_classes(name: str, ids: bool) -> None:
    text = (
        f'Traceback (most recent call last):\n  File "gen.py", line 6, in generate\n'
        f"    {name} = tf.concat([{name}, x], axis=1)\n" + oom("8,1023,32000", "concat")
    )
    assert (slugs(text)[0] == "reduce-parts") is ids


def test_the_size_that_a_command_asks_for_is_named() -> None:
    text = "python style.py --image-size 3000\n" + oom("1,64,2000,3000", "vgg/conv1_2/Conv2D")
    assert "one image of 2000 x 3000 (line 1 asks for 3000)" in explained(text).verdict
    assert "asks for" not in explained(text.replace("3000\n", "300\n")).verdict
