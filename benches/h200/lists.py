"""Times lists of products of different shapes (`tiki::gemm::listed`) on an NVIDIA GPU, in turn with cuBLAS.

    TIKI_DUMP=ptx TIKI_DUMP_DIR=$PWD/target/ptx cargo check --features gemm  # wherever cargo is
    python3 benches/h200/lists.py target/ptx/tiki --csv benches/results/lists_h200.csv

A list is one launch of ours. Anchors are cuBLAS, product after product, called from PyTorch and replayed as one graph, and,
of products that share N and K, PyTorch's own grouped product (of bf16). The tables are made as `src/gemm/members.rs` makes
them, before anything is timed. How it loads, launches, times and judges is `products.py`'s.
"""

import glob
import os
import random

import gemm
import products as base
import torch

UP = base.up


def lists():
    """Name and shapes: the same in every run."""
    drawn = random.Random(1)
    eights = lambda low, high: drawn.randrange(low, high, 8)
    return {
        "32 of 8..1024 x 4096 x 2048": [(eights(8, 1024), 4096, 2048) for _ in range(32)],
        "16 of 256..2048": [tuple(eights(256, 2048) for _ in range(3)) for _ in range(16)],
        "128 of 64..512": [tuple(eights(64, 512) for _ in range(3)) for _ in range(128)],
        "8 of 4096 x 4096 x 1024": [(4096, 4096, 1024)] * 8,
    }


def tables(operands, rows, columns):
    """The arguments of a kernel that counts eights, the longest K first."""
    order = sorted(operands, key=lambda o: -o[0].shape[1])
    first = [min((o[i] for o in operands), key=lambda t: t.data_ptr()) for i in range(3)]
    begins, sizes, before = [], [], 0
    for o in order:
        begins.append([(t.data_ptr() - f.data_ptr()) // 16 for t, f in zip(o, first)] + [t.stride(0) // 8 for t in o])
        sizes.append([o[0].shape[0], o[1].shape[0] // 8, o[0].shape[1] // 8, before])
        before += UP(o[0].shape[0], rows) * UP(o[1].shape[0], columns)
    sizes.append([0, 0, 0, before])
    a, b, c = (t.flatten() for t in first)
    return {
        "a": a, "b": b, "c": c, "tiles": before, "alpha": 1.0, "beta": 0.0, "activation": 0,
        "begins": torch.tensor(begins, device="cuda"), "sizes": torch.tensor(sizes, device="cuda", dtype=torch.int32),
    }


def grouped(operands):
    """PyTorch's product of rows by the matrix of their group."""
    x = torch.cat([a for a, _ in operands]).bfloat16()
    w = torch.stack([b for _, b in operands]).bfloat16().transpose(1, 2)
    ends = torch.tensor([a.shape[0] for a, _ in operands], device="cuda").cumsum(0).int()
    return lambda: torch._grouped_mm(x, w, offs=ends)


def cases(kernels, processors):
    for dtype in ("f16", "bf16"):
        for case, shapes in lists().items():
            t = gemm.TYPES[dtype]
            operands = [tuple(torch.randn(r, k, device="cuda").to(t) for r in (m, n)) for m, n, k in shapes]
            results = lambda: [torch.full((m, n), float("nan"), device="cuda", dtype=t) for m, n, _ in shapes]
            y = results()

            def loop(operands=operands, y=y):
                for (a, b), c in zip(operands, y):
                    torch.mm(a, b.T, out=c)

            loop()
            torch.cuda.synchronize()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                loop()
            anchors = {"cuBLAS": loop, "cuBLAS in a graph": graph.replay}
            if dtype == "bf16" and len({s[1:] for s in shapes}) == 1:
                anchors["PyTorch grouped"] = grouped(operands)
            candidates, outputs = {}, {}
            for kernel in kernels:
                i = kernel.args
                if i["E"] != dtype or i["EPI"] == 1:
                    continue
                c, tile = results(), (i.get("BM", 128), i["BN"])
                named = tables([(a, b, z) for (a, b), z in zip(operands, c)], *tile)
                per = 1 if i["BN"] == 256 else 2
                candidates[kernel.title], outputs[kernel.title] = kernel.bind([per * processors], named), c
            yield f"list {case}", dtype, sum(2 * m * n * k for m, n, k in shapes), anchors, candidates, outputs, y


def main():
    options = base.arguments(__doc__).parse_args()
    table = base.Table("benches/h200/lists.py", (34, 52))
    paths = sorted(glob.glob(os.path.join(options.folder, "list_ring*.ptx")) + glob.glob(os.path.join(options.folder, "list_group*.ptx")))
    kernels = [gemm.Kernel(p) for p in paths]
    for case, dtype, flops, anchors, candidates, outputs, ref in cases(kernels, table.properties.multi_processor_count):
        furthest = lambda out: max(base.error(o, r) for o, r in zip(out, ref))
        errors = table.errors(case, candidates, outputs, furthest, 1e-2)
        times = base.measure(anchors | candidates, options.rounds)
        for anchor in anchors:
            for title, wrong in errors.items():
                table.line(case, dtype, flops, times, title, anchor, wrong)
    table.end(options.csv)


if __name__ == "__main__":
    main()
