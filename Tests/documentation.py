#!/usr/bin/env python3
"""Checks the documentation as it is rendered: groups, links, and how soon a reader finds an answer.

    python3 Tests/documentation.py ARCHIVE

ARCHIVE is what `bash Tests/docs.sh --build` makes of all libraries, .build/documentation/all.doccarchive. It fails when

- a public symbol is in no group of its library's page, so that DocC lists it by its kind at the end;
- a link leads to a page or a section that is not there;
- one of the questions below is not answered within two clicks from the first page: one to KiiPush, one from its table to
  a section that contains the words beside the question.
"""
import glob
import json
import os
import re
import sys

ANSWERS = {
    "how do I test a rule?": "kiipush rules test",
    "what happens when my handler fails?": "dead-lettered",
    "why was this message dropped?": "kiipush tap",
    "how do I stop a loop now?": "kiipush kill",
    "how do I install it?": "sudo install",
    "how do I use it from Python?": "AF_UNIX",
}
# The types of other libraries that a library extends are listed by DocC itself.
OWN_GROUP = "Extended Modules"


def texts(node):
    """All that a reader sees of a part of a page, in order."""
    if isinstance(node, list):
        return "".join(texts(part) for part in node)
    if not isinstance(node, dict):
        return ""
    own = node.get("text", "") + node.get("code", "") if isinstance(node.get("code", ""), str) else node.get("text", "")
    if isinstance(node.get("code"), list):
        own += "\n".join(node["code"])
    parts = [node[key] for key in ("inlineContent", "content", "items", "rows") if key in node]
    return own + "".join(texts(part) for part in parts) + ("\n" if node.get("type") in ("paragraph", "heading") else "")


class Pages:
    def __init__(self, archive):
        self.folder = f"{archive}/data"
        self.known = {}

    def page(self, url):
        """A page by its address without a section, or None."""
        if url not in self.known:
            path = f"{self.folder}{url.lower()}.json"
            self.known[url] = json.load(open(path, encoding="utf-8")) if os.path.exists(path) else None
        return self.known[url]

    def content(self, url):
        sections = (self.page(url) or {}).get("primaryContentSections", [])
        return [part for section in sections for part in section.get("content", [])]

    def section(self, url):
        """The content of a section, or of the whole page; None where there is none."""
        address, _, anchor = url.partition("#")
        if self.page(address) is None:
            return None
        content = self.content(address)
        if not anchor:
            return content
        levels = [(i, part["level"]) for i, part in enumerate(content) if part.get("type") == "heading"]
        for i, level in levels:
            if content[i].get("anchor") == anchor:
                ends = [j for j, other in levels if j > i and other <= level]
                return content[i:ends[0] if ends else len(content)]
        return None


def modules(pages):
    return sorted(glob.glob(f"{pages.folder}/documentation/*.json"))


def ungrouped(pages):
    for path in modules(pages):
        page = json.load(open(path, encoding="utf-8"))
        for group in page.get("topicSections", []):
            if group.get("generated") and group.get("title") != OWN_GROUP:
                for identifier in group["identifiers"]:
                    name = page["references"][identifier]["title"]
                    yield f"{name} is in no group of Sources/{page['metadata']['title']}'s page; add it under ## Topics"


def dead_links(pages):
    for path in glob.glob(f"{pages.folder}/documentation/**/*.json", recursive=True):
        text = open(path, encoding="utf-8").read()
        for url in set(re.findall(r'"url"\s*:\s*"(\\?/documentation[^"]*)"', text)):
            url = url.replace("\\/", "/")
            address, _, anchor = url.partition("#")
            # DocC checks sections itself; a page of another library is what it cannot see.
            if pages.page(address) is None:
                yield f"{os.path.relpath(path, pages.folder)}: a link leads nowhere: {url}"


def unanswered(pages):
    first = (pages.page("/documentation") or {}).get("references", {}).values()
    if "/documentation/kiipush" not in [reference.get("url") for reference in first]:
        yield "the first page does not lead to KiiPush"
    rows = [row for part in pages.content("/documentation/kiipush") if part.get("type") == "table" for row in part["rows"]]
    references = (pages.page("/documentation/kiipush") or {}).get("references", {})
    for question, words in ANSWERS.items():
        cells = [row[1] for row in rows if texts(row[0]).strip() == question]
        if not cells:
            yield f"the page of KiiPush does not ask: {question}"
            continue
        urls = [references[name]["url"] for name in re.findall(r'"identifier": "([^"]*)"', json.dumps(cells[0]))]
        sections = [pages.section(url) for url in urls]
        if not any(section and words in texts(section) for section in sections):
            yield f"{question} {' and '.join(urls) or 'nothing'} has no '{words}'"


def main():
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    pages = Pages(sys.argv[1])
    count = len(modules(pages))
    found = [*ungrouped(pages), *dead_links(pages), *unanswered(pages)]
    for line in found:
        print(line)
    if count < 2:
        raise SystemExit(f"{sys.argv[1]} has no libraries")
    print(f"{count} libraries, {len(ANSWERS)} questions: {f'{len(found)} problems' if found else 'fine'}")
    sys.exit(1 if found else 0)


main()
