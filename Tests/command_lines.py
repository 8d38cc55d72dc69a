#!/usr/bin/env python3
"""Checks the command lines that the README and the guides show and commands.py does not run.

    python3 Tests/command_lines.py TOOL [FILE...]

TOOL is the program kiipush, built with all traits. These are the lines of blocks without a language, and `kiipush …` within a text:
those that need root, a broker or Kii's cloud, that never end, or that name a file of the reader's. Of each is checked what can be:

- kiipush: the command exists, and has each option, as its own --help says;
- swift: the package, the product and the traits exist;
- PACKAGE/.build/release/PROGRAM: the package has the product, and its sources know each option;
- apt-get: Debian has the package; bash and python3: the script exists;
- a unit: `systemd-analyze verify` finds nothing wrong with it;
- a block that begins with `$ `: the command is run, and prints what the block shows.

What is left is printed with the reason why it is not checked.
"""
import glob
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# Programs of the system, with the reason why their lines are not checked.
LEFT_OUT = {
    "systemctl": "needs a running systemd", "journalctl": "needs a running systemd", "install": "writes to the system",
    "cp": "writes to the system", "timeout": "is run by the step 'guides'", "/usr/sbin/mosquitto": "is run by the step 'guides'",
    "mosquitto_pub": "is run by the step 'guides'", "STATE_DIRECTORY=/tmp/mqtt-agent": "is run by the step 'guides'",
    "prometheus-node-exporter": "starts a server",
}
# A program that a line before it built: its package, and its product.
BUILT = re.compile(r"(?:(.+)/)?\.build/(?:release|debug)/([\w-]+)")


class Line:
    """The checks of one command line; each yields what is wrong."""

    def __init__(self, tool):
        self.tool = os.path.abspath(tool)
        self.helps = {}
        self.described = {}
        self.skipped = []

    def help(self, words):
        """The help of a command, or None where there is none of this name."""
        key = " ".join(words)
        if key not in self.helps:
            run = subprocess.run([self.tool, *words, "--help"], capture_output=True, text=True, check=False)
            self.helps[key] = run.stdout if run.returncode == 0 and run.stdout.startswith(f"kiipush {key}".rstrip() + ":") else None
        return self.helps[key]

    def package(self, path):
        if path not in self.described:
            run = subprocess.run(["swift", "package", "dump-package"], cwd=f"{ROOT}/{path}", capture_output=True, text=True, check=True)
            package = json.loads(run.stdout)
            names = [part["name"] for key in ("products", "targets") for part in package[key]]
            self.described[path] = names, [trait["name"] for trait in package.get("traits", [])]
        return self.described[path]

    def check(self, text):
        """What is wrong with a line of a shell, command by command."""
        lexer = shlex.shlex(text, posix=True, punctuation_chars="|&;")
        lexer.whitespace_split = True
        try:
            words = list(lexer)
        except ValueError as error:
            yield f"cannot be read: {error}"
            return
        command = []
        for word in [*words, "|"]:
            if word in ("|", "&&", ";"):
                yield from self.command(command)
                command = []
            else:
                command.append(word)

    def command(self, words):
        if not words:
            return
        words = words[1:] if words[0] == "sudo" else words
        name = os.path.basename(words[0])
        if name == "kiipush":
            yield from self.kiipush(words[1:])
        elif name == "swift":
            yield from self.swift(words[1:])
        elif name == "apt-get":
            yield from self.apt(words)
        elif name in ("bash", "python3"):
            if not os.path.exists(f"{ROOT}/{words[1]}"):
                yield f"there is no {words[1]}"
        elif words[0] in LEFT_OUT:
            self.skipped.append((LEFT_OUT[words[0]], " ".join(words)))
        elif built := BUILT.fullmatch(words[0]):
            yield from self.built(*built.groups(), words[1:])
        elif name not in ("head", "source"):
            yield f"nobody knows '{words[0]}'; run the block as `sh`, or name the program in LEFT_OUT with a reason"

    def kiipush(self, words):
        command = []
        while words and not words[0].startswith("-") and self.help([*command, words[0]]) is not None:
            command.append(words.pop(0))
        text = self.help(command)
        if words and not command and not words[0].startswith("-"):
            yield f"kiipush has no command '{words[0]}'"
        if words and command and not words[0].startswith("-") and f"kiipush {' '.join(command)} COMMAND" in (text or ""):
            yield f"'kiipush {' '.join(command)}' has no command '{words[0]}'"
        known = set(re.findall(r"(?<![\w-])--?[a-z][\w-]*", text or ""))
        for word in words:
            option = word.split("=")[0]
            if option.startswith("-") and option not in known:
                yield f"'kiipush {' '.join(command)}' has no option {option}"

    def built(self, path, product, words):
        path = path or "."
        problems = list(self.swift(["build", "--package-path", path, "--product", product]))
        yield from problems
        if problems:
            return
        sources = "".join(open(file, encoding="utf-8").read() for file in glob.glob(f"{ROOT}/{path}/*/{product}/**/*.swift", recursive=True))
        for word in words:
            option = word.strip("[]").split("=")[0]
            if option.startswith("--") and f'"{option}"' not in sources:
                yield f"'{product}' has no option {option}"

    def swift(self, words):
        values = {words[i]: words[i + 1] for i in range(len(words) - 1) if words[i].startswith("--")}
        path = values.get("--package-path", ".")
        if not os.path.exists(f"{ROOT}/{path}/Package.swift"):
            yield f"there is no package in {path}"
            return
        names, traits = self.package(path)
        product = values.get("--product")
        if words[0] == "run":
            rest = words[1:]
            while rest and rest[0].startswith("-"):
                rest = rest[2:] if rest[0] in ("--package-path", "--traits", "--scratch-path", "-c") else rest[1:]
            product = rest[0] if rest else None
        if product and product not in names:
            yield f"the package {path} has no product {product}"
        for trait in (values.get("--traits") or "").split(","):
            if trait and trait not in traits:
                yield f"the package {path} has no trait {trait}"

    def apt(self, words):
        if not shutil.which("apt-cache"):
            self.skipped.append(("needs apt-cache", " ".join(words)))
            return
        for name in words[words.index("install") + 1:]:
            known = subprocess.run(["apt-cache", "show", name], capture_output=True, check=False).returncode == 0
            # A path is a package that a line before it built.
            if not name.startswith(("-", "./")) and not known:
                yield f"Debian has no package {name}"

    def unit(self, text):
        if not shutil.which("systemd-analyze"):
            self.skipped.append(("needs systemd-analyze", "a unit"))
            return
        starts = re.findall(r"^ExecStart=(.*)$", text, re.M)
        for start in starts:
            yield from self.check(start)
        with tempfile.TemporaryDirectory() as folder:
            # The program of the unit is not installed here: this one takes its place.
            text = re.sub(r"^ExecStart=\S+", f"ExecStart={self.tool}", text, flags=re.M)
            path = f"{folder}/shown.service"
            with open(path, "w", encoding="utf-8") as out:
                out.write(text)
            run = subprocess.run(["systemd-analyze", "verify", "--recursive-errors=no", path], capture_output=True, text=True, check=False)
            found = [line for line in (run.stdout + run.stderr).splitlines() if "shown.service" in line]
            if run.returncode or found:
                yield "systemd-analyze: " + "; ".join(found or [run.stderr.strip()])

    def shown(self, text):
        """A block with a command and what it prints."""
        command, *wanted = text.rstrip().split("\n")
        words = shlex.split(command[2:])
        run = subprocess.run([self.tool, *words[1:]], cwd=ROOT, capture_output=True, text=True, check=False)
        if run.stdout.rstrip().split("\n") != wanted:
            yield f"'{command[2:]}' prints:\n{run.stdout}"


