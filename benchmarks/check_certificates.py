"""Forged certificates of all families of problems: none may prove what is false, none may crash the checker.

python benchmarks/check_certificates.py [--cases 1000] [--seed 0]

Every case takes a true certificate, corrupts it, and writes it again. Most forgers are honest about hashes, so that it
is the arithmetic that is tested. A file is *falsely accepted* if it proves, or is accepted with, a lower bound above
the upper bound of the true certificate or an upper bound below its lower one, or is accepted with claims beyond its
proof, or proves a lower bound above the upper one; if its statement was changed, only the last two count. A *crash* is
any exception but CertificateError.
"""

import argparse
import sys
import tempfile
import time
import warnings
from collections import Counter
from fractions import Fraction
from pathlib import Path

import numpy as np
from environment import add_threads_option, limit_threads, surroundings
from tables import markdown

import convexmetric as cm
from convexmetric.measures import MEASURES

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from forgery import HINTS, claim, noisy, opened, written
from samples import EVERYTHING, instance


def ranking(measure):
    rng, y = np.random.default_rng(0), np.repeat([0, 1, 2], 4)
    k = {"k": 3} if measure in ("precision", "knn", "ndcg") else {}
    return cm.RankingProblem.from_labels(rng.standard_normal((12, 3)) + 0.5 * y[:, None], y, measure, C=20.0, **k)


def noise(rng, contents, verdict):
    """Noise of any size on what proves; the claims of the true certificate."""
    return noisy(rng, contents, 10.0 ** rng.uniform(-16, 1)), True


def claims(rng, contents, verdict):
    """Claims that are better than the proof, by little or by much."""
    gap = abs(verdict.upper - verdict.lower) + abs(verdict.upper) * Fraction(float(10.0 ** rng.uniform(-17, 0)))
    share = Fraction(float(rng.random()))
    lower = verdict.lower + gap * share if rng.random() < 0.5 else verdict.lower
    upper = verdict.upper if lower > verdict.lower else verdict.upper - gap * share
    return claim(contents, lower, upper), True


def both(rng, contents, verdict):
    """Noise, and claims to fit a smaller gap."""
    forged, _ = noise(rng, contents, verdict)
    return claims(rng, forged, verdict)


def numbers(rng, contents, verdict):
    """NaN, infinities, huge and denormal numbers in what proves."""
    document, arrays = contents[0], dict(contents[1])
    name = rng.choice([hint for hint in HINTS if hint in arrays and arrays[hint].size])
    array = arrays[name].copy()
    array.flat[rng.integers(array.size)] = rng.choice([np.nan, np.inf, -np.inf, 1e308, -1e308, 1e200, 5e-324, -1.0])
    return (document, arrays | {name: array}), True


def swapped(rng, contents, verdict):
    """Zeros, signs turned, entries in another order, or scaled by powers of ten."""
    document, arrays = contents[0], dict(contents[1])
    name = rng.choice([hint for hint in HINTS if hint in arrays and arrays[hint].size])
    array = arrays[name].copy()
    kind = rng.integers(4)
    if kind == 0:
        array[...] = 0.0
    elif kind == 1:
        array = -array
    elif kind == 2:
        array = rng.permutation(array.ravel()).reshape(array.shape)
    else:
        array = array * 10.0 ** rng.integers(-12, 13)
    if name == "weights_of_metric":
        array = np.abs(array)
    return (document, arrays | {name: array}), True


def statement(rng, contents, verdict):
    """Another array of the statement, or one that is out of range or of another shape or type."""
    document, arrays = contents[0], dict(contents[1])
    name = rng.choice(sorted(arrays))
    array = arrays[name]
    kind = rng.integers(5)
    if kind == 0 and array.size:
        array = array.copy()
        array.flat[rng.integers(array.size)] = rng.integers(-3, 100)
    elif kind == 1:
        array = array[:-1]
    elif kind == 2:
        array = array.astype(rng.choice(["<f8", "<i8", "<f4", "|u1", "<c16"]))
    elif kind == 3:
        array = np.array(array, dtype=object) if rng.random() < 0.5 else array[None]
    else:
        arrays.pop(name)
        return (document, arrays), False
    return (document, arrays | {name: array}), False


