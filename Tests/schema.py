#!/usr/bin/env python3
"""Validates every rules file of the repository against the schema that the tool prints, with a validator that is not ours.

    python3 Tests/schema.py TOOL

The rules files are those of Samples, and the JSON blocks of README and guides that begin with a version. Each must be valid, and each
must be refused when a key of it is mistyped: a validator that takes everything would prove nothing.
"""
import glob
import json
import os
import re
import subprocess
import sys

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


main()
