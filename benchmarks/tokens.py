# ruff: noqa: RUF001  (texts in many scripts)
"""The estimate of a text's tokens compared with tiktoken's count, over many kinds of text.

    TIKTOKEN_CACHE_DIR=<folder with tiktoken's files> python -m benchmarks.tokens [--samples]

The files must have the names that tiktoken gives them. Nothing is downloaded: an encoding without
its file is left out, and without any the run ends with a sentence.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Mapping, Sequence

from evennia_ai.core.turn.tokens import estimate
from evennia_ai.llm.token_counter import load_encoding

ENCODINGS = ("o200k_base", "cl100k_base")
FLOOR, HIGHEST_MEAN_ERROR = 0.75, 0.10

TEXTS: Mapping[str, Sequence[str]] = {
    "English prose": (
        "The storm had been over the lake since noon, and nobody in the village expected the ferry "
        "to come back before morning. Old Marten sat on an upturned crate by the slip, mending a "
        "net that needed no mending, and told whoever passed that the water would be calm by six.",
        "She closed the ledger and thought about the numbers again. Forty barrels had gone north, "
        "thirty-eight had arrived, and the carter swore that he never let them out of his sight. "
        "Either he lied, or somebody on the toll bridge had learned to open a sealed cask.",
        "Maintenance of the observatory is paid for by subscription. Members receive the quarterly "
        "bulletin, may borrow the smaller instruments, and are invited to the annual lecture, "
        "which this year concerns the irregular orbit of the third comet.",
        "What you want is a rope, a lantern, and rather more patience than you have shown so far.",
    ),
    "game lines": (
        'Tom whispers to you (trust 0.9): "where are the books about storms?"',
        'Mira says on the channel Public (trust 0.45): "anyone up for the crypt tonight? need a '
        'healer and somebody who can pick locks"',
        'Somebody called "Xx_Slayer_99" pages you (trust 0.3): "lol gimme gold plz"',
        "Meanwhile you noticed:\n- Tom said: \"I'm back in a minute\" (trust 0.6)\n- you saw: "
        '"Mira leaves north."\n- Brass did: "polishes the counter." (trust 0.5)',
        "The Lantern Library(#12)\nShelves climb into the dark above you, and the lamps between "
        "them burn low.\nExits: north, east, and stairs down\nYou see: a brass globe, an atlas, "
        "and a sleeping cat",
        "You are Ada, a character in a text game. Stay in character. You act only by calling one "
        "tool. To answer somebody, call whisper, say, page or channel.",
    ),
    "JSON": (
        '{"tool": "whisper", "parameters": {"target": "Tom", "message": "The second shelf."}}',
        '{"success": true, "result": "a lamp, a globe and three chairs"}',
        '{"success": false, "error": "Nobody is not here; here are: Tom, Mira, Brass"}',
        '[{"id": "call_8f3Kq", "type": "function", "function": {"name": "look_at", "arguments": '
        '"{\\"target\\": \\"brass globe\\"}"}}]',
        '{"type": "object", "properties": {"target": {"type": "string", "minLength": 1, '
        '"description": "who is to hear it"}, "count": {"type": "integer", "maximum": 20}}, '
        '"required": ["target"], "additionalProperties": false}',
        '{\n  "id": 4711,\n  "tags": ["a", "b", null],\n  "at": "2031-04-05T06:07:08Z",\n'
        '  "ratio": 0.3333,\n  "nested": {"x": -1, "y": 2e-5}\n}',
    ),
    "German": (
        "Der alte Leuchtturm steht seit zweihundert Jahren auf der Klippe, und noch immer zündet "
        "jemand jeden Abend die Lampe an, obwohl längst kein Schiff mehr vorbeifährt.",
        "Entschuldigung, könnten Sie mir bitte sagen, wo ich die Bücher über Gewitter und "
        "Überschwemmungen finde? Ich habe schon im Erdgeschoss gesucht.",
        "Die Versicherungsgesellschaft lehnte den Schadensersatzanspruch ab, weil die Unterlagen "
        "unvollständig waren.",
        "ja klar, komm einfach vorbei wenn du zeit hast, ich bin eh bis acht da",
    ),
    "French and Spanish": (
        "La vieille bibliothécaire referma le livre, éteignit la lampe et descendit l'escalier "
        "sans faire de bruit, comme chaque soir depuis vingt ans.",
        "Où se trouvent les ouvrages sur les tempêtes ? Je les ai cherchés partout, mais je n'ai "
        "trouvé que des cartes et des romans.",
        "El barco no volverá hasta mañana, así que tendremos que pasar la noche en la aldea y "
        "esperar a que el viento cambie de dirección.",
        "¿Dónde están los libros sobre tormentas? Ayer los vi en el segundo estante, junto a la "
        "ventana.",
    ),
    "Polish and Turkish": (
        "Stary latarnik codziennie wieczorem zapala lampę, chociaż od wielu lat nie przepływa tędy "
        "żaden statek.",
        "Przepraszam, gdzie znajdę książki o burzach? Szukałem już na parterze i na pierwszym "
        "piętrze.",
        "Fırtına öğleden beri gölün üzerinde ve köyde kimse vapurun sabahtan önce dönmesini "
        "beklemiyor.",
    ),
    "Russian": (
        "Старый смотритель каждый вечер зажигает лампу на маяке, хотя корабли давно здесь не "
        "ходят.",
        "Скажите, пожалуйста, где стоят книги о бурях и наводнениях? Я уже искал на первом этаже.",
        "привет, ты где? мы ждём тебя у северных ворот",
    ),
    "Greek, Hebrew and Arabic": (
        "Ο παλιός φάρος στέκει στον βράχο εδώ και διακόσια χρόνια και κάθε βράδυ κάποιος ανάβει "
        "τη λάμπα.",
        "איפה נמצאים הספרים על הסערות? חיפשתי אותם בכל הקומה הראשונה ולא מצאתי דבר.",
        "أين توجد الكتب التي تتحدث عن العواصف؟ بحثت عنها في الطابق الأول ولم أجد شيئا.",
    ),
    "Hindi and Thai": (
        "तूफ़ानों के बारे में किताबें कहाँ हैं? मैंने पहली मंज़िल पर सब जगह ढूँढ लिया है।",
        "หนังสือเกี่ยวกับพายุอยู่ที่ไหน ฉันหาทั่วชั้นหนึ่งแล้วแต่ไม่พบ",
    ),
    "Japanese": (
        "嵐についての本はどこにありますか。一階はもう全部探しましたが、見つかりませんでした。",
        "古い灯台の番人は、船がもう通らなくなった今でも、毎晩ランプに火をともしている。",
        "ありがとう！またあとでね。ショップの前で待ってるよ。",
    ),
    "Chinese": (
        "请问关于暴风雨的书在哪里?我已经在一楼找过了,但是没有找到。",
        "老看守人每天晚上都点亮灯塔的灯,虽然早就没有船从这里经过了。",
        "好的,我们十分钟后在北门见面,别忘了带上绳子和灯笼。",
    ),
    "Korean": (
        "폭풍에 관한 책은 어디에 있습니까? 일 층은 이미 다 찾아보았지만 없었습니다.",
        "늙은 등대지기는 배가 더 이상 지나가지 않는데도 매일 밤 등불을 켠다.",
    ),
    "emoji and chat": (
        "omg yesss 😂😂😂 that was sooo good lmao 🔥🔥",
        "gg wp everyone ❤️ see you tmrw 👋😴",
        "🎉🎉🎉 LEVEL 50!!! 🎉🎉🎉 finallyyyy 👨‍👩‍👧 🇩🇪 👍🏽",
        "¯\\_(ツ)_/¯ idk man :-) :P <3 brb",
    ),
    "code": (
        "def total(items: list[int]) -> int:\n    result = 0\n    for item in items:\n"
        "        if item > 0:\n            result += item * 2\n    return result\n",
        "const byName = new Map(rows.map(r => [r.name, r]));\nif (!byName.has(key)) { throw new "
        "Error(`unknown: ${key}`); }",
        "SELECT r.key, COUNT(*) AS n FROM rooms r LEFT JOIN exits e ON e.room_id = r.id WHERE "
        "r.zone = 'north' GROUP BY r.key HAVING n > 3;",
        "class HTTPServerError(Exception):\n    statusCode = 500\n\n    def __init__(self, "
        "retryAfter=None, maxAttempts=5):\n        self.retryAfter = retryAfter\n",
    ),
    "digits and signs": (
        "3.14159265358979323846264338327950288419716939937510",
        "+49 30 1234567, 2031-04-05 06:07:08, 192.168.0.17:8080, #4711, v2.10.3-rc1",
        "| gold | 1250 | 37 % |\n|------|------|------|\n| silver | 98 | 2.5 % |",
        "https://example.org/a/b-c/d_e?x=1&y=%20two#frag",
        "sha 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    ),
}  # fmt: skip

Count = Callable[[str], int]


def ratios(texts: Sequence[str], count: Count) -> list[float]:
    """Return estimated divided by real tokens, for each text."""
    return [estimate(text) / count(text) for text in texts]


def row(kind: str, found: Sequence[float]) -> str:
    """Return one line of the table."""
    errors = sorted(abs(ratio - 1) for ratio in found)
    high = errors[min(len(errors) - 1, int(0.95 * len(errors)))]
    mean = statistics.fmean(found)
    return f"| {kind} | {mean:.2f} | {min(found):.2f} | {max(found):.2f} | {high:.0%} |"


def compare(encoding: str, count: Count, *, shows_samples: bool) -> None:
    """Print the table for one encoding."""
    print(f"\n{encoding}: estimated by counted tokens\n")
    print("| kind | mean | lowest | highest | 95 % of errors are below |\n|---|---|---|---|---|")
    every: list[float] = []
    for kind, texts in TEXTS.items():
        values = ratios(texts, count)
        every += values
        print(row(kind, values))
        if shows_samples:
            for text, ratio in zip(texts, values, strict=True):
                print(f"    {ratio:.2f} {estimate(text)}/{count(text)} {text[:60]!r}")
    print(row("all", every))
    is_good = abs(statistics.fmean(every) - 1) <= HIGHEST_MEAN_ERROR and min(every) >= FLOOR
    print(f"\nmean within {HIGHEST_MEAN_ERROR:.0%}, none below {FLOOR}: {is_good}")


def speed() -> float:
    """Return the microseconds for 1,000 characters of mixed text."""
    texts = [text for kind in TEXTS.values() for text in kind]
    size, rounds = sum(map(len, texts)), 20
    began = time.perf_counter()
    for _ in range(rounds):
        for text in texts:
            estimate(text)
    return (time.perf_counter() - began) * 1e6 / rounds / size * 1000


def main() -> None:
    """Compare with every encoding whose file is found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", action="store_true", help="show every sample")
    options = parser.parse_args()
    print(f"estimate: {speed():.0f} microseconds for 1,000 characters")
    counts = {name: counter for name in ENCODINGS if (counter := load_encoding(name)) is not None}
    if not counts:
        raise SystemExit("nothing to compare with: tiktoken or its files are not here")
    for name, count in counts.items():
        compare(name, count, shows_samples=options.samples)


if __name__ == "__main__":
    main()
