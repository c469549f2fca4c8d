"""Counts what shared and global accesses cost on a card, as an oracle for the model in `tiki-layout/src/banks/`.

    python3 benches/h200/banks.py OUT.csv [--patterns N]

Each row is one request of one warp: the operation, the bytes per lane, the lanes' byte addresses (`-` where a lane
is predicated off) and the profiler's counts. Needs nvcc and ncu. `tiki-layout/tests/banks.rs` reads the
file and holds the model to it.
"""

import argparse
import csv
import datetime
import io
import pathlib
import random
import subprocess
import sys
import tempfile

SOURCE = r"""
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>
struct Request { int op; int address[32]; };
__constant__ Request request;

__global__ void probe(char* memory, unsigned never) {
    extern __shared__ __align__(16) char tile[];
    unsigned base = (unsigned)__cvta_generic_to_shared(tile);
    int at = request.address[threadIdx.x];
    unsigned s = base + at, a = threadIdx.x, b = 1, c = 2, d = 3;
    unsigned long long g = (unsigned long long)memory + at;
    if (at >= 0) switch (request.op) {
    case 0: asm volatile("ld.shared.u8 %0, [%1];" : "=r"(a) : "r"(s)); break;
    case 1: asm volatile("ld.shared.u16 %0, [%1];" : "=r"(a) : "r"(s)); break;
    case 2: asm volatile("ld.shared.b32 %0, [%1];" : "=r"(a) : "r"(s)); break;
    case 3: asm volatile("ld.shared.v2.b32 {%0, %1}, [%2];" : "=r"(a), "=r"(b) : "r"(s)); break;
    case 4: asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];" : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "r"(s)); break;
    case 5: asm volatile("st.shared.b32 [%0], %1;" :: "r"(s), "r"(a)); break;
    case 6: asm volatile("st.shared.v2.b32 [%0], {%1, %2};" :: "r"(s), "r"(a), "r"(b)); break;
    case 7: asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" :: "r"(s), "r"(a), "r"(b), "r"(c), "r"(d)); break;
    case 8: asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(a) : "r"(s)); break;
    case 9: asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];" : "=r"(a), "=r"(b) : "r"(s)); break;
    case 10: asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "r"(s)); break;
    case 11: asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" :: "r"(s), "r"(a), "r"(b), "r"(c), "r"(d)); break;
    case 12: asm volatile("ld.global.b32 %0, [%1];" : "=r"(a) : "l"(g)); break;
    case 13: asm volatile("ld.global.v2.b32 {%0, %1}, [%2];" : "=r"(a), "=r"(b) : "l"(g)); break;
    case 14: asm volatile("ld.global.v4.b32 {%0, %1, %2, %3}, [%4];" : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "l"(g)); break;
    case 15: asm volatile("ld.global.u16 %0, [%1];" : "=r"(a) : "l"(g)); break;
    }
    if (a + b + c + d == never) ((unsigned*)memory)[threadIdx.x] = a;
}

int main(int n, char** args) {
    FILE* file = fopen(args[1], "r");
    char* memory;
    cudaMalloc(&memory, 1 << 20);
    cudaMemset(memory, 0, 1 << 20);
    cudaFuncSetAttribute(probe, cudaFuncAttributeMaxDynamicSharedMemorySize, 64 << 10);
    Request r;
    while (fscanf(file, "%d", &r.op) == 1) {
        for (int i = 0; i < 32; i++) if (fscanf(file, "%d", &r.address[i]) != 1) return 2;
        cudaMemcpyToSymbol(request, &r, sizeof r);
        probe<<<1, 32, 64 << 10>>>(memory, 0xfffffff1u);
        if (cudaDeviceSynchronize() != cudaSuccess) { printf("%s\n", cudaGetErrorString(cudaGetLastError())); return 1; }
    }
    return 0;
}
"""

# Name, bytes per lane, lanes that give an address.
OPS = [
    ("ld.shared", 1, 32), ("ld.shared", 2, 32), ("ld.shared", 4, 32), ("ld.shared", 8, 32), ("ld.shared", 16, 32),
    ("st.shared", 4, 32), ("st.shared", 8, 32), ("st.shared", 16, 32),
    ("ldmatrix", 16, 8), ("ldmatrix", 16, 16), ("ldmatrix", 16, 32), ("stmatrix", 16, 32),
    ("ld.global", 4, 32), ("ld.global", 8, 32), ("ld.global", 16, 32), ("ld.global", 2, 32),
]
SHARED = "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum"
SECTORS = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"


