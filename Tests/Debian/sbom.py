#!/usr/bin/env python3
"""Lists what is linked into the tool, in CycloneDX's form, and fails where that is not what LISTED says.

    python3 Tests/Debian/sbom.py TOOL MAP VERSION

MAP is the linker's map of the link that made TOOL. Each archive of which the map names a part is in the tool, and each
library that `readelf -d` names is loaded with it; both must be in LISTED, and nothing else. Versions are those of the
Debian packages and of the Swift toolchain here.
"""
import hashlib
import json
import os
import re
import subprocess
import sys
import time

SWIFT = "Apache-2.0 WITH Swift-exception"
GCC = "GPL-3.0-or-later WITH GCC-exception-3.1"
# Component, license, and the archives or libraries that belong to it. Those that are archives are in the tool itself.
LISTED = [
    ("swift", SWIFT, ["libswiftCore.a", "libswiftGlibc.a", "libswiftSynchronization.a", "libswift_Concurrency.a"]),
    ("swift-corelibs-libdispatch", SWIFT, ["libBlocksRuntime.a", "libdispatch.a", "libswiftDispatch.a"]),
    ("libc6", "LGPL-2.1-or-later", ["libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2"]),
    ("libcurl4", "curl", ["libcurl.so.4"]),
    ("libgcc-s1", GCC, ["libgcc.a", "libgcc_s.so.1"]),
    ("libmosquitto1", "EPL-2.0 OR BSD-3-Clause", ["libmosquitto.so.1"]),
    ("libsqlite3-0", "blessing", ["libsqlite3.so.0"]),
    ("libstdc++6", GCC, ["libstdc++.so.6"]),
]


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def component(name, license, files):
    if name.startswith("swift"):
        version = re.search(r"Swift version (\S+)", output("swift", "--version")).group(1)
        supplier, reference = "Swift project", f"pkg:github/swiftlang/{name}@swift-{version}-RELEASE"
    else:
        version, arch = output("dpkg-query", "-W", "-f=${Version} ${Architecture}", name).split()
        supplier, reference = "Debian", f"pkg:deb/debian/{name.replace('+', '%2B')}@{version}?arch={arch}"
    return {
        "type": "library", "bom-ref": reference, "supplier": {"name": supplier}, "name": name, "version": version,
        "licenses": [{"expression": license}], "purl": reference,
        "properties": [{"name": f"kiipush:{'static' if file.endswith('.a') else 'dynamic'}", "value": file} for file in files],
    }


def main(tool, path, version):
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", output("readelf", "-d", tool))
    archives = {os.path.basename(name) for name in re.findall(r"(\S+\.a)\(", open(path, encoding="utf-8", errors="replace").read())}
    linked, listed = {*needed, *archives}, {file for _, _, files in LISTED for file in files}
    for what, names in (("linked, but not listed", linked - listed), ("listed, but not linked", listed - linked)):
        if names:
            print(f"sbom.py: {what}: {' '.join(sorted(names))}; change LISTED", file=sys.stderr)
    if linked != listed:
        return 1
    components = [component(*row) for row in LISTED]
    print(json.dumps({
        "bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
        "metadata": {
            "timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(int(os.environ["SOURCE_DATE_EPOCH"]))),
            "component": {
                "type": "application", "bom-ref": "kiipush", "name": "kiipush", "version": version,
                "hashes": [{"alg": "SHA-256", "content": hashlib.sha256(open(tool, "rb").read()).hexdigest()}],
            },
        },
        "components": components,
        "dependencies": [{"ref": "kiipush", "dependsOn": [part["bom-ref"] for part in components]}],
    }, indent=1))
    return 0


sys.exit(main(*sys.argv[1:]))