def words(rng, contents, verdict):
    """Another description: parameters, unknown or missing keys, numbers for text."""
    document, arrays = contents
    tables = [document, document["problem"], document["problem"]["risk"], document["problem"]["regularizer"]]
    tables = [dict(table) for table in tables]
    at = int(rng.integers(4))
    key = rng.choice(sorted(tables[at]))
    value = tables[at][key]
    options = [None, 1, -1, "1", "-1/3", "1/0", "nan", "9" * 390, [], {}, True, 2**70]
    if rng.random() < 0.2:
        tables[at]["more"] = value
    elif rng.random() < 0.2:
        del tables[at][key]
    else:
        tables[at][key] = options[rng.integers(len(options))]
    if at in (2, 3):
        tables[1] |= {"risk": tables[2], "regularizer": tables[3]}
    if at > 0:
        tables[0]["problem"] = tables[1]
    return (tables[0], arrays), False


KINDS = {
    "noise on factor and dual, 1e-16 to 10": noise,
    "claims better than the proof": claims,
    "noise and claims": both,
    "NaN, infinite, huge numbers": numbers,
    "zeros, signs, order, scale": swapped,
    "arrays of the statement": statement,
    "description": words,
}


def damaged(rng, path):
    """Bytes of the file cut off or changed."""
    whole = bytearray(path.read_bytes())
    if rng.random() < 0.5:
        whole = whole[: rng.integers(len(whole))]
    else:
        for at in rng.integers(0, len(whole), rng.integers(1, 20)):
            whole[at] = rng.integers(256)
    path.write_bytes(bytes(whole))


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    add_threads_option(parser)
    arguments = parser.parse_args()
    limit_threads(arguments.threads)
    print(surroundings())
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(arguments.seed)
    counts, shown = Counter(), []
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        true, names = {}, [*sorted(EVERYTHING), *(f"ranking, {measure}" for measure in MEASURES)]
        for number, name in enumerate(names):
            problem = instance(name) if name in EVERYTHING else ranking(name.removeprefix("ranking, "))
            path = Path(folder) / f"{number}.npz"
            true[name] = cm.write_certificate(path, problem, cm.solve(problem, tol=1e-7)), opened(path)
        forged = Path(folder) / "forged.npz"
        for case in range(arguments.cases):
            name = names[case % len(names)]
            verdict, contents = true[name]
            kind = [*KINDS, "bytes of the file"][int(rng.integers(len(KINDS) + 1))]
            same = True
            if kind in KINDS:
                (document, arrays), same = KINDS[kind](rng, contents, verdict)
                honest = rng.random() < 0.9
                try:
                    written(forged, (document, arrays), honest=honest)
                except (TypeError, AttributeError, ValueError):
                    counts[kind, "refused"] += 1
                    continue
            else:
                written(forged, contents)
                damaged(rng, forged)
            try:
                found = cm.verify(forged)
            except cm.CertificateError:
                outcome = "refused"
            except Exception as error:
                outcome = "crash"
                shown.append(f"{name}, {kind}: {type(error).__name__}: {error}")
            else:
                outcome = "accepted" if found.accepted else "not proven"
                beyond = found.accepted and (
                    found.lower is None
                    or found.upper is None
                    or found.claimed[0] > found.lower
                    or found.claimed[1] < found.upper
                )
                beyond |= None not in (found.lower, found.upper) and found.lower > found.upper
                if same:
                    ends = [
                        end for end in (found.lower, found.claimed[0] if found.accepted else None) if end is not None
                    ]
                    beyond |= any(end > verdict.upper for end in ends)
                    ends = [
                        end for end in (found.upper, found.claimed[1] if found.accepted else None) if end is not None
                    ]
                    beyond |= any(end < verdict.lower for end in ends)
                if beyond:
                    outcome = "falsely accepted"
                    shown.append(f"{name}, {kind}: {found}")
            counts[kind, outcome] += 1
    outcomes = ["refused", "not proven", "accepted", "falsely accepted", "crash"]
    kinds = [*KINDS, "bytes of the file"]
    rows = [[kind, *(counts[kind, outcome] for outcome in outcomes)] for kind in kinds]
    rows.append(["all", *(sum(counts[kind, outcome] for kind in kinds) for outcome in outcomes)])
    print(f"\n{arguments.cases} forgeries of {len(true)} certificates, {time.perf_counter() - start:.0f} s\n")
    print(markdown(["what was changed", *outcomes], rows))
    print("\nAccepted are files whose claims are still proven: the change was harmless, or no change at all.")
    print("\n".join(shown))
    return 1 if rows[-1][4] or rows[-1][5] else 0


if __name__ == "__main__":
    sys.exit(main())
