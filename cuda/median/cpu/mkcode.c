/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * median/cpu/mkcode.c: writes the networks of the medians of 5 x 5 to 21 x 21 samples as C, at build time.
 * Usage: mkcode OUTPUT
 *
 * As a list of steps a network loads and stores both values of every comparison. As code its values stay in registers,
 * and only those that do not fit are on the stack. Each function computes one vector of every output of the tile;
 * rows_tmpl.h includes the file and defines T, N, V and the operations. */
#include "simd.h"
#include "median/networks.h"

#include <stdio.h>
#include <stdlib.h>

static int
print_function (FILE *out, int k)
{
  const int tile_w = CF_MEDIAN_CODE_W, fw = tile_w + k - 1;
  CfMedianNetwork *net = cf_median_network_new (k, k, 1, (k * k - 1) / 2, tile_w, CF_MEDIAN_CODE_H (k));
  char (*name)[16] = net ? calloc ((size_t) net->n_slots, sizeof *name) : NULL;

  if (!name)
    return 1;
  fprintf (out,
      "/* %d operations */\nALWAYS_INLINE void\nN (code%d_) (const T *const *row, size_t pitch, T *out, "
      "size_t out_pitch)\n{\n",
      net->n_ops, k);
  for (int i = 0; i < net->n_steps; i++) {
    const CfMedianNetStep *s = &net->steps[i];

    if (s->op == CF_MEDIAN_NET_STORE) {
      fprintf (out, "v_store (out + %d * out_pitch, %s);\n", s->d, name[s->a]);
      continue;
    }
    if (s->op == CF_MEDIAN_NET_LOAD)
      fprintf (out, "V v%d = v_load (row[%d] + %d * pitch + %d);\n", i, s->a / fw, s->a % fw % tile_w,
          s->a % fw / tile_w);
    else if (s->op == CF_MEDIAN_NET_SORT) {
      fprintf (out, "V v%d = V_MIN (%s, %s), w%d = V_MAX (%s, %s);\n", i, name[s->a], name[s->b], i, name[s->a],
          name[s->b]);
      snprintf (name[s->e], sizeof name[0], "w%d", i);
    } else
      fprintf (out, "V v%d = V_%s (%s, %s);\n", i, s->op == CF_MEDIAN_NET_MIN ? "MIN" : "MAX", name[s->a], name[s->b]);
    snprintf (name[s->d], sizeof name[0], "v%d", i);
  }
  fprintf (out, "}\n\n");
  free (name);
  cf_median_network_free (net);
  return 0;
}

int
main (int argc, char **argv)
{
  FILE *out = argc == 2 ? fopen (argv[1], "w") : NULL;
  int failed = 0;

  if (!out) {
    fprintf (stderr, "usage: mkcode OUTPUT (a writable file)\n");
    return 1;
  }
  fprintf (out, "/* Made by mkcode; do not edit. */\n");
  for (int i = 0; i < CF_MEDIAN_N_CODES; i++) {
    if (i == CF_MEDIAN_N_CODES_16)
      fprintf (out, "#if V_SIZE > 16\n");
    failed |= print_function (out, 5 + 2 * i);
  }
  fprintf (out, "#endif\n");
  if (failed)
    fprintf (stderr, "mkcode: out of memory\n");
  return fclose (out) || failed;
}
