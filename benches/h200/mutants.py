"""Runs the mutants of `tiki-launch/tests/mutants` under NVIDIA's compute-sanitizer, beside what our machine found.

    python3 benches/h200/mutants.py OUT.csv --ours TABLE.csv [--jobs N] [--seconds S]

`TABLE.csv` is what `MUTANTS_OUT=TABLE.csv cargo test -p tiki-launch --test mutants` wrote. Every mutant runs in
processes of its own, one for each tool, with a limit of S seconds: some never end. A cell says `nothing`, how many
reports and of which kind, `hangs`, `not run`, or the error of the driver. Needs a Hopper card and compute-sanitizer.

    python3 benches/h200/mutants.py --one KERNEL MUTANT

runs one of them without a tool ("" is the correct kernel).
"""

import argparse
import concurrent.futures
import csv
import ctypes
import datetime
import json
import os
import pathlib
import re
import signal
import struct
import subprocess
import sys
import time

DATA = pathlib.Path(__file__).resolve().parents[2] / "tiki-launch" / "tests" / "mutants"
TOOLS = ["racecheck", "synccheck", "memcheck"]
DEADLINE = float("inf")
WIDTH = {"f16": 2, "bf16": 2, "f32": 4, "u32": 4, "u64": 8}


def mutants():
    for line in (DATA / "mutants.tsv").read_text().splitlines():
        kernel, name, codes, nth, find, replace = line.split("\t")
        yield kernel, name, codes, int(nth), find.replace("\\n", "\n"), replace.replace("\\n", "\n")


def text_of(launch, kernel, mutant):
    text = (DATA / launch["file"]).read_text()
    if not mutant:
        return text
    for k, name, _, nth, find, replace in mutants():
        if (k, name) == (kernel, mutant):
            at = -1
            for _ in range(nth):
                at = text.index(find, at + 1)
            return text[:at] + replace + text[at + len(find):]
    raise SystemExit(f"no mutant {mutant} of {kernel}")


def content(b):
    width, count = WIDTH[b["type"]], b["count"]
    if b["fill"] == "zero":
        return bytes(width * count)
    state = 7
    for c in b["buffer"].encode():
        state = (state * 31 + c) & 0xFFFFFFFF
    out = bytearray()
    for _ in range(count):
        state = (state * 1664525 + 1013904223) & 0xFFFFFFFF
        x = (state >> 16) / 32768.0 - 1.0
        if b["type"] == "f16":
            out += struct.pack("<e", x)
        elif b["type"] == "bf16":
            bits = struct.unpack("<I", struct.pack("<f", x))[0]
            out += struct.pack("<H", (bits + 0x7FFF + (bits >> 16 & 1)) >> 16)
        else:
            out += struct.pack("<f", x)
    return bytes(out)


def one(kernel, mutant):
    launch = json.loads((DATA / "launches.json").read_text())[kernel]
    cuda = ctypes.CDLL("libcuda.so.1")

    def call(name, *args):
        r = getattr(cuda, name)(*args)
        if r:
            what = ctypes.c_char_p()
            cuda.cuGetErrorName(r, ctypes.byref(what))
            print(f"driver: {name}: {what.value.decode() if what.value else r}")
            sys.stdout.flush()
            os._exit(3)

    call("cuInit", 0)
    device, context = ctypes.c_int(), ctypes.c_void_p()
    call("cuDeviceGet", ctypes.byref(device), 0)
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
    call("cuCtxSetCurrent", context)
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    call("cuModuleLoadData", ctypes.byref(module), text_of(launch, kernel, mutant).encode() + b"\0")
    call("cuModuleGetFunction", ctypes.byref(function), module, launch["entry"].encode())
    if launch["shared"] > 48 * 1024:
        call("cuFuncSetAttribute", function, 8, launch["shared"])
    at = {}
    for b in launch.get("buffers", []) + launch["args"]:
        if "buffer" not in b:
            continue
        data = content(b)
        p = ctypes.c_uint64()
        call("cuMemAlloc_v2", ctypes.byref(p), ctypes.c_size_t(len(data)))
        call("cuMemcpyHtoD_v2", p, data, ctypes.c_size_t(len(data)))
        at[b["buffer"]] = p.value
    values = []
    for a in launch["args"]:
        if "buffer" in a:
            values.append(ctypes.c_uint64(at[a["buffer"]]))
        elif "u32" in a:
            values.append(ctypes.c_uint32(a["u32"]))
        elif "u8" in a:
            values.append(ctypes.c_uint8(a["u8"]))
        elif "f32" in a:
            values.append(ctypes.c_float(a["f32"]))
        else:
            raw = (ctypes.c_char * 192)()
            start = (64 - ctypes.addressof(raw) % 64) % 64
            m = (ctypes.c_char * 128).from_buffer(raw, start)
            rank = len(a["dims"])
            dims = (ctypes.c_uint64 * rank)(*a["dims"])
            strides, step = [], 2
            for d in a["dims"][:-1]:
                step *= d
                strides.append(step)
            strides = (ctypes.c_uint64 * max(len(strides), 1))(*strides)
            box = (ctypes.c_uint32 * rank)(*a["box"])
            ones = (ctypes.c_uint32 * rank)(*[1] * rank)
            kind = {"f16": 6, "bf16": 9}[a["type"]]
            call("cuTensorMapEncodeTiled", m, kind, rank, ctypes.c_uint64(at[a["map"]]), dims, strides, box, ones,
                 0, 3, 0, 0)
            values.append(m)
    pointers = (ctypes.c_void_p * len(values))(*[ctypes.addressof(v) for v in values])
    # The cluster's shape stands in the text.
    call("cuLaunchKernel", function, *launch["grid"], *launch["block"], launch["shared"], None, pointers, None)
    call("cuCtxSynchronize")
    print("done")


