"""Cleaning of text to and from the model."""

import json
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from evennia_ai.core.text.cleaning import (
    LONGEST_CLEANED,
    clean_speech,
    cut_at_sentence,
    one_line,
    quote,
    sendable,
    strip_control,
    without_thoughts,
)
from tests.core.samples import ANY_CHARACTER, ANY_TEXT

PIECES = (
    *("<think>", "</think>", "<reasoning>", "</THINKING>", "<tool_call>", "</tool_call>"),
    *("[THINK]", "<|channel|>", "<|start|>a", "<|channel|>final<|message|>", "<|end|>"),
    *("<|im_end|>", "```json\n", "```", '{"tool": "say"}', '{"tool": "s', '{"lamp": 1}'),
    *("Ada: ", "Ada says, ", "**Ada**: ", '"', "«", "»", "“", "”", "*", "hello", ". "),
    *("\n", "\n\n\n", "\t", "\r\n", "\u2028", "\u200b", "\x00", "\ud800"),
)
MODEL_TEXT = st.lists(st.sampled_from(PIECES) | ANY_CHARACTER, max_size=12).map("".join)


@pytest.mark.parametrize(
    ("said", "text"),
    [
        pytest.param("Hello there.", "Hello there.", id="plain speech"),
        pytest.param("", "", id="nothing"),
        pytest.param("", " \n\t ", id="blanks"),
        pytest.param("Hello.", "<think>he greets me</think>Hello.", id="thoughts"),
        pytest.param("Hello.", "<THINKING>\nhm\n</THINKING>\n\nHello.", id="thoughts in capitals"),
        pytest.param("Hello.", "he greets me</think>Hello.", id="thoughts that were begun before"),
        pytest.param("Hello.", "one</think>two</think>Hello.", id="thoughts in two steps"),
        pytest.param("", "<think>he greets me", id="thoughts cut off"),
        pytest.param("Hello.", "Hello.<thi\u200bnk>hidden", id="a tag with a hidden blank"),
        pytest.param("Hello.", '<tool_call>{"name": "say"}</tool_call>Hello.', id="a call in tags"),
        pytest.param("Hello.", "Hello.<|im_end|>", id="a template's mark"),
        pytest.param("Hello.", "Hello.\n<|im_end|>\nTom: Hi!", id="another's turn made up"),
        pytest.param("Hello.", "Hello.</s> ", id="the mark of Llama 2 and Mistral"),
        pytest.param("Not <s>old</s> new.", "Not <s>old</s> new.", id="a word struck out"),
        pytest.param("Hello.", "Hello.<end_of_turn>\nuser\nHi!", id="the same of Gemma"),
        pytest.param("Hello.", "<|im_end|>Hello.", id="an end before the beginning"),
        pytest.param("Hello.", "Hello.\n```json\n{}\n```", id="a fence"),
        pytest.param("Hello.", '{"tool": "say", "args": {}} Hello.', id="a call, then speech"),
        pytest.param("Hello.", '{"tool": 1}\n{"name": 2}\nHello.', id="two calls, then speech"),
        pytest.param("", '{"tool": "say", "args": {"mess', id="a call cut off"),
        pytest.param('{"lamp": "lit"}', '{"lamp": "lit"}', id="other JSON is speech"),
        pytest.param("{smiles} Hello.", "{smiles} Hello.", id="braces are speech"),
        pytest.param("Hello.", "Ada: Hello.", id="her name before it"),
        pytest.param("Hello.", "**ada:** Hello.", id="her name in bold"),
        pytest.param("Hello.", "**Ada**: Hello.", id="her name in bold alone"),
        pytest.param("Hello.", 'Ada says, "Hello."', id="as a game would show it"),
        pytest.param("Hello.", "Ada whispers: “Hello.”", id="as a whisper would be shown"),
        pytest.param("Hello.", 'Ada whispers to Tom Reed, "Hello."', id="with the listener's name"),
        pytest.param("Ada says to go, Tom.", "Ada says to go, Tom.", id="only a name is left out"),
        pytest.param("Hello.", 'Ada: Ada: "«Hello.»"', id="all of it twice"),
        pytest.param("Ada, at your service.", "Ada, at your service.", id="her name in speech"),
        pytest.param("Adam: Hello.", "Adam: Hello.", id="the name of another"),
        pytest.param('"Yes" or "no"?', '"Yes" or "no"?', id="quotes inside"),
        pytest.param('"Yes", "no"', '"Yes", "no"', id="quotes around parts"),
        pytest.param('"', '"', id="a quote alone"),
        pytest.param('""', '""', id="empty quotes"),
        pytest.param("one two", "one \t  two", id="blanks become one"),
        pytest.param("one two", "one\ttwo", id="a tab parts words"),
        pytest.param("one\ntwo", "one\rtwo", id="a carriage return parts lines"),
        pytest.param("one\n\ntwo", "one \r\n\r\n\r\n\r\n two", id="at most one empty line"),
        pytest.param("red", "\x1b\u202er\x00e\u200bd", id="control and invisible characters"),
        pytest.param("red", "\x1b[1;31mred\x1b[0m\x1b[4z", id="a terminal's colours"),
        pytest.param("گل\u200cسر", "گل\u200cسر", id="a joiner that Persian needs"),
        pytest.param("👩\u200d🚀 ❤\ufe0f", "👩\u200d🚀 ❤\ufe0f", id="joined emoji"),
    ],
)
def test_clean_speech(said: str, text: str) -> None:
    assert said == clean_speech(text, speaker="Ada")


