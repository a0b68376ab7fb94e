/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * median/gpu/mknetworks.c: writes the median networks of the CUDA kernels into a header, at build time.
 * Usage: mknetworks OUTPUT [K:WxH...] (other tiles than those of the kernels, for a study)
 *
 * Each tile (W x H outputs per thread and lane) gets a struct MedianNetwork<K, W, H>: a function whose body is the
 * network as one block of PTX; network.cuh has the layout of the shared rows that it reads. The body is PTX and
 * not C++ because the compiler's front end takes many minutes for thousands of statements in one function, and finds
 * nothing to improve in them. The file that includes the header defines the operations: CF_BEGIN, CF_LOAD, CF_MIN,
 * CF_MAX, CF_SORT_ALU, CF_SORT_FMA and CF_PACE. */
#include "median/networks.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct {
  int k, w, h;
} Tile;

/* Larger tiles share more work between windows, but need more registers, which leave room for fewer warps on an SM: 16
 * up to 9 x 9, 12 for 11 x 11, and 8 from 13 x 13 on, where less than 255 registers hold these tiles only. */
static const Tile tiles[] = { { 3, 4, 4 }, { 5, 4, 4 }, { 7, 4, 4 }, { 9, 4, 2 }, { 11, 4, 3 }, { 13, 4, 2 },
  { 15, 4, 2 }, { 17, 4, 2 } };

/* Returns the byte offset of window column x in shared row y from the thread's corner. */
static int
load_offset (const CfMedianNetwork *net, int x, int y)
{
  int r = net->w / 2, ra = (r + 3) / 4 * 4, words = 32 * net->tile_w + 2 * ra, c = x + ra - r;

  return 4 * (y * words + c % net->tile_w * (words / net->tile_w) + c / net->tile_w);
}

/* Two sorts of five go to the FMA pipe, evenly spread. Above 13 x 13 the longer
 * code costs more than the idle pipe gives (docs/notes/median.md). */
static bool
on_fma (int k, int sort)
{
  return k <= 13 && (sort % 5 == 0 || sort % 5 == 3);
}

/* Prints the steps in single-assignment form: step i writes v<i>, and a sort
 * writes its maximum to w<i>, so that the compiler sees no reuse of slots. */
static void
print_steps (FILE *out, const CfMedianNetwork *net, bool registers)
{
  int n = net->n_steps, fw = net->tile_w + net->w - 1, outputs = net->tile_w * net->tile_h, sorts = 0;
  char (*name)[16] = calloc ((size_t) net->n_slots, sizeof *name);

  if (!name)
    exit (1);
  for (int i = 0; i < n; i++) {
    const CfMedianNetStep *s = &net->steps[i];

    if (!registers && i % 256 == 255)
      fprintf (out, "CF_PACE\n");
    switch (s->op) {
      case CF_MEDIAN_NET_LOAD:
        if (registers)
          fprintf (out, "\"mov.b32 v%d, %%%d;\"\n", i, outputs + s->a);
        else
          fprintf (out, "CF_LOAD(\"v%d\", \"%%%d+%d\")\n", i, outputs, load_offset (net, s->a % fw, s->a / fw));
        break;
      case CF_MEDIAN_NET_STORE:
        fprintf (out, "\"mov.b32 %%%d, %s;\"\n", s->d, name[s->a]);
        continue;
      case CF_MEDIAN_NET_SORT:
        fprintf (out, "CF_SORT_%s(\"v%d\", \"w%d\", \"%s\", \"%s\")\n", on_fma (net->w, sorts++) ? "FMA" : "ALU", i, i,
            name[s->a], name[s->b]);
        snprintf (name[s->e], sizeof name[0], "w%d", i);
        break;
      default:
        fprintf (out, "CF_%s(\"v%d\", \"%s\", \"%s\")\n", s->op == CF_MEDIAN_NET_MIN ? "MIN" : "MAX", i, name[s->a],
            name[s->b]);
        break;
    }
    snprintf (name[s->d], sizeof name[0], "v%d", i);
  }
  free (name);
}