def patterns(rng, count):
    """Strides, swizzled columns, broadcasts, permutations and noise, of every operation in turn."""
    for k in range(count):
        op = k % len(OPS)
        name, width, lanes = OPS[op]
        span = (48 << 10) // width
        kind = rng.randrange(5)
        if kind == 0:
            stride = rng.choice([1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 31, 32, 33])
            element = [lane * stride for lane in range(32)]
        elif kind == 1:
            rows, row = rng.choice([2, 4, 8, 16, 32]), rng.choice([64, 128, 256]) // width or 1
            mask, shift = rng.choice([1, 3, 7]), rng.choice([0, 1, 2])
            element = [(lane % rows) * row + ((lane // rows) ^ ((lane >> shift) & mask)) for lane in range(32)]
        elif kind == 2:
            few = [rng.randrange(span) for _ in range(rng.choice([1, 2, 3, 5]))]
            element = [rng.choice(few) for _ in range(32)]
        elif kind == 3:
            element = rng.sample(range(64), 32)
        else:
            element = [rng.randrange(span) for _ in range(32)]
        start = rng.choice([0, 0, 1, 3])
        address = [((start + e) % span) * width for e in element]
        if name.endswith("matrix"):
            address = [a if lane < lanes else address[0] for lane, a in enumerate(address)]
        elif rng.random() < 0.2:
            address = [a if rng.random() < 0.7 else -1 for a in address]
            address[0] = max(address[0], 0)
        yield op, address


def pairs(rng):
    """Wide requests whose lanes come in pairs with one address: the card may serve two phases of them at once."""
    for op in [3, 4, 6, 7]:
        width = OPS[op][1]
        for apart in [1, 2, 4, 8, 16]:
            for kind in ["plain", "few", "first", "last", "middle", "off", "pair off", "half off", "mixed"]:
                span = 64 if kind == "few" else 1024
                element = [rng.randrange(span) for _ in range(32)]
                element = [element[lane & ~apart] for lane in range(32)]
                stray = {"first": 0, "last": 31, "middle": 13}.get(kind)
                if stray is not None:
                    element[stray] += 1
                if kind == "mixed":
                    half = [rng.randrange(span) for _ in range(32)]
                    element[16:] = [half[lane & ~(apart % 2 + 1)] for lane in range(16, 32)]
                off = {"off": [5], "pair off": [9, 9 ^ apart], "half off": range(16, 32)}.get(kind, [])
                yield op, [-1 if lane in off else e * width for lane, e in enumerate(element)]


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("out", type=pathlib.Path)
    options.add_argument("--patterns", type=int, default=640)
    options = options.parse_args()
    rng = random.Random(20261129)
    rows = [*patterns(rng, options.patterns), *pairs(rng)]
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "probe.cu").write_text(SOURCE)
        (folder / "rows.txt").write_text("\n".join(" ".join(map(str, [op, *address])) for op, address in rows))
        subprocess.run(["nvcc", "-O2", "-arch=native", "-o", folder / "probe", folder / "probe.cu"], check=True)
        log = subprocess.run(
            ["ncu", "--csv", "--page", "raw", "--clock-control", "none", "--metrics", f"{SHARED},{SECTORS}",
             folder / "probe", folder / "rows.txt"],
            check=True, capture_output=True, text=True).stdout
    table = log[log.index('"ID"'):]
    measured = [row for row in csv.DictReader(io.StringIO(table)) if row["ID"]]
    if len(measured) != len(rows):
        sys.exit(f"{len(rows)} requests, {len(measured)} measured")
    card, driver = subprocess.run(
        ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"],
        check=True, capture_output=True, text=True).stdout.strip().split("\n")[0].split(", ")
    with options.out.open("w", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(["date", "card", "driver", "operation", "bytes", "addresses", "wavefronts", "sectors"])
        for (op, address), row in zip(rows, measured):
            name, width, lanes = OPS[op]
            given = " ".join("-" if a < 0 else str(a) for a in address[:lanes])
            out.writerow([datetime.date.today(), card, driver, name, width, given,
                          int(float(row[SHARED])), int(float(row[SECTORS]))])
    print(f"{len(rows)} requests on {card}")


if __name__ == "__main__":
    main()