@given(MODEL_TEXT, st.sampled_from(["", "Ada", "A.*(", "Ada says"]))
@example('{"a":' * 20_000, "Ada")
@example('{"tool":' * 20_000, "Ada")
@example('{"tool": ' + "9" * 5000 + "}", "Ada")
def test_clean_speech_takes_any_text_and_is_idempotent(text: str, speaker: str) -> None:
    """Clean text stays as it is, can be sent, and holds no tag."""
    speech = clean_speech(text, speaker=speaker)
    assert speech == clean_speech(speech, speaker=speaker)
    assert speech == sendable(speech).strip()
    assert "<think>" not in speech


def test_speech_without_a_known_speaker_keeps_names() -> None:
    assert "Ada: Hello." == clean_speech("Ada: Hello.")


@pytest.mark.parametrize(
    ("cut", "text", "limit"),
    [
        pytest.param("One two.", "One two.", 8, id="it fits"),
        pytest.param("One two.", "One two. Three four.", 12, id="at a sentence"),
        pytest.param('He said "no."', 'He said "no." And left.', 15, id="after the quotes"),
        pytest.param("Two!", "Two! Three four five", 12, id="at an exclamation"),
        pytest.param("一二。", "一二。三四五六", 5, id="at a full-width stop"),
        pytest.param(
            "\u0646\u0639\u0645\u061f",
            "\u0646\u0639\u0645\u061f \u0644\u0627 \u0644\u0627 \u0644\u0627",
            7,
            id="at an Arabic mark",
        ),
        pytest.param("It is 3.5…", "It is 3.5 yards away", 12, id="not inside a number"),
        pytest.param("A. Bbbb…", "A. Bbbb ccccc ddddd eeeee", 15, id="not for a stump"),
        pytest.param("One two…", "One two three", 10, id="at a word"),
        pytest.param("One…", "One, two", 6, id="without the comma"),
        pytest.param("Abcd…", "Abcdefghij", 5, id="inside a long word"),
        pytest.param("…", "Abc", 1, id="one character"),
        pytest.param("", "Abc", 0, id="none"),
        pytest.param("", "Abc", -4, id="fewer than none"),
        pytest.param("…", "   abcdef", 3, id="blanks alone"),
    ],
)
def test_cut_at_sentence(cut: str, text: str, limit: int) -> None:
    assert cut == cut_at_sentence(text, limit)


