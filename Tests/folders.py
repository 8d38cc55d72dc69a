#!/usr/bin/env python3
"""Which folder uses the types of which: prints a table of each target's folders, lowest first, and fails when two need each other.

    python3 Tests/folders.py Sources [GUIDE]

A folder may use what lies below it. With GUIDE, each folder of KiiPush must use only folders of earlier rows of its table there. Between targets the compiler keeps the direction; within one, this does. A type counts for
the folder that declares it at the top level of a file; an extension of a type, and a name in a comment or a text, count for none.
Exit code 1 for a circle, with the files and the types that close it, and for a row that is wrong.
"""
import collections
import os
import re
import sys

DECLARATION = re.compile(
    r"^(?:@\w+(?:\([^)]*\))?\s+)*(?:(?:public|package|internal|final|indirect|nonisolated)\s+)*"
    r"(?:struct|class|enum|protocol|actor|typealias)\s+(\w+)",
    re.M,
)


def code(path):
    """The file's text without comments and string literals."""
    text = re.sub(r"/\*.*?\*/", "", open(path, encoding="utf-8").read(), flags=re.S)
    return "\n".join(re.sub(r'"(?:\\.|[^"\\])*"', '""', line).split("//")[0] for line in text.split("\n"))


def read(sources):
    """The code of each file, by its path below the sources."""
    found = {}
    for folder, _, files in os.walk(sources):
        for name in files:
            if name.endswith(".swift"):
                path = os.path.join(folder, name)
                found[os.path.relpath(path, sources)] = code(path)
    return found


def edges_of(files):
    """folder -> folder -> {(file, type)}: who uses what of whom, within a target."""
    home = collections.defaultdict(set)
    for path, text in files.items():
        for match in DECLARATION.finditer(text):
            home[match.group(1)].add(os.path.dirname(path))
    edges = collections.defaultdict(lambda: collections.defaultdict(set))
    for path, text in files.items():
        folder = os.path.dirname(path)
        target = folder.split(os.sep)[0]
        edges[folder]
        for name in set(re.findall(r"\b[A-Z]\w+\b", text)):
            near = {other for other in home.get(name, ()) if other.split(os.sep)[0] == target}
            # A name that two folders declare, each for itself, says nothing.
            if len(near) == 1 and folder not in near:
                edges[folder][near.pop()].add((os.path.basename(path), name))
    return edges


def components(edges):
    """The folders in groups that need each other, lowest first: Tarjan's strongly connected components."""
    number, low, stack, groups = {}, {}, [], []

    def visit(folder):
        number[folder] = low[folder] = len(number)
        stack.append(folder)
        for other in sorted(edges[folder]):
            if other not in number:
                visit(other)
                low[folder] = min(low[folder], low[other])
            elif other in stack:
                low[folder] = min(low[folder], number[other])
        if low[folder] == number[folder]:
            group = []
            while not group or group[-1] != folder:
                group.append(stack.pop())
            groups.append(sorted(group))

    for folder in sorted(edges):
        if folder not in number:
            visit(folder)
    return groups


def wrong_rows(edges, guide):
    """What the guide's table of KiiPush's folders, whose rows follow that line, leaves out or has too early."""
    table = open(guide, encoding="utf-8").read().split("The folders of `KiiPush`;")[1].split("\n\n")[1]
    rows = [re.findall(r"`(\w+)`", line.split("|")[1]) for line in table.split("\n")]
    row = {f"KiiPush/{folder}": number for number, folders in enumerate(rows) for folder in folders}
    for folder in sorted(edges):
        if folder.startswith("KiiPush/"):
            if folder not in row:
                yield f"{folder} is missing"
            for other in sorted(edges[folder]):
                if folder in row and other in row and row[other] >= row[folder]:
                    yield f"{folder} uses {other}, which is not in an earlier row"


def main():
    if len(sys.argv) not in (2, 3) or not os.path.isdir(sys.argv[1]):
        sys.exit(__doc__)
    edges = edges_of(read(sys.argv[1]))
    if not edges:
        sys.exit(f"folders.py: no Swift file lies in {sys.argv[1]}")
    circles = [group for group in components(edges) if len(group) > 1]
    order = [folder for group in components(edges) for folder in group]
    for target in sorted({folder.split(os.sep)[0] for folder in order}):
        print(target)
        for folder in order:
            if folder.split(os.sep)[0] == target:
                used = ", ".join(sorted(os.path.relpath(other, target) for other in edges[folder]))
                print(f"  {os.path.relpath(folder, target):<22} {used or '-'}")
    for circle in circles:
        print(f"\nThese folders need each other: {', '.join(circle)}", file=sys.stderr)
        for folder in circle:
            for other in sorted(set(edges[folder]) & set(circle)):
                uses = sorted(edges[folder][other])
                shown = ", ".join(f"{file}: {name}" for file, name in uses[:6])
                more = f" and {len(uses) - 6} more" if len(uses) > 6 else ""
                print(f"  {folder} uses {other}: {shown}{more}", file=sys.stderr)
    wrong = list(wrong_rows(edges, sys.argv[2])) if len(sys.argv) == 3 else []
    for what in wrong:
        print(f"{sys.argv[2]}: {what}", file=sys.stderr)
    return 1 if circles or wrong else 0


sys.exit(main())
