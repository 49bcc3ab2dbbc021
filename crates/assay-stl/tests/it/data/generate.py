"""Writes rtamt.tsv: formulas, traces and the robustness that rtamt 0.4.10 (discrete time, offline) gives.

    pip install rtamt==0.4.10 && python generate.py > rtamt.tsv

Left out, because rtamt differs there on purpose or by accident (see ../rtamt.rs): `iff` and `xor`, windows that can be
empty inside another temporal operator, traces of one sample. rtamt has no `min`, `max` or unary minus on signals.
"""

import logging
import random
import sys

import rtamt

logging.disable(logging.CRITICAL)
SEED, PAIRS = 20240, 400


def number(rng):
    return rng.choice(["a", "b", "(a - b)", "(a + b)", "(a * 2)", "(b / 4)", "abs(a)", "abs(a - b)"])


def window(rng, nested):
    if rng.random() < 0.35:
        return ""
    start = 0 if nested else rng.randrange(3)
    return f"[{start}:{start + rng.randrange(5)}]"


def formula(rng, depth, nested=False):
    if depth == 0 or rng.random() < 0.15:
        comparison = rng.choice([">=", "<=", ">", "<", "=="])
        return f"({number(rng)} {comparison} {rng.randrange(-3, 4) / 2})"
    kind = rng.randrange(10)
    if kind == 0:
        return f"(not {formula(rng, depth - 1, nested)})"
    if kind < 4:
        word = rng.choice(["and", "or", "implies"])
        return f"({formula(rng, depth - 1, nested)} {word} {formula(rng, depth - 1, nested)})"
    if kind < 8:
        word = rng.choice(["always", "eventually", "historically", "once"] + ([] if nested else ["next"]))
        bound = "" if word == "next" else window(rng, nested)
        return f"({word}{bound} {formula(rng, depth - 1, True)})"
    word = rng.choice(["until", "since"])
    left, right = formula(rng, depth - 1, True), formula(rng, depth - 1, True)
    return f"({left} {word}{window(rng, nested)} {right})"


def robustness(text, columns):
    spec = rtamt.StlDiscreteTimeSpecification()
    for name in [*columns, "out"]:
        spec.declare_var(name, "float")
    spec.spec = "out = " + text
    spec.parse()
    # Copies: rtamt pads the caller's lists in place.
    data = {"time": list(range(len(columns["a"])))} | {name: list(column) for name, column in columns.items()}
    return float(spec.evaluate(data)[0][1])


def main():
    rng = random.Random(SEED)
    done = 0
    while done < PAIRS:
        text = formula(rng, rng.randrange(1, 5))
        length = rng.randrange(2, 30)
        columns = {name: [rng.randrange(-8, 9) / 4 for _ in range(length)] for name in "ab"}
        value = robustness(text, columns)
        samples = ";".join(f"{a:g},{b:g}" for a, b in zip(columns["a"], columns["b"], strict=True))
        sys.stdout.write(f"{text}\t{value:g}\t{samples}\n")
        done += 1


if __name__ == "__main__":
    main()