@given(
    ANY_TEXT | st.lists(st.sampled_from(" .!?,ab。\n"), max_size=40).map("".join),
    st.integers(-2, 40),
)
def test_cut_at_sentence_keeps_its_limit(text: str, limit: int) -> None:
    cut = cut_at_sentence(text, limit)
    assert max(0, limit) >= len(cut)
    assert cut == text or len(text) > limit
    assert text.startswith(cut.removesuffix("…"))


@given(ANY_TEXT)
def test_strip_control_leaves_what_can_be_seen(text: str) -> None:
    left = strip_control(text)
    assert left == strip_control(left)
    assert not [ch for ch in left if ch != "\n" and unicodedata.category(ch) in ("Cc", "Cs", "Co")]


@pytest.mark.parametrize(
    ("line", "text"),
    [
        pytest.param("a b c", " a\n\tb\u2028c ", id="every break is a blank"),
        pytest.param("aaa…", "aaaa aaaa", id="cut"),
        pytest.param("aa…", "aa aaaa", id="cut at a blank"),
        pytest.param("aaaa", "aaaa", id="it fits"),
    ],
)
def test_one_line(line: str, text: str) -> None:
    assert line == one_line(text, 5 if line == "a b c" else 4)


@given(ANY_TEXT, st.integers(1, 20))
def test_one_line_is_one_line(text: str, limit: int) -> None:
    line = one_line(text, limit)
    assert limit >= len(line)
    assert ([line] if line else []) == line.splitlines()


@given(ANY_TEXT)
def test_quote_cannot_be_left(text: str) -> None:
    quoted = quote(text)
    assert strip_control(text) == json.loads(quoted)
    assert [quoted] == quoted.splitlines()


@given(ANY_TEXT)
def test_sendable_text_can_be_sent(text: str) -> None:
    assert sendable(text) == sendable(text).encode("utf-8").decode("utf-8")
    if not any(unicodedata.category(ch) == "Cs" for ch in text):
        assert text == sendable(text)


@pytest.mark.parametrize(
    ("left", "text"),
    [
        pytest.param(" yes", "<think>no</think>yes", id="closed"),
        pytest.param("yes ", "yes<think>no", id="cut off"),
        pytest.param(" yes", "no</think>yes", id="begun before"),
        pytest.param("a < b", "a < b", id="none"),
    ],
)
def test_without_thoughts(left: str, text: str) -> None:
    assert left == without_thoughts(text)


@pytest.mark.parametrize(
    ("opened", "closed"),
    [
        pytest.param("<thought>", "</thought>", id="Gemini"),
        pytest.param("<seed:think>", "</seed:think>", id="Seed"),
        pytest.param("[THINK]", "[/THINK]", id="Mistral"),
        pytest.param("◁think▷", "◁/think▷", id="Kimi"),
        pytest.param("<|START_THINKING|>", "<|END_THINKING|>", id="Cohere"),
        pytest.param("<|inner_prefix|>", "<|inner_suffix|>", id="Apertus"),
        pytest.param("<|channel>thought\n", "<channel|>", id="Gemma 4"),
        pytest.param("<think\n>", "</think >", id="blanks within"),
    ],
)
def test_marks_of_thoughts_of_other_models(opened: str, closed: str) -> None:
    texts = (f"{opened}he lies{closed}Hm.", f"he lies{closed}Hm.", f"Hm.{opened}he lies")
    assert ["Hm."] * 3 == [clean_speech(text) for text in texts]


