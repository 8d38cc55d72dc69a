#!/usr/bin/env python3
"""Runs the commands of the README and of the guides: each block of the language `sh`, in order, a shell for each file.

    python3 Tests/commands.py [--build] TOOL [FILE...]

TOOL is the program kiipush, built with all traits; `swift run … kiipush` in a block calls it, so that nothing is built again.
Each file's commands run in a folder of their own, with the repository's folders in it. A command that fails, fails. What a machine
must be asked for (sudo, systemctl, a broker of its own) stands in a block without a language, and is not run. A block of the language
`python` must stand in a program under Samples, from its first line to its last. Blocks of the language `sh build` build a package that
uses this one; they are run with --build, by the real swift, which takes minutes.
"""
import glob
import os
import re
import signal
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SWIFT = """#!/bin/bash
# Stands in for `swift run [--traits …] kiipush …`.
while [ $# -gt 0 ] && [ "$1" != kiipush ]; do shift; done
exec "$@"
"""


def blocks(path, language):
    text = open(path, encoding="utf-8").read()
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.M | re.S)


def run(tool, path, builds=False):
    """Runs a file's commands, or those that build a package, and returns whether all went well."""
    commands = blocks(path, "sh build" if builds else "sh")
    if not commands:
        return True
    name = os.path.relpath(path, ROOT)
    with tempfile.TemporaryDirectory() as folder:
        for there in ("Samples", "Sources", "Tests"):
            os.symlink(f"{ROOT}/{there}", f"{folder}/{there}")
        os.symlink(ROOT, f"{folder}/kii-push")
        os.mkdir(f"{folder}/bin")
        if not builds:
            with open(f"{folder}/bin/swift", "w", encoding="utf-8") as out:
                out.write(SWIFT)
            os.chmod(f"{folder}/bin/swift", 0o755)
        os.symlink(os.path.abspath(tool), f"{folder}/bin/kiipush")
        environment = {**os.environ, "PATH": f"{folder}/bin:{os.environ['PATH']}", "XDG_STATE_HOME": f"{folder}/state-home"}
        environment.pop("STATE_DIRECTORY", None)
        script = "set -euo pipefail\n" + "\n".join(commands)
        with open(f"{folder}/bin/output", "w+", encoding="utf-8") as out:
            # A group of their own, so that agents that a block leaves running end with it.
            process = subprocess.Popen(["bash", "-c", script], cwd=folder, env=environment, start_new_session=True,
                                       stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT)
            try:
                process.wait(timeout=900 if builds else 120)
            except subprocess.TimeoutExpired:
                out.write("not done in time\n")
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.wait()
            out.seek(0)
            output = out.read()
    print(f"{name}: {len(commands)} blocks, {'fine' if process.returncode == 0 else f'exit code {process.returncode}'}")
    if process.returncode:
        print(script + "\n---\n" + output)
    return process.returncode == 0


def main():
    if len(sys.argv) < 2:
        raise SystemExit(__doc__)
    builds = "--build" in sys.argv
    sys.argv = [argument for argument in sys.argv if argument != "--build"]
    every = [f"{ROOT}/README.md", *sorted(glob.glob(f"{ROOT}/Sources/*/*.docc/*.md")), *sorted(glob.glob(f"{ROOT}/Samples/*/README.md"))]
    files = [os.path.abspath(path) for path in sys.argv[2:]] or every
    programs = [open(path, encoding="utf-8").read() for path in glob.glob(f"{ROOT}/Samples/**/*.py", recursive=True)]
    bad = [path for path in files if not run(sys.argv[1], path) or (builds and not run(sys.argv[1], path, builds=True))]
    for path in files:
        for block in blocks(path, "python"):
            if not any(block in program for program in programs):
                print(f"{os.path.relpath(path, ROOT)}: no program under Samples has this: {block.splitlines()[0]}")
                bad.append(path)
    sys.exit(1 if bad else 0)


main()
