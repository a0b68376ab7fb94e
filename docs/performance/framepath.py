#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
"""Makes the frame path's tables (Markdown) and plots (framepath-*.png, beside this script) from the results of a
bundle's `run.sh framepath` on a machine with a GPU.

usage: docs/performance/framepath.py FOLDER [PAGE.md]

FOLDER holds framepath-PART.json, or a part's rows in several files framepath-PART-*.json; missing parts are left out.
Each table of PAGE.md lies between two markers, "<!-- framepath NAME: begin -->" and "<!-- framepath NAME: end -->";
this script replaces what is between them, appends tables that the page does not have, and keeps everything else.
Without PAGE.md the tables go to stdout. Needs gnuplot with cairo.
"""
import glob
import json
import os
import subprocess
import sys

import page

DOCS = os.path.dirname(os.path.abspath(__file__))
TERMINAL = "pngcairo size 900,600 font 'sans,11'"
PRESET = " backend=cuda on-gpu-error=error"
SIZES = {(1920, 1080): "1080p", (3840, 2160): "4K"}


def load(folder, part):
    results = None
    for path in sorted(glob.glob(os.path.join(folder, f"framepath-{part}.json"))
                       + glob.glob(os.path.join(folder, f"framepath-{part}-*.json"))):
        with open(path, encoding="utf-8") as file:
            more = json.load(file)
        for row in more["rows"]:
            row["limits"] = more["limits"]  # of the machine that measured the row
        if results:
            results["rows"] += more["rows"]
        else:
            results = more
    return results


def good(results):
    return [row for row in results["rows"] if row["state"] == "good"]


def name_of(line):
    return line.replace(PRESET, "")


def short(row):
    """Returns the number and names of a chain's elements, or a single element as typed."""
    line = name_of(row["line"])
    parts = [part.strip() for part in line.split(" ! ")]
    return line if len(parts) == 1 else f"{len(parts)}: " + ", ".join(part.split()[0] for part in parts)


def size_of(row):
    return SIZES.get((row["width"], row["height"]), f'{row["width"]} x {row["height"]}')


TABLES = {}  # by name, in the order in which they were made


def table(name, head, rows):
    TABLES[name] = page.table(head, rows)


def write_tables(path):
    for name, rows in TABLES.items():
        if path:
            page.replace(path, f"framepath {name}", rows)
        else:
            print(f"{name}\n\n{rows}")


def limits(results):
    rows = []
    for limit in results["limits"]:
        frames = limit["link_both_gbs"] * 1e9 / limit["frame_bytes"]
        rows.append([size_of(limit), f'{limit["link_up_gbs"]:.1f}', f'{limit["link_down_gbs"]:.1f}',
                     f'{limit["link_both_gbs"]:.1f}', f"{frames:.0f}", f'{limit["link_trip_us"]:.0f}',
                     f'{limit["memcpy_one_thread_gbs"]:.1f}', f'{limit["memcpy_all_threads_gbs"]:.1f}'])
    table("limits", ["NV12", "link up GB/s", "down", "both at once, each direction", "= frames/s",
                     "up, down and waited for, us", "memcpy, one thread, GB/s", "all threads"], rows)


def share_of(row, results, name):
    """Returns the share of a limit, which comes from another part if the row's own run has no limits."""
    for limit in row["limits"] or (results["limits"] if results else []):
        if size_of(limit) == size_of(row):
            return row["frames_per_second"] * row["frame_bytes"] / 1e9 / limit[name]
    return 0


def in_flight(name, results, measured, limit):
    """Makes a table of frames/s and their share of the limit, one column per number of frames in flight."""
    rows = [row for row in good(results) if not row["bare"]]
    depths = sorted({int(row["value"]) for row in rows})
    out = []
    for key in dict.fromkeys((row["line"], size_of(row)) for row in rows):
        mine = {int(row["value"]): row for row in rows if (row["line"], size_of(row)) == key}
        out.append([name_of(key[0]), key[1]] + [
            f'{mine[d]["frames_per_second"]:.0f} ({100 * share_of(mine[d], measured, limit):.0f} %)' if d in mine
            else "-" for d in depths])
    table(name, ["element", "NV12"] + [f"{d} in flight" for d in depths], out)