static void
print_network (FILE *out, const CfMedianNetwork *net)
{
  int outputs = net->tile_w * net->tile_h;

  fprintf (out,
      "/* %d operations, %.1f per sample */\ntemplate<> struct MedianNetwork<%d, %d, %d> {\n"
      "  static __device__ __forceinline__ void run (unsigned tile, unsigned (&result)[%d]) {\n"
      "#if CF_MEDIAN_LARGEST_NETWORK >= %d\n"
      "asm volatile (\"{ .reg .b32 v<%d>, w<%d>, minus, t;\" CF_BEGIN\n",
      net->n_ops, (double) net->n_ops / outputs, net->w, net->tile_w, net->tile_h, outputs, net->w, net->n_steps,
      net->n_steps);
  print_steps (out, net, false);
  fprintf (out, "\"}\"");
  for (int i = 0; i < outputs; i++)
    fprintf (out, "%s \"=r\" (result[%d])", i ? "," : " :", i);
  fprintf (out,
      " : \"r\" (tile) : \"memory\");\n#else\n  for (unsigned &r : result)\n    r = tile;\n#endif\n  }\n"
      "};\n");
}

/* As print_network; the samples are in registers. */
static void
print_register_network (FILE *out, const CfMedianNetwork *net)
{
  int inputs = (net->tile_w + net->w - 1) * (net->tile_h + net->w - 1), outputs = net->tile_w * net->tile_h;

  fprintf (out,
      "template<> struct MedianRegisterNetwork<%d> {\n"
      "  static __device__ __forceinline__ void run (const unsigned (&in)[%d], unsigned (&result)[%d]) {\n"
      "asm volatile (\"{ .reg .b32 v<%d>, w<%d>, minus, t;\" CF_BEGIN\n",
      net->w, inputs, outputs, net->n_steps, net->n_steps);
  print_steps (out, net, true);
  fprintf (out, "\"}\"");
  for (int i = 0; i < outputs; i++)
    fprintf (out, "%s \"=r\" (result[%d])", i ? "," : " :", i);
  for (int i = 0; i < inputs; i++)
    fprintf (out, "%s \"r\" (in[%d])", i ? "," : " :", i);
  fprintf (out, ");\n  }\n};\n");
}

/* Prints the networks of a tile; `registers`: the one whose samples are in registers as well. */
static bool
print_tile (FILE *out, Tile t, bool registers)
{
  CfMedianNetwork *net = cf_median_network_new (t.k, t.k, 1, (t.k * t.k - 1) / 2, t.w, t.h);

  if (!net) {
    fprintf (stderr, "mknetworks: out of memory\n");
    return false;
  }
  print_network (out, net);
  if (registers)
    print_register_network (out, net);
  cf_median_network_free (net);
  return true;
}

int
main (int argc, char **argv)
{
  FILE *out = argc >= 2 ? fopen (argv[1], "w") : NULL;
  bool good = true;

  if (!out) {
    fprintf (stderr, "usage: mknetworks OUTPUT [K:WxH...] (a writable file)\n");
    return 1;
  }
  fprintf (out,
      "/* Made by mknetworks; do not edit. */\ntemplate<int K, int W, int H> struct MedianNetwork;\n"
      "template<int K> struct MedianRegisterNetwork;\n");
  for (size_t i = 0; argc == 2 && good && i < sizeof tiles / sizeof tiles[0]; i++)
    good = print_tile (out, tiles[i], tiles[i].k == 5);
  for (int i = 2; good && i < argc; i++) {
    Tile t;

    good = sscanf (argv[i], "%d:%dx%d", &t.k, &t.w, &t.h) == 3 && print_tile (out, t, false);
  }
  return fclose (out) || !good ? 1 : 0;
}
