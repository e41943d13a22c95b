"""The public names of the package and how they are called: what test_signatures.py holds later versions against.

python tests/signatures.py --record    write signatures.json
python tests/signatures.py             print what differs from the file

Public is what ``__all__`` has of a module that a page of the reference (docs/api) names. The file has the names of
parameters, their kinds and their defaults, and no annotations. It has the constructor of a class, its public methods
and its properties, with inherited ones unless they come from another package. An object that several modules have is
written out under the first of them; the root comes last. Record anew only what a change was meant to change, and
commit the file together with it.
"""

import argparse
import functools
import importlib
import inspect
import json
import re
from pathlib import Path

HERE = Path(__file__).resolve().parent
FILE, REFERENCE = HERE / "signatures.json", HERE.parent / "docs" / "api"
PACKAGE = "convexmetric"
ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


def modules():
    """Names of the modules of the reference, the root last."""
    named = {PACKAGE}
    for page in REFERENCE.glob("*.rst"):
        named |= set(re.findall(r"^\.\. currentmodule:: (\S+)$", page.read_text(encoding="utf-8"), re.MULTILINE))
    return sorted(named, key=lambda name: (name == PACKAGE, name))


class Default:
    """A default value whose text is the same in every process, and wherever its class is defined."""

    def __init__(self, value):
        self.value = value

    def __repr__(self):
        if inspect.isclass(self.value) or inspect.isroutine(self.value):
            return self.value.__qualname__
        return ADDRESS.sub("", repr(self.value))


def signature(function):
    """The parameters of a function as they stand in its definition, without annotations."""
    bare = []
    for parameter in inspect.signature(function).parameters.values():
        given = parameter.default is not parameter.empty
        default = Default(parameter.default) if given else parameter.empty
        bare.append(parameter.replace(default=default, annotation=parameter.empty))
    return str(inspect.Signature(bare))


def ours(thing):
    """Whether the package, and no other, has defined a class or a function."""
    return str(getattr(thing, "__module__", "")).partition(".")[0] == PACKAGE


def member(value):
    """How what stands in a class under a public name is used; None if it is no method of ours and no property."""
    for kind, words in ((classmethod, "classmethod "), (staticmethod, "staticmethod ")):
        if isinstance(value, kind):
            return words + signature(value.__func__) if ours(value.__func__) else None
    if isinstance(value, property | functools.cached_property):
        return "property"
    return signature(value) if inspect.isfunction(value) and ours(value) else None


def members(kind):
    """Public methods and properties of a class by name, and its constructor."""
    found = {}
    for owner in reversed(kind.__mro__):
        for name, value in vars(owner).items() if ours(owner) else ():
            if name == "__init__" or not name.startswith("_"):
                text = member(value)
                # What a class overrides is gone, whatever takes its place.
                found.pop(name, None)
                if text is not None:
                    found[name] = text
    if issubclass(kind, tuple) and hasattr(kind, "_fields"):
        found["__init__"] = signature(kind)
    return found


def entries(name, thing):
    """What the file has of one public object, by dotted names."""
    if inspect.ismodule(thing):
        return {name: "module"}
    if inspect.isclass(thing):
        return {name: "class"} | {f"{name}.{own}": text for own, text in members(thing).items()}
    # Compiled functions say what they wrap.
    function = inspect.unwrap(thing) if callable(thing) else thing
    return {name: signature(function) if inspect.isfunction(function) else "data"}


def snapshot(names):
    """The entries of all public objects of these modules."""
    found, places = {}, {}
    for name in names:
        module = importlib.import_module(name)
        for public in sorted(module.__all__):
            thing, dotted = getattr(module, public), f"{name}.{public}"
            # Only what has a name of its own is the same thing elsewhere: equal numbers are not.
            shared = inspect.isclass(thing) or inspect.isfunction(thing)
            place = places.setdefault(id(thing), dotted) if shared else dotted
            found |= entries(dotted, thing) if place == dotted else {dotted: f"is {place}"}
    return dict(sorted(found.items()))


def differences(recorded, found):
    """In words, a line or three each, what is gone, new and changed."""
    lines = [f"gone: {name} {recorded[name]}" for name in sorted(recorded.keys() - found.keys())]
    lines += [f"new: {name} {found[name]}" for name in sorted(found.keys() - recorded.keys())]
    for name in sorted(recorded.keys() & found.keys()):
        if recorded[name] != found[name]:
            lines.append(f"changed: {name}\n  recorded: {recorded[name]}\n  now:      {found[name]}")
    return "\n".join(lines)


def read():
    """The recorded entries."""
    return json.loads(FILE.read_text(encoding="utf-8"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--record", action="store_true", help="write the file")
    found = snapshot(modules())
    if parser.parse_args().record:
        FILE.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    else:
        print(differences(read(), found) or "as recorded")


if __name__ == "__main__":
    main()
