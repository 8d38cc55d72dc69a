#!/usr/bin/env python3
"""Runs the commands of the README and of the guides: each block of the language `sh`, in order, a shell for each file.

    python3 Tests/commands.py TOOL [FILE...]
    python3 Tests/commands.py --newcomer FOLDER

TOOL is the program kiipush, built with all traits; `swift run … kiipush` in a block calls it, so that nothing is built again.
Each file's commands run in a folder of their own, with the repository's folders in it. A command that fails, fails. What a machine
must be asked for (sudo, systemctl, a broker of its own) stands in a block without a language: command_lines.py looks at those. A block
of the language `python` must stand in a program under Samples, from its first line to its last.

Blocks of the language `sh build` build a package that uses this one. They are run with --newcomer only, which does what somebody does who
knows the README and two guides: FOLDER has a clone in `kii-push`, and nothing else that counts. All blocks of the README run in the
clone, and all of the guides beside it, with the real swift. What was built there before is used again.
"""
import glob
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SWIFT = """#!/bin/bash
# Stands in for `swift run [--traits …] kiipush …`.
while [ $# -gt 0 ] && [ "$1" != kiipush ]; do shift; done
exec "$@"
"""


def blocks(path, language):
    text = open(path, encoding="utf-8").read()
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.M | re.S)


def run(tool, path):
    """Runs a file's commands, and returns whether all went well."""
    commands = blocks(path, "sh")
    if not commands:
        return True
    with tempfile.TemporaryDirectory() as folder:
        for there in ("Samples", "Sources", "Tests"):
            os.symlink(f"{ROOT}/{there}", f"{folder}/{there}")
        os.mkdir(f"{folder}/bin")
        with open(f"{folder}/bin/swift", "w", encoding="utf-8") as out:
            out.write(SWIFT)
        os.chmod(f"{folder}/bin/swift", 0o755)
        os.symlink(os.path.abspath(tool), f"{folder}/bin/kiipush")
        environment = {"PATH": f"{folder}/bin:{os.environ['PATH']}", "XDG_STATE_HOME": f"{folder}/state-home"}
        return shell(path, commands, folder, environment, 120)


def shell(path, commands, folder, more, seconds):
    """Runs commands in one shell, and what they leave running ends with it; returns whether all went well."""
    name = os.path.relpath(path, ROOT)
    environment = {**os.environ, **more}
    environment.pop("STATE_DIRECTORY", None)
    script = "set -euo pipefail\n" + "\n".join(commands)
    began = time.monotonic()
    with tempfile.TemporaryFile("w+", encoding="utf-8") as out:
        # A group of their own, so that agents that a block leaves running end with it.
        process = subprocess.Popen(["bash", "-c", script], cwd=folder, env=environment, start_new_session=True,
                                   stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT)
        try:
            process.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            out.write("not done in time\n")
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()
        out.seek(0)
        output = out.read()
    result = "fine" if process.returncode == 0 else f"exit code {process.returncode}"
    print(f"{name}: {len(commands)} blocks, {result}, {time.monotonic() - began:.0f} s", flush=True)
    if process.returncode:
        print(script + "\n---\n" + output)
    return process.returncode == 0


def newcomer(folder):
    """Does what the README and two guides say, in a clone and beside it; returns whether all went well."""
    clone = f"{folder}/kii-push"
    guides = f"{clone}/Sources/KiiPush/KiiPush.docc"
    # One folder for what is built of the clone, the tool and the first agent: all of them build the same libraries.
    shared = {"SWIFTPM_BUILD_DIR": f"{folder}/built"}
    tour = [(f"{clone}/README.md", clone, shared), (f"{guides}/GettingStarted.md", folder, shared), (f"{guides}/YourOwnAgent.md", folder, {})]
    for path, place, more in tour:
        commands = blocks(path, "sh(?: build)?")
        if not commands:
            raise SystemExit(f"{path} has no commands")
        if not shell(path, commands, place, more, 1800):
            return False
    return True


def main():
    if len(sys.argv) < 2:
        raise SystemExit(__doc__)
    if sys.argv[1] == "--newcomer":
        sys.exit(0 if newcomer(os.path.abspath(sys.argv[2])) else 1)
    every = [f"{ROOT}/README.md", *sorted(glob.glob(f"{ROOT}/Sources/*/*.docc/*.md")), *sorted(glob.glob(f"{ROOT}/Samples/*/README.md"))]
    files = [os.path.abspath(path) for path in sys.argv[2:]] or every
    programs = [open(path, encoding="utf-8").read() for path in glob.glob(f"{ROOT}/Samples/**/*.py", recursive=True)]
    bad = [path for path in files if not run(sys.argv[1], path)]
    for path in files:
        for block in blocks(path, "python"):
            if not any(block in program for program in programs):
                print(f"{os.path.relpath(path, ROOT)}: no program under Samples has this: {block.splitlines()[0]}")
                bad.append(path)
    sys.exit(1 if bad else 0)


main()