def latency(results):
    out = []
    for kernel_row in (row for row in results["rows"] if row["bare"]):
        for row in good(results):
            if (row["bare"] or row["value"] != "1" or row["line"] != kernel_row["line"]
                    or size_of(row) != size_of(kernel_row)):
                continue
            p50 = kernel_row.get("latency_p50_ms", 0) * 1e3
            out.append([name_of(row["line"]), size_of(row), f'{row["latency_p50_ms"] * 1e3:.0f}',
                        f'{row["latency_p99_ms"] * 1e3:.0f}', f"{p50:.0f}" if p50 else "-",
                        f'{row["latency_p50_ms"] * 1e3 / p50:.2f}' if p50 else "-", kernel_row.get("note", "")])
    table("latency", ["element", "NV12", "p50 us", "p99 us", "kernels only us", "p50 / kernels only",
                      "kernels only, by transfer mode"], out)


def kernel_us(row):
    return sum(element["kernel_p50_us"] for element in row["elements"])


def chains(results):
    out = []
    kernels_only = {(row["line"], size_of(row)): row for row in good(results) if row["bare"]}
    for row in good(results):
        kernel_row = kernels_only.get((row["line"], size_of(row)))
        if row["bare"] or not kernel_row:
            continue
        out.append([short(row), size_of(row), f'{row["frames_per_second"]:.0f}', f'{row["frame_ms"] * 1e3:.1f}',
                    f'{kernel_row["frame_ms"] * 1e3:.1f}', f'{row["over_bare_us"]:.1f}',
                    f'{row["over_bare_us"] / len(row["elements"]):.1f}', f'{row["latency_p50_ms"] * 1e3:.0f}',
                    f'{kernel_row["latency_p50_ms"] * 1e3:.0f}', f'{row["latency_p99_ms"] * 1e3:.0f}'])
    table("chain", ["elements", "NV12", "frames/s", "us per frame", "kernels only, queued", "more", "more per element",
                    "p50 us", "kernels only, one by one", "p99 us"], out)


def cameras(parts, flight):
    out = []
    for results in parts:
        measured = results if results["limits"] else flight
        for row in sorted(good(results), key=lambda row: row["cameras"]):
            out.append([row["cameras"], row["processes"], f'{row["seconds"]:.0f}', f'{row["frames_per_second"]:.0f}',
                        f'{row["dropped"]} ({100 * row["dropped"] / row["due"]:.2f} %)',
                        f'{row["late"]}', f'{row["latency_p50_ms"]:.2f}', f'{row["latency_p99_ms"]:.2f}',
                        f'{row["latency_max_ms"]:.1f}', f'{row["cores_busy"]:.1f}',
                        # with several processes a kernel's time includes its wait for the others' time slices
                        f'{kernel_us(row) * row["frames_per_second"] / 1e4:.0f}' if row["processes"] == 1 else "-",
                        f'{100 * share_of(row, measured, "link_both_gbs"):.0f}'])
    table("cameras", ["cameras", "processes", "s", "frames/s", "dropped", "late", "p50 ms", "p99", "max", "cores",
                      "kernels %", "% of the link"], out)


def sizes(results):
    """Makes a table with a column per frame size and a row per memory."""
    rows = good(results)
    columns = list(dict.fromkeys(size_of(row) for row in sorted(rows, key=lambda row: row["width"] * row["height"])))
    out = []
    for line, memory in dict.fromkeys((row["line"], row["memory_asked"]) for row in rows):
        mine = {size_of(row): row for row in rows if (row["line"], row["memory_asked"]) == (line, memory)}
        name = f'{name_of(line)}, {"CUDA" if memory == "cuda" else "system"} memory'
        out.append([name + ", frames/s"] + [f'{mine[c]["frames_per_second"]:.0f}' if c in mine else "-"
                                            for c in columns])
        if memory != "cuda":
            out.append(["share of the link"] + [
                f'{100 * share_of(mine[c], results, "link_both_gbs"):.0f} %' if c in mine else "-" for c in columns])
    table("sizes", ["NV12"] + columns, out)


