#!/usr/bin/env python3
"""The public interface of a library, a symbol a line, of what the toolchain's API digester has dumped.

    python3 Tests/interface.py DUMP.json                 prints it
    python3 Tests/interface.py DUMP.json BLESSED.txt     compares it with the one that was blessed last; exit code 1 when they differ

A line that is gone is a break for whoever uses the symbol; a new one is to be blessed, so that it is seen in review.
"""
import json
import re
import sys

# What every type has without a word.
IMPLIED = {"Copyable", "Escapable", "SendableMetatype", "BitwiseCopyable"}
MARKS = (("static", "static"), ("throwing", "throws"))


def shown(node):
    """One parameter's or result's type."""
    mark = {"InOut": "inout ", "Owned": "consuming ", "Shared": "borrowing "}.get(node.get("paramValueOwnership"), "")
    return mark + node["printedName"] + (" = …" if node.get("hasDefaultArg") else "")


def line(node, path):
    kind = node.get("declKind", node["kind"])
    attributes = node.get("declAttributes", [])
    words = [path, kind.lower()]
    types = [child for child in node.get("children", []) if child["kind"].startswith("Type") and child["kind"] != "TypeDecl"]
    if kind in ("Func", "Constructor", "Subscript") and types:
        words.append(f"({', '.join(shown(child) for child in types[1:])}) -> {shown(types[0])}")
    elif kind in ("Var", "EnumElement", "TypeAlias") and types:
        words.append(": " + shown(types[0]))
    # The dump has no word for it but in the mangled name: Ya, and K or YK for throws, before F for a function.
    if kind == "Func" and re.search(r"Ya(K|[A-Za-z0-9_]*YK)?FZ?$", node.get("usr", "")):
        words.append("async")
    words += [word for key, word in MARKS if node.get(key)]
    if node.get("genericSig"):
        words.append(node["genericSig"])
    if "Nonexhaustive" in attributes:
        words.append("nonexhaustive")
    if kind == "Var" and any(part.get("accessorKind") == "set" and not part.get("isInternal") for part in node.get("accessors", [])):
        words.append("settable")
    return re.sub(r"\b(Swift|" + node.get("moduleName", "Swift") + r")\.(?=[A-Z])", "", " ".join(words))


def lines(node, path, hidden):
    """The lines of a declaration and of what it holds."""
    for child in node.get("children", []):
        if "declKind" not in child or child.get("isInternal") or child.get("implicit") and child["declKind"] != "Constructor":
            continue
        # What only an import with @_spi sees is no part of the interface.
        if child["declKind"] in ("Import", "Accessor") or child.get("spi_group_names"):
            continue
        own = f"{path}.{child['printedName']}" if path else child["printedName"]
        # A type of another library, which is only extended here, brings what it is itself.
        if not child.get("isExternal"):
            yield line(child, own)
            for conformance in child.get("conformances", []):
                name = conformance["printedName"]
                if name not in IMPLIED | hidden and not conformance.get("isInternal"):
                    yield f"{own} is {name}"
        yield from lines(child, own, hidden)


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    with open(sys.argv[1], encoding="utf-8") as file:
        root = json.load(file)["ABIRoot"]
    # Protocols of the package alone say nothing to a user.
    hidden = {node["printedName"] for node in root["children"] if node.get("isInternal")}
    now = sorted(set(lines(root, "", hidden)))
    if not now:
        sys.exit(f"interface.py: {sys.argv[1]} holds no public symbol")
    if len(sys.argv) == 2:
        print("\n".join(now))
        return 0
    with open(sys.argv[2], encoding="utf-8") as file:
        blessed = set(file.read().splitlines())
    for symbol in sorted(blessed - set(now)):
        print(f"gone: {symbol}")
    for symbol in sorted(set(now) - blessed):
        print(f"new:  {symbol}")
    return 1 if blessed != set(now) else 0


sys.exit(main())
