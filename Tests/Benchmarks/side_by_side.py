#!/usr/bin/env python3
"""Runs KiiPush and receivers written by hand in turn on the same bytes, and prints a table of what they cost.

run.sh builds the programs into FOLDER and starts it: side_by_side.py FOLDER [--rounds N] [--guide]
"""
import argparse
import os
import pathlib
import re
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
OURS, WATCHED, CONTRACT = "KiiPush", "KiiPush, own middleware and trace listener", "Rust by hand, of KiiPush's contract"
# Each receiver's program in FOLDER, and what else it is told.
RECEIVERS = {
    OURS: ["kiipush-peer", "plain"],
    WATCHED: ["kiipush-peer", "watched"],
    CONTRACT: ["rust-peer", "shared"],
    "Rust by hand": ["rust-peer", "own"],
    "Swift by hand, Foundation": ["foundation"],
}
OUTCOMES = {"handled", "duplicate", "looped", "paced", "refused", "unrouted", "undecodable"}
# More than a window of duplicates holds, so that the first ones are forgotten before the end.
MESSAGES, PASSES = 24_000, 4
# What the handler reads of each message: the lengths of its bucket, object and user.
READ = len("bucketName") + 36 + 36
BEGIN, END = "<!-- written by: bash Tests/Benchmarks/run.sh --guide -->", "<!-- end of what run.sh writes -->"


def run(*command):
    process = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if process.returncode:
        raise SystemExit(f"{' '.join(map(str, command))}: exit {process.returncode}")
    return process.stdout


def sample(number):
    """The documented Push to App of 227 bytes; nine hundred objects take turns."""
    return ('{"aps":{"content-available":1},"bi":"bucketName","bt":"rw",'
            f'"oi":"fedcba09-8765-4321-fedc-ba0987654{100 + number % 900}","sa":"0123abcd","st":"APP_AND_USER",'
            f'"su":"01234567-89ab-cdef-0123-456789abcdef","t":"DATA_OBJECT_CREATED","w":{1_403_844_866_395 + number}}}\n')


def check(programs, folder):
    """Fails unless every program understands each case as KiiPush does, and there is one of each outcome."""
    lines = [line for line in open(HERE / "cases.txt", encoding="utf-8") if line.strip() and line[0] != "#"]
    # The 21st message of one object at once waits, and so does the 22nd.
    lines += ['{"aps":{},"bi":"bucketName","oi":"hot","st":"APP","t":"DATA_OBJECT_UPDATED","w":%d}\n' % w
              for w in range(100, 122)]
    cases = folder / "cases.jsonl"
    cases.write_text("".join(lines), encoding="utf-8")
    answers = {title: run(*program, "check", cases).splitlines() for title, program in programs.items()}
    ours = answers[OURS]
    missing = OUTCOMES - {answer.split("\t")[-1] for answer in ours}
    if len(ours) != len(lines) or missing:
        raise SystemExit(f"{len(ours)} answers to {len(lines)} cases, without {missing}")
    for title, answer in answers.items():
        for line, wanted, found in zip(lines, ours, answer + [""] * len(lines)):
            if found != wanted:
                raise SystemExit(f"{title} differs from KiiPush in\n  {line}  KiiPush: {wanted}\n  {title}: {found}")


def time(programs, folder, rounds):
    """The nanoseconds of a message in each round, by program; they take turns on the last core, the least busy one."""
    file = folder / "sample.jsonl"
    file.write_text("".join(map(sample, range(MESSAGES))))
    count = PASSES * MESSAGES
    times = {title: [] for title in programs}
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(cores)})
    for number in range(rounds):
        print(f"round {number + 1} of {rounds}", file=sys.stderr)
        for title, program in programs.items():
            nanoseconds, handled, read = map(int, run(*program, "time", file, str(PASSES)).split())
            if (handled, read) != (count, count * READ):
                raise SystemExit(f"{title}: {handled} of {count} handled, {read} of {count * READ} bytes read")
            times[title].append(nanoseconds / count)
    os.sched_setaffinity(0, cores)
    return times


def table(times, rounds):
    processor = re.search(r"model name\s*: (.*)", open("/proc/cpuinfo").read())
    load = os.getloadavg()[0]
    busy = f" The machine had other work meanwhile, with a load of {load:.1f}: these times are too long." if load > 2 else ""
    swift = re.search(r"Swift version [\d.]+", run("swift", "--version"))[0]
    rust = " ".join(run("rustc", "--version").split()[:2])
    yield (f"{processor[1] if processor else 'A processor'}, {os.cpu_count()} cores; medians of {rounds} rounds, the "
           f"programs in turn on one core; {swift}, {rust}.{busy}\n")
    median = {title: statistics.median(values) for title, values in times.items()}
    yield "| receiver, 100 routes | ns a message | fastest to slowest | to Rust of the same contract |"
    yield "|---|--:|--:|--:|"
    for title in sorted(times, key=median.get):
        yield (f"| {title} | {median[title]:,.0f} | {min(times[title]):,.0f} … {max(times[title]):,.0f} "
               f"| {median[title] / median[CONTRACT]:.2f} × |")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--guide", action="store_true")
    options = parser.parse_args()
    programs = {title: [options.folder / command[0], *command[1:]] for title, command in RECEIVERS.items()}
    check(programs, options.folder)
    times = time(programs, options.folder, options.rounds)
    text = "\n".join(table(times, options.rounds))
    print(text)
    if options.guide:
        guide = HERE / "README.md"
        before, rest = guide.read_text(encoding="utf-8").split(BEGIN)
        guide.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{rest.split(END)[1]}", encoding="utf-8")


main()
