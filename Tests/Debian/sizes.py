#!/usr/bin/env python3
"""Measures what a device needs for the installed package, and fails where the documentation has other rows.

    python3 Tests/Debian/sizes.py TREE BEFORE

TREE is the root of a Debian on which the package is installed; BEFORE has the lines `KIB PACKAGE` of the packages that
it had without it. A number of the documentation may be off by a tenth, since Debian's libraries change.
"""
import os
import re
import subprocess
import sys

PAGE = "Sources/KiiPush/KiiPush.docc/Performance.md"
TOOL = "/usr/bin/kiipush"


def inside(tree, *command):
    return subprocess.run(["chroot", tree, *command], capture_output=True, text=True, check=True).stdout


def loaded(tree, file):
    return set(re.findall(r"/\S*\.so\S*", inside(tree, "ldd", file)))


def main(tree, before):
    def size(files):
        return sum(os.path.getsize(os.path.realpath(tree + file)) for file in files)

    def packages(lines):
        return {name: int(kib) * 1024 for kib, name in map(str.split, lines.splitlines())}

    files = {file for file in inside(tree, "dpkg", "-L", "kiipush").split() if os.path.isfile(tree + file)}
    libraries = loaded(tree, TOOL)
    rows = [("the tool", {TOOL}), ("manual, completions, unit", files - {TOOL})]
    # What a trait needs beyond the traits before it, and C and C++ beyond none.
    parts = []
    for trait, name in (("SQLite", "libsqlite3"), ("MQTT", "libmosquitto"), ("HTTP", "libcurl")):
        own = next(file for file in libraries if f"/{name}." in file)
        parts.append((f"`{trait}`: {name}", {own} | loaded(tree, own)))
    system = {file for file in libraries if re.search(r"/(ld-linux|libc\.|libm\.|libgcc_s|libstdc)", file)}
    counted = system
    rows.append(("C and C++ libraries", system))
    for name, own in parts:
        rows.append((name, own - counted))
        counted = counted | own
    if counted != libraries:
        sys.exit(f"sizes.py: no row has {' '.join(sorted(libraries - counted))}")
    measured = [(name, len(files), size(files)) for name, files in rows]
    had = packages(open(before, encoding="utf-8").read())
    now = packages(inside(tree, "dpkg-query", "-W", "-f=${Installed-Size} ${Package}\n"))
    added = now.keys() - had.keys() - {"kiipush"}
    measured.append(("packages that apt adds", len(added), sum(now[name] for name in added)))

    page = open(PAGE, encoding="utf-8").read()
    wrong = False
    for name, count, size in measured:
        print(f"| {name} | {count} | {size / 1e6:.1f} MB |")
        shown = re.search(rf"^\| {re.escape(name)} \| (\d+) \| ([\d.]+) MB \|$", page, re.M)
        isRight = shown and abs(int(shown[1]) - count) <= count / 10 and abs(float(shown[2]) - size / 1e6) <= size / 1e7 + 0.05
        wrong = wrong or not isRight
    if wrong:
        sys.exit(f"sizes.py: {PAGE} has other rows")


main(*sys.argv[1:])
