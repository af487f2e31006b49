"""Marks of models that their server did not read, rewritten as those that all readers know.

Thoughts become `<think>...</think>`, and a call becomes `<function=name>` with its arguments behind
it. A new dialect is a row of the table.
"""

from __future__ import annotations

import re

_CALL = r"<function=\1>"
_NAME = r"(\w{1,64})\b"
# Within quotation marks they are somebody else's words.
_UNQUOTED = r"(?<![\"'`\u201c])"
_WITHIN = r"(?<![\"'`\u201c\w])"
# How gpt-oss addresses a tool, with its marks or after they were lost.
_MARKED = (
    rf"(?:\A|{_UNQUOTED}<\|start\|>\w{{0,20}}(?:<\|channel\|>\w{{0,20}})?"
    rf"|{_WITHIN}<\|channel\|>\w{{0,20}})\s?to=(?!assistant\b)(?:functions\.)?{_NAME}"
    r"(?:[^<>{}]|<\|(?:channel|constrain)\|>){0,60}<\|message\|>\s{0,9}(?=\{)"
)
_UNMARKED = (
    rf"(?:\A|{_UNQUOTED}assistant\w{{0,12}}|{_WITHIN}(?:commentary|analysis))"
    rf"\s?to=functions\.{_NAME}[a-z\s]{{0,30}}(?=\{{)"
)
# Patterns and what they are replaced with, in this order.
DIALECTS = tuple(
    (re.compile(pattern, re.DOTALL), mark)
    for pattern, mark in (
        # The beginning of a turn, which is part of the prompt.
        (
            r"<\|im_start\|>assistant\b|<\|start_header_id\|>assistant<\|end_header_id\|>"
            r"|<(?:start_of_turn|\|turn)>model\b|\A#{2,4} ?(?:Assistant|Response):",
            "",
        ),
        # Mistral, Kimi, Cohere, Apertus, Gemma and Apriel.
        (
            r"\[THINK\]|◁think▷|<\|START_THINKING\|>|<\|inner_prefix\|>|<\|channel>(?:thought\b)?",
            "<think>",
        ),
        (
            r"\[/THINK\]|◁/think▷|<\|END_THINKING\|>|<\|inner_suffix\|>|<channel\|>"
            r"|\[BEGIN FINAL RESPONSE\]",
            "</think>",
        ),
        # gpt-oss, and what its servers leave: "analysisHm.assistantcommentary to=functions.say".
        (_MARKED, rf"<|end|>{_CALL}"),
        (_UNMARKED, rf"</think>{_CALL}"),
        (r"\Aanalysis(?=[A-Z\"]).*?(?:assistantfinal|(?=</think><function=)|\Z)", ""),
        # FunctionGemma and Gemma.
        (rf"(?:<start_function_call>|<\|tool_call>)\s?call:\s?{_NAME}(?=\{{)", _CALL),
        # Apertus.
        (
            rf"<\|tools_prefix\|>\s{{0,9}}\[\s{{0,9}}\{{\s{{0,9}}\"{_NAME}\"\s{{0,9}}:\s{{0,9}}(?=\{{)",
            _CALL,
        ),
        # Functionary: its first mark is part of the prompt, and "all" is everybody.
        (
            rf"(?:>>>|<\|recipient\|>\s?){_NAME}\s?\n(?:<\|content\|>)?\s{{0,9}}(?=\{{)",
            _CALL,
        ),
        (r"<\|from\|>\s?assistant\n|(?:>>>|\A|<\|recipient\|>\s?)all\n(?:<\|content\|>)?", ""),
        # ReAct.
        (rf"\A(?:Thought:.*?\n)?Action:\s?{_NAME}\s{{0,9}}\nAction Input:\s{{0,9}}(?=\{{)", _CALL),
        (r"\A(?:Thought:.*?\n)?Final Answer:", ""),
        # The ends of these calls.
        (r"<\|call\|>|<end_function_call>|<tool_call\|>|<\|tools_suffix\|>", "</function>"),
        # Where a server does not stop after a call, a model invents what it returned.
        (r"(?:<start_function_response>|<\|tool_response>).*", ""),
        # DeepSeek and LongCat put something into the usual tags; Ernie, Hunyuan and Apriel have
        # marks of their own.
        (r"(</?)(?:\uff5cDSML\uff5c|longcat_)", r"\1"),
        (r"</?(?:response|answer)>|\[END FINAL RESPONSE\]", " "),
    )
)