def kernels(results):
    """Makes a table with a column per size of the window and two rows per element."""
    rows = good(results)
    columns = sorted({int(row["value"]) for row in rows})
    out = []
    for line in dict.fromkeys(row["line"] for row in rows):
        mine = {int(row["value"]): row for row in rows if row["line"] == line}
        out.append([name_of(line) + ", frames/s"] + [f'{mine[c]["frames_per_second"]:.0f}' if c in mine else "-"
                                                     for c in columns])
        out.append(["its kernels, us per frame"] + [f"{kernel_us(mine[c]):.0f}" if c in mine else "-"
                                                    for c in columns])
    table("kernels", ["kernel-size"] + columns, out)


# ---- plots


def quote(words):
    return "'" + words.replace("'", "''") + "'"


def plot(name, results, settings, data, curves):
    title = f'{results["machine"]["gpu"]}, {results["machine"]["cores"]} cores beside it, GStreamer'
    blocks = ""
    for i, points in enumerate(data):
        blocks += f"$d{i} << end\n" + "".join(" ".join(f"{v:.9g}" for v in point) + "\n" for point in points) + "end\n"
    path = os.path.join(DOCS, f"framepath-{name}.png")
    script = (f"set terminal {TERMINAL}\nset output {quote(path)}\n{blocks}set grid\n"
              f"set key outside below left Left reverse maxcols 2 noenhanced\nset title {quote(title)} noenhanced\n"
              f"{settings}\nset xlabel offset 0,0.7\nplot {', '.join(curves)}\n")
    subprocess.run(["gnuplot"], input=script.encode(), check=True)
    print(os.path.relpath(path), file=sys.stderr)


def plot_cameras(results, more):
    rows = good(results)
    data = [sorted((row["cameras"], row["frames_per_second"], row["latency_p99_ms"]) for row in rows)]
    titles = ["one process"]
    for n in sorted({row["processes"] for row in good(more)}) if more else []:
        data.append(sorted((row["cameras"], row["frames_per_second"], row["latency_p99_ms"]) for row in good(more)
                           if row["processes"] == n))
        titles.append(f"{n} processes")
    low, high = min(p[0] for p in data[0]), max(p[0] for points in data for p in points)
    settings = ("set xlabel 'cameras, 1080p NV12, 30 frames/s each'\nset ylabel 'frames/s'\n"
                "set y2label 'ms from camera to sink, 99 of 100 frames'\nset ytics nomirror\nset y2tics\n"
                f"set logscale y2 10\nset xrange [{low - 20}:{high + 20}]\nset yrange [0:*]\n"
                f"set xtics ({', '.join(f'{p[0]:g}' for p in data[0])})")
    curves = []
    for i, title in enumerate(titles):
        curves.append(f"$d{i} using 1:2 with linespoints linewidth 2 pointtype 7 linecolor {i + 1} title '{title}'")
        curves.append(f"$d{i} using 1:3 axes x1y2 with linespoints dashtype 3 pointtype 6 linecolor {i + 1} "
                      f"title '{title}: p99 (right axis)'")
    curves.append("x * 30 with lines dashtype 2 linecolor rgb '#808080' title 'frames that are due'")
    plot("cameras", results, settings, data, curves)


def plot_flight(results):
    data, curves = [], []
    rows = [row for row in good(results) if not row["bare"]]
    for key in dict.fromkeys((row["line"], size_of(row)) for row in rows):
        data.append(sorted((int(row["value"]), 100 * share_of(row, results, "link_both_gbs")) for row in rows
                           if (row["line"], size_of(row)) == key))
        color = 1 + list(dict.fromkeys(row["line"] for row in rows)).index(key[0])
        style = "pointtype 7" if key[1] == "1080p" else "pointtype 6 dashtype 3"
        curves.append(f"$d{len(data) - 1} using 1:2 with linespoints linewidth 2 {style} linecolor {color} "
                      f"title {quote(name_of(key[0]) + ', ' + key[1])}")
    settings = ("set xlabel 'frames-in-flight'\nset ylabel '% of the link to the GPU, both directions at once'\n"
                "set xrange [0.7:8.3]\nset yrange [0:105]\nset xtics (1, 2, 3, 4, 8)")
    curves.append("90 with lines dashtype 2 linecolor rgb '#808080' notitle")
    plot("flight", results, settings, data, curves)


