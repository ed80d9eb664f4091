"""Characters that must reach no terminal raw, told without the code that is under test."""

import re
import unicodedata

from hypothesis import strategies as st

ACT_HIDE_OR_REORDER = (
    "\x00\x07\x08\t\n\x0b\x0c\r\x1b\x1f\x7f\x80\x85\x90\x9b\x9d\x9f"  # controls, C0, DEL, C1
    "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"  # bidirectional
    "\u2028\u2029"  # ends of lines and paragraphs
    "\u00ad\u200b\u200c\u200d\u2060\ufeff\U000e0001\U000e0041\U000e007f"  # format, tags
    "\u034f\u115f\u1160\u17b4\u17b5\u180b\u2800\u3164\ufe00\ufe0f\uffa0\U000e0100"  # unseen letters
    "\ud800\udc9b\udfff"  # lone surrogates
    "\u00a0\u2003\u3000\ue000\U0010ffff"  # blanks that are none, private use, no character
)

HOSTILE = "a\x1b[2J\x1b]52;c;cm0=\x07\x9b1A\u202eb\u200b\U000e0041\ud800\x7f\u2028[bold]:x:\n✓ c\td"
"""Clears the screen, writes the clipboard, goes up a line, turns the line around, fakes a row."""

HOSTILE_SENT = HOSTILE.replace("\ud800", "").replace("\x00", "")
"""As SQS lets it through, in JSON that is written in ASCII."""

texts = st.text(alphabet=st.characters() | st.sampled_from(ACT_HIDE_OR_REORDER), max_size=80)
"""Over all of Unicode, lone surrogates included, and often one of the worst."""

# Colours; a bar's cursor: hidden, shown, back to the line's begin, the line erased, a line up.
_OWN = re.compile(r"\x1b\[[0-9;]*m|\x1b\[\?25[hl]|\r\x1b\[2K(?:\x1b\[1A\x1b\[2K)*")


def forbidden(text: str) -> set[str]:
    """What is in a text that no terminal may get; line feeds may."""
    return {
        one
        for one in text
        if one != "\n"
        and (one in ACT_HIDE_OR_REORDER or (unicodedata.category(one)[0] in "CZ" and one != " "))
    }


def without_own(text: str) -> str:
    """What a terminal got, less the command line's own colours and bars."""
    return _OWN.sub("", text)