def lines(path):
    """The blocks without a language as (number, text), and each `kiipush …` outside of blocks."""
    spans, block, started, language = [], None, 0, ""
    for number, line in enumerate(open(path, encoding="utf-8").read().split("\n"), 1):
        if line.startswith("```"):
            if block is None:
                block, started, language = [], number + 1, line[3:].strip()
            else:
                if not language:
                    yield started, "\n".join(block), True
                block = None
        elif block is not None:
            block.append(line)
        else:
            spans += [(number, text) for text in re.findall(r"`((?:sudo |swift run )?kiipush [^`]*)`", line)]
    for number, text in spans:
        yield number, text.replace("swift run ", ""), False


def problems(line, number, text, is_block):
    first = text.split("\n")[0]
    if first.startswith("$ "):
        yield from ((number, wrong) for wrong in line.shown(text))
    elif first.startswith("[Unit]"):
        yield from ((number, wrong) for wrong in line.unit(text))
    elif first.startswith("HEALTHCHECK"):
        yield from ((number, wrong) for wrong in line.check(shlex.join(json.loads(text[text.index("CMD") + 3:]))))
    elif first.startswith("."):
        products, _ = line.package(".")
        yield from ((number, f"the package has no product {name}")
                    for name in re.findall(r'\.product\(name: "([^"]*)", package: "kii-push"', text) if name not in products)
    elif is_block and not re.match(r"(sudo|swift|kiipush|bash|python3|journalctl|/usr/sbin/mosquitto) ", first):
        line.skipped.append(("is no command" if not first.startswith("#!") else "is an example of a reader's program", first))
    else:
        # A command may go on in the next line.
        for i, one in enumerate(re.sub(r"\\\n\s*", " ", text).split("\n")):
            # "…" stands for the options that every agent needs.
            one = one.replace(" … ", " ").replace("|mermaid|svg", "").rstrip(" &")
            yield from ((number + i, wrong) for wrong in line.check(re.sub(r" > \S+$", "", one)))


def main():
    if len(sys.argv) < 2:
        raise SystemExit(__doc__)
    every = [f"{ROOT}/README.md", *sorted(glob.glob(f"{ROOT}/Sources/*/*.docc/*.md")), *sorted(glob.glob(f"{ROOT}/Samples/**/README.md", recursive=True))]
    line = Line(sys.argv[1])
    bad, count = 0, 0
    for path in [os.path.abspath(name) for name in sys.argv[2:]] or every:
        if ".build" in path:
            continue
        before = len(line.skipped)
        for number, text, is_block in lines(path):
            count += 1
            for where, wrong in problems(line, number, text, is_block):
                print(f"{os.path.relpath(path, ROOT)}:{where}: {wrong}")
                bad += 1
        for reason, text in line.skipped[before:]:
            print(f"{os.path.relpath(path, ROOT)}: not checked, since it {reason}: {text[:80]}")
    print(f"{count} blocks and commands: {f'{bad} problems' if bad else 'fine'}")
    sys.exit(1 if bad else 0)


main()