@pytest.mark.parametrize(
    ("said", "text"),
    [
        pytest.param(
            "Hm.",
            "<|channel|>analysis<|message|>He lies.<|end|>"
            "<|start|>assistant<|channel|>final<|message|>Hm.<|return|>",
            id="thoughts, then speech",
        ),
        pytest.param("Hm.", "<|channel|>final<|message|>Hm.", id="speech alone"),
        pytest.param("", "<|channel|>analysis<|message|>He lies.", id="thoughts cut off"),
        pytest.param(
            "Hm.",
            "<|channel|>analysis<|message|>He lies.<|channel|>final<|message|>Hm.",
            id="without an end between",
        ),
        pytest.param(
            "",
            "<|channel|>commentary to=functions.say <|constrain|>json<|message|>{}<|call|>",
            id="a call",
        ),
        pytest.param("Hm.", "<|channel|>final <|constrain|>json<|message|>Hm.", id="as JSON"),
        pytest.param("Hm.", "analysisHe lies.assistantfinalHm.", id="without the marks"),
        pytest.param("", "analysisHe lies.", id="thoughts cut off, without the marks"),
        pytest.param("analysis is work", "analysis is work", id="a word"),
        pytest.param(
            "Hm.",
            "<|start|>functions.look to=assistant<|channel|>commentary<|message|>A lamp.<|end|>"
            "<|start|>assistant<|channel|>final<|message|>Hm.",
            id="an invented result",
        ),
    ],
)
def test_only_the_final_channel_is_said(said: str, text: str) -> None:
    """So does gpt-oss write, where its server does not part the channels."""
    assert said == clean_speech(text)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(">>>all\nHm.", id="Functionary"),
        pytest.param("all\nHm.", id="Functionary, begun in the prompt"),
        pytest.param("<|from|>assistant\n<|recipient|>all\n<|content|>Hm.<|stop|>", id="older"),
        pytest.param("<think>Hm</think>\n<response>\nHm.\n</response>", id="Ernie"),
        pytest.param("Hm.<turn|>\n<|turn>user\nHello.", id="Gemma 4"),
        pytest.param("<|turn>model\nHm.<turn|>", id="Gemma 4, the beginning"),
        pytest.param("<start_of_turn>model\nHm.<end_of_turn>", id="Gemma 3"),
        pytest.param("<|im_start|>assistant\nHm.<|im_end|>", id="Qwen"),
        pytest.param("<|start_header_id|>assistant<|end_header_id|>\n\nHm.", id="Llama"),
        pytest.param("### Response:\nHm.", id="Alpaca"),
        pytest.param("<think>Hm</think>\n<answer>\nHm.\n</answer>", id="Hunyuan"),
        pytest.param(
            "My reasoning steps:\nHe lies.\n[BEGIN FINAL RESPONSE]\nHm.\n[END FINAL RESPONSE]",
            id="Apriel",
        ),
        pytest.param("Thought: He lies.\nFinal Answer: Hm.", id="ReAct"),
    ],
)
def test_marks_around_speech_are_not_said(text: str) -> None:
    assert "Hm." == clean_speech(text)


@pytest.mark.parametrize("unit", ["Ada: ", '{"tool":1}', 'Ada: {"tool":1} '])
def test_hole_c17_a_text_of_nothing_but_heads_says_nothing(unit: str) -> None:
    """Some calls and names in front of speech are removed; behind hundreds there is no speech."""
    assert "Hello." == clean_speech(unit * 20 + "Hello.", speaker="Ada")
    assert "" == clean_speech(unit * 1_000 + "Hello.", speaker="Ada")


def test_hole_c17_of_an_endless_text_some_is_looked_at() -> None:
    """A bounded part is cleaned, also behind long thoughts."""
    speech = clean_speech("<think>" + "hm " * 100_000 + "</think>" + "Hello. " * 100_000)
    assert speech.startswith("Hello. Hello.")
    assert LONGEST_CLEANED >= len(speech) > LONGEST_CLEANED - 10
    assert "a" * 9 + "…" == one_line("a" * 100_000, 10)
    assert "…" == one_line(" " * 100_000 + "a", 10)