def plot_sizes(results):
    data, curves = [], []
    for key in dict.fromkeys((row["line"], row["memory_asked"]) for row in good(results)):
        data.append(sorted((row["width"] * row["height"] / 1e6, row["frames_per_second"]) for row in good(results)
                           if (row["line"], row["memory_asked"]) == key))
        memory = "CUDA memory" if key[1] == "cuda" else "system memory"
        curves.append(f"$d{len(data) - 1} using 1:2 with linespoints linewidth 2 pointtype 7 linecolor {len(data)} "
                      f"title {quote(name_of(key[0]) + ', ' + memory)}")
    data.append(sorted((limit["width"] * limit["height"] / 1e6, limit["link_both_gbs"] * 1e9 / limit["frame_bytes"])
                       for limit in results["limits"]))
    curves.append(f"$d{len(data) - 1} using 1:2 with lines dashtype 2 linecolor rgb '#808080' "
                  "title 'the link to the GPU, both directions at once'")
    settings = ("set xlabel 'million pixels of a frame, NV12'\nset ylabel 'frames/s'\nset logscale x 2\n"
                f"set logscale y 10\nset format x '%.2g'\n"
                f"set xrange [{data[0][0][0] / 1.2:g}:{data[0][-1][0] * 1.2:g}]")
    plot("sizes", results, settings, data, curves)


def plot_kernels(results):
    data, curves = [], []
    for line in dict.fromkeys(row["line"] for row in good(results)):
        data.append(sorted((int(row["value"]), row["frames_per_second"]) for row in good(results)
                           if row["line"] == line))
        curves.append(f"$d{len(data) - 1} using 1:2 with linespoints linewidth 2 pointtype 7 linecolor {len(data)} "
                      f"title {quote(name_of(line))}")
    limit = results["limits"][0]
    frames = limit["link_both_gbs"] * 1e9 / limit["frame_bytes"]
    curves.append(f"{frames:g} with lines dashtype 2 linecolor rgb '#808080' "
                  "title 'the link to the GPU, both directions at once'")
    settings = ("set xlabel 'kernel-size'\nset ylabel 'frames/s, 1080p NV12, system memory'\nset logscale x 2\n"
                "set logscale y 10\nset xtics (3, 5, 7, 9, 11, 15, 21, 31, 45, 63)\nset xrange [2.7:70]")
    plot("kernels", results, settings, data, curves)


def main():
    if not 2 <= len(sys.argv) <= 3:
        sys.exit(__doc__)
    results = {part: load(sys.argv[1], part) for part in
               ("flight", "plain", "chain", "sizes", "kernels", "harness", "cameras", "processes")}
    if results["flight"]:
        limits(results["flight"])
        in_flight("flight", results["flight"], results["flight"], "link_both_gbs")
        latency(results["flight"])
        plot_flight(results["flight"])
    if results["plain"]:
        in_flight("plain", results["plain"], results["flight"], "memcpy_one_thread_gbs")
    if results["chain"]:
        chains(results["chain"])
    if results["cameras"]:
        cameras([results[part] for part in ("cameras", "processes") if results[part]], results["flight"])
        plot_cameras(results["cameras"], results["processes"])
    if results["sizes"]:
        sizes(results["sizes"])
        plot_sizes(results["sizes"])
    if results["kernels"]:
        kernels(results["kernels"])
        plot_kernels(results["kernels"])
    write_tables(sys.argv[2] if len(sys.argv) > 2 else None)


if __name__ == "__main__":
    main()
