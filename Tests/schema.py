#!/usr/bin/env python3
"""Validates every rules file of the repository against the schema that the tool prints, with a validator that is not ours.

    python3 Tests/schema.py TOOL

The rules files are those of Samples, and the JSON blocks of README and guides that begin with a version. Each must be valid, and each
must be refused when a key of it is mistyped: a validator that takes everything would prove nothing. The parts of rules files in
schema.txt are taken or refused by the schema and by the tool's parser alike.
"""
import glob
import json
import os
import re
import subprocess
import sys
import tempfile

import jsonschema

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def rules_files():
    for path in glob.glob(f"{ROOT}/Samples/**/*.json", recursive=True):
        text = open(path, encoding="utf-8").read()
        if ".build" not in path and re.match(r'\{\s*"version"', text) and '"rules"' in text:
            yield path, json.loads(text)
    for path in glob.glob(f"{ROOT}/**/*.md", recursive=True):
        if ".build" in path:
            continue
        text = open(path, encoding="utf-8").read()
        for number, block in enumerate(re.findall(r"^```json\n(.*?)^```$", text, re.M | re.S), 1):
            if block.startswith('{"version"'):
                yield f"{path}, block {number}", json.loads(block)


RULE = '{"id":"r","then":{"handler":"h"}'
PLACES = {
    "root": '{"version":1,"rules":[],%s}',
    "rule": '{"version":1,"rules":[%s]}',
    "member": f'{{"version":1,"rules":[{RULE},%s}}]}}',
    "when": f'{{"version":1,"rules":[{RULE},"when":{{%s}}}}]}}',
    "data": f'{{"version":1,"rules":[{RULE},"when":{{"data":{{"a":%s}}}}}}]}}',
    "step": f'{{"version":1,"rules":[{RULE}}}],"tests":[{{"name":"n","steps":[%s]}}]}}',
}


def parts():
    """The parts of schema.txt: whether each is taken, its line, and a rules file with it."""
    for line in open(f"{ROOT}/Tests/schema.txt", encoding="utf-8"):
        if not line.startswith("#"):
            verdict, place, part = line.rstrip("\n").split(" ", 2) if line.count(" ") > 1 else [*line.split(), ""]
            yield verdict == "yes", line.strip(), PLACES[place].replace("%s", part)


def refused_by_the_parser(tool, texts):
    """The numbers of the rules files that the tool cannot read."""
    with tempfile.TemporaryDirectory() as folder:
        names = [f"{folder}/{number}.json" for number in range(len(texts))]
        for name, text in zip(names, texts):
            open(name, "w", encoding="utf-8").write(text)
        lint = subprocess.run(
            [tool, "rules", "lint", "--format", "json", *names], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        findings = [json.loads(line) for line in lint.stdout.splitlines()]
        return {names.index(finding["file"]) for finding in findings if "problems" in finding}


def check_parts(tool, validator):
    cases = list(parts())
    refused = refused_by_the_parser(tool, [text for _, _, text in cases])
    for number, (is_taken, line, text) in enumerate(cases):
        if (number not in refused) != is_taken:
            sys.exit(f"schema.txt: the parser is of another opinion: {line}")
        if validator.is_valid(json.loads(text)) != is_taken:
            sys.exit(f"schema.txt: the schema is of another opinion: {line}")
    if len(cases) < 100 or not refused:
        sys.exit(f"only {len(cases)} parts of rules files were found")
    print(f"{len(cases)} parts of rules files are taken or refused by the schema and the parser alike")


def main():
    schema = json.loads(subprocess.run([sys.argv[1], "rules", "schema"], check=True, stdout=subprocess.PIPE).stdout)
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    count = 0
    for name, rules in rules_files():
        count += 1
        for error in validator.iter_errors(rules):
            sys.exit(f"{os.path.relpath(name, ROOT)}: the schema refuses it: /{'/'.join(map(str, error.path))}: {error.message[:200]}")
        for key in rules:
            if validator.is_valid({("x" + other if other == key else other): value for other, value in rules.items()}):
                sys.exit(f"{os.path.relpath(name, ROOT)}: the schema takes the key 'x{key}'")
    if count < 6:
        sys.exit(f"only {count} rules files were found")
    print(f"{count} rules files are as the schema says")
    check_parts(sys.argv[1], validator)


main()
