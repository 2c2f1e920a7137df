"""What a page advises for a server or for another language than Python, and what it leaves out."""

from __future__ import annotations

import pytest

from tests.findings.pages import explained

FULL = (
    "2021-05-04 10:11:12.000001: I tensorflow/core/common_runtime/bfc_allocator.cc:1097]"
    " total_region_allocated_bytes_: 8000000000 memory_limit_: 8000000000 available bytes: 0"
    " curr_region_allocation_bytes_: 16000000000\n"
    "2021-05-04 10:11:12.000002: I tensorflow/core/common_runtime/bfc_allocator.cc:1103] Stats:\n"
    "Limit:                  8000000000\nInUse:                  7900000000\n"
)


def advised(text: str) -> dict[str, str]:
    report = explained(text)
    return {
        each.slug: f"{each.text} {each.code or ''}" for found in report.findings for each in found.remedies
    }


@pytest.mark.parametrize(
    ("head", "slugs"),
    [
        ("# tensorflow-node-gpu runs out of memory", {"tidy"}),
        ("# With many clients TFS runs out of memory", {"smaller-requests", "bound-requests"}),
        ("# OOM in our service, which calls SavedModelBundle", {"close-tensors"}),
        ("# OOM: session->Run( fails after a while", {"close-models"}),
    ],
)
def test_each_program_is_told_what_it_can_do(head: str, slugs: set[str]) -> None:
    found = advised(f"{head}\n\n{FULL}")
    assert slugs <= set(found)
    assert "record-a-step" not in found
    assert not any("python train.py" in text or text.startswith("or ") for text in found.values())


def test_a_server_that_uses_one_of_several_gpus_gets_one_for_each() -> None:
    told = "# With many clients TFS runs out of memory\n\nTFS uses only one GPU, all other GPUs lie idle.\n\n"
    assert "one-server-for-each" in advised(told + FULL)
    assert "one-server-for-each" not in advised(f"# With many clients TFS runs out of memory\n\n{FULL}")


def test_plain_python_is_told_nothing_of_other_programs() -> None:
    found = advised(f"# My Keras training runs out of memory\n\n{FULL}")
    assert not {"tidy", "smaller-requests", "close-tensors", "one-server-for-each"} & set(found)


@pytest.mark.parametrize(
    ("asked", "answered"),
    [
        ("How should I disable pre-allocation with tfgo.NewModel?", True),
        ("How should I disable pre-allocation in Keras?", False),
        ("tfgo.NewModel has no pre-allocation.", False),
    ],
)
def test_growth_is_set_by_the_environment_in_other_languages(asked: str, answered: bool) -> None:
    found = advised(f"# GPU memory is very high\n\n{asked}\n")
    assert ("TF_FORCE_GPU_ALLOW_GROWTH" in found.get("growth-at-first", "")) is answered


def test_a_full_driver_in_node_is_told_to_tidy_first() -> None:
    text = (
        "2023-04-22 18:04:29.623107: W tensorflow/core/framework/op_kernel.cc:1733] RESOURCE_EXHAUSTED:"
        " failed to allocate memory\nError: Invalid TF_Status: 8\n    at run (/app/node_modules/@tensorflow/"
        "tfjs-node-gpu/dist/nodejs_kernel_backend.js:209:43)\n"
    )
    assert explained(text).actions[0].remedy.slug == "tidy"