def run(job):
    kernel, name, tool, seconds = job
    own = [sys.executable, __file__, "--one", kernel, name]
    command = own if tool == "plain" else ["compute-sanitizer", "--tool", tool, "--print-limit", "50"] + own
    if time.monotonic() > DEADLINE:
        return "not run"
    # A session of its own, so that the end of the tool is the end of what it watches too.
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          start_new_session=True) as r:
        try:
            out, _ = r.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(r.pid, signal.SIGKILL)
            out, _ = r.communicate()
            out += "\nhangs"
    kinds = []
    patterns = [r"(Invalid __\w+__ \w+)", r"(Misaligned \w+ \w+)", r"((?:Error|Warning): (?:Potential )?\w+ hazard)",
                r"(Race reported)", r"(Barrier error detected[^.\n]*)", r"(Uninitialized \w+ memory read)"]
    for p in patterns:
        n = re.findall(p, out)
        if n:
            kinds.append(f"{len(n)} x {n[0].lower()}")
    total = re.search(r"(?:ERROR SUMMARY: (\d+) error|RACECHECK SUMMARY: (\d+) hazard)", out)
    driver = re.search(r"driver: (.*)", out)
    if driver:
        kinds.append(driver.group(1))
    if not kinds and total and int(total.group(1) or total.group(2) or 0) > 0:
        kinds.append(f"{total.group(1) or total.group(2)} reports")
    if out.endswith("\nhangs"):
        kinds.append("hangs")
    if not kinds and r.returncode not in (0,) and not total:
        kinds.append(f"fails: {out.strip().splitlines()[-1][:80] if out.strip() else r.returncode}")
    return "; ".join(kinds) or "nothing"


def main():
    p = argparse.ArgumentParser()
    p.add_argument("out", nargs="?")
    p.add_argument("--one", nargs=2)
    p.add_argument("--ours")
    p.add_argument("--jobs", type=int, default=12)
    p.add_argument("--seconds", type=float, default=8, help="limit of a process")
    p.add_argument("--budget", type=float, default=600, help="seconds after which no process is started")
    args = p.parse_args()
    if args.one:
        return one(*args.one)
    ours = {}
    if args.ours:
        for row in csv.DictReader(open(args.ours)):
            ours[row["kernel"], row["mutant"]] = row
    names = sorted({k for k, *_ in mutants()})
    rows = [(k, "", "") for k in names] + [(k, n, c) for k, n, c, *_ in mutants()]
    tools = ["plain"] + TOOLS
    jobs = [(k, n, t, args.seconds) for t in tools for k, n, _ in rows]
    global DEADLINE
    DEADLINE = time.monotonic() + args.budget
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        found = dict(zip([j[:3] for j in jobs], pool.map(run, jobs)))
    smi = subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"], capture_output=True,
                         text=True).stdout.strip()
    version = subprocess.run(["compute-sanitizer", "--version"], capture_output=True, text=True).stdout
    version = (re.findall(r"Version (\S+)", version) or ["?"])[0]
    with open(args.out, "w", newline="") as f:
        f.write(f"# {datetime.date.today()}, {smi}, compute-sanitizer {version}; python3 benches/h200/mutants.py, "
                f"{args.seconds:g} s a process\n")
        w = csv.writer(f)
        w.writerow(["kernel", "mutant", "wanted", "ours, late", "ours, eager", "without a tool"] + TOOLS)
        for k, n, c in rows:
            mine = ours.get((k, n.replace(",", ";")), {})
            w.writerow([k, n or "(correct)", c.replace("|", " "), mine.get("late", ""), mine.get("eager", "")]
                       + [found[k, n, t] for t in tools])
    for t in tools:
        quiet = ("nothing", "hangs", "not run") if t != "plain" else ("nothing", "not run")
        seen = sum(found[k, n, t] not in quiet for k, n, _ in rows if n)
        alarms = sum(found[k, n, t] not in quiet for k, n, _ in rows if not n)
        print(f"{t}: {seen} of {sum(bool(n) for _, n, _ in rows)} mutants, {alarms} of {len(names)} correct kernels")


if __name__ == "__main__":
    main()
