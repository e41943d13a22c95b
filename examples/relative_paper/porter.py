"""Stems of English words by the algorithm of Porter (1980), "An algorithm for suffix stripping", Program 14(3).

A word is ``[C](VC)^m[V]`` in runs of consonants C and vowels V; y is a vowel after a consonant. Most rules ask for a
measure m of what is before a suffix.
"""

from __future__ import annotations

import re
from functools import cache

#: Suffixes and what takes their place where the measure of the rest is positive (steps 2 and 3).
_SECOND = dict(
    [
        *[("ational", "ate"), ("tional", "tion"), ("enci", "ence"), ("anci", "ance"), ("izer", "ize")],
        *[("abli", "able"), ("alli", "al"), ("entli", "ent"), ("eli", "e"), ("ousli", "ous")],
        *[("ization", "ize"), ("ation", "ate"), ("ator", "ate"), ("alism", "al"), ("iveness", "ive")],
        *[("fulness", "ful"), ("ousness", "ous"), ("aliti", "al"), ("iviti", "ive"), ("biliti", "ble")],
    ]
)
_THIRD = {"icate": "ic", "ative": "", "alize": "al", "iciti": "ic", "ical": "ic", "ful": "", "ness": ""}
#: Suffixes that go where the measure is above one (step 4).
_FOURTH = dict.fromkeys(
    [
        *["al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment"],
        *["ent", "ion", "ou", "ism", "ate", "iti", "ous", "ive", "ize"],
    ],
    "",
)


@cache
def stem(word: str) -> str:
    """The stem of a word in lower case; short words, and those with other signs than letters, stay."""
    if len(word) <= 2 or not re.fullmatch("[a-z]+", word):
        return word
    word = _plurals(word)
    word = _pasts(word)
    if word.endswith("y") and "v" in _shape(word[:-1]):
        word = word[:-1] + "i"
    word = _replaced(word, _SECOND, 1)
    word = _replaced(word, _THIRD, 1)
    word = _replaced(word, _FOURTH, 2)
    if word.endswith("e"):
        measure = _measure(word[:-1])
        if measure > 1 or (measure == 1 and not _short(word[:-1])):
            word = word[:-1]
    return word[:-1] if word.endswith("ll") and _measure(word) > 1 else word


def _shape(word: str) -> str:
    """Letters as c and v."""
    shape = ""
    for letter in word:
        shape += "v" if letter in "aeiou" or (letter == "y" and shape.endswith("c")) else "c"
    return shape


def _measure(word: str) -> int:
    return len(re.findall("v+c+", _shape(word)))


def _short(word: str) -> bool:
    """Whether a word ends in consonant, vowel, consonant, of which the last is none of w, x, y."""
    return _shape(word).endswith("cvc") and word[-1] not in "wxy"


def _plurals(word: str) -> str:
    if word.endswith(("sses", "ies")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _pasts(word: str) -> str:
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    for suffix in ("ed", "ing"):
        rest = word.removesuffix(suffix)
        if rest != word and "v" in _shape(rest):
            if rest.endswith(("at", "bl", "iz")):
                return rest + "e"
            if len(rest) > 1 and rest[-1] == rest[-2] and _shape(rest)[-1] == "c" and rest[-1] not in "lsz":
                return rest[:-1]
            return rest + "e" if _measure(rest) == 1 and _short(rest) else rest
    return word


def _replaced(word: str, suffixes: dict[str, str], least: int) -> str:
    """The word with its longest suffix of these replaced, if the measure of the rest is at least so much."""
    suffix = max((suffix for suffix in suffixes if word.endswith(suffix)), key=len, default=None)
    if suffix is None:
        return word
    rest = word.removesuffix(suffix)
    if _measure(rest) < least or (suffix == "ion" and not rest.endswith(("s", "t"))):
        return word
    return rest + suffixes[suffix]
