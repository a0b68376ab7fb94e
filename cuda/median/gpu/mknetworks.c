/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * median/gpu/mknetworks.c: writes the median networks of the CUDA kernels into a header, at build time.
 * Usage: mknetworks OUTPUT [K:WxH...] (other tiles than those of the kernels, for a study)
 *
 * Each tile (W x H outputs per thread and lane) gets a struct MedianNetwork<K, W, H>: functions whose bodies are the
 * network as one block of PTX; network.cuh has the layout of the shared rows that they read. A body is PTX and
 * not C++ because the compiler's front end takes many minutes for thousands of statements in one function, and finds
 * nothing to improve in them. The file that includes the header defines the operations: CF_BEGIN, CF_LOAD, CF_MIN,
 * CF_MAX, CF_SORT_ALU and CF_SORT_FMA.
 *
 * Neighbouring threads need the same sorted columns, and the same pairs of columns, merged. So from 9 x 9 on a network
 * has two parts: columns () sorts W columns, the thread's own ones, merges pairs of them, and stores both; run () makes
 * the outputs from these and from those of the neighbours. VECTORS is how many vectors of four words a thread stores,
 * LANES how many threads it takes for the columns of 32 threads' outputs, FIRST how many of them are further left. */
#include "core/filter.h"
#include "median/networks.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct {
  int k, w, h;
} Tile;

/* Larger tiles share more work between windows, but need more registers, which leave room for fewer warps on an SM. */
static const Tile tiles[] = { { 3, 4, 4 }, { 5, 4, 4 }, { 7, 4, 4 }, { 9, 4, 2 }, { 11, 4, 3 }, { 13, 4, 2 },
  { 15, 4, 2 }, { 17, 4, 2 } };

/* Returns the byte offset of window column x in shared row y from the thread's corner. */
static int
load_offset (const CfMedianNetwork *net, int x, int y)
{
  int r = net->w / 2, ra = (r + 3) / 4 * 4, words = 32 * net->tile_w + 2 * ra, c = x + ra - r;

  return 4 * (y * words + c % net->tile_w * (words / net->tile_w) + c / net->tile_w);
}

/* ---- what neighbouring threads share ------------------------------------- */

enum { VECTOR = 4 }; /* words that are stored and loaded at once */

/* Values that are the same function of samples, some tiles further left or right. */
typedef struct {
  int op;          /* CF_MEDIAN_NET_LOAD, _MIN or _MAX */
  int a, b;        /* classes of the operands; LOAD: column among those of the tile that owns it, and row */
  int apart;       /* tiles from the first operand's owner to the second's */
  int left, right; /* columns of the samples, among the owner's */
  int top, bottom; /* rows of them */
  bool repeated;   /* there are several such values */
  bool shared;     /* columns () makes it */
  bool printed;
  int slot; /* the word in which columns () stores it, or -1 */
} Class;

typedef struct {
  int class, owner; /* owner: tiles to the right of the thread's own */
} Value;

typedef struct {
  int a, b;    /* the values that the step reads */
  bool loaded; /* run () has loaded its sample */
} Step;

typedef struct {
  const CfMedianNetwork *net;
  bool registers; /* the samples are in registers */
  Step *step;
  Value *value; /* 2 i: the sample, minimum or maximum of step i; 2 i + 1: the maximum of a sort; class -1: none */
  Class *class;
  int n_classes;
  int *in_slot;    /* the class in each slot */
  int n_slots;     /* a multiple of VECTOR */
  int first, last; /* owners of the shared values that are read */
  int lanes;
  int *loaded; /* by slot of a vector and owner: 1 + the first of its registers */
  int n_loaded, n_sorts;
} Printer;

static void *
zeroed (int n, size_t size)
{
  void *memory = calloc ((size_t) n, size);

  if (!memory) {
    fprintf (stderr, "mknetworks: out of memory\n");
    exit (1);
  }
  return memory;
}

/* Gives a value its class, a new one if it is the first such value. */
static void
classify (Printer *p, int value, Class c, int owner)
{
  int i = 0;

  while (i < p->n_classes &&
      (p->class[i].op != c.op || p->class[i].a != c.a || p->class[i].b != c.b || p->class[i].apart != c.apart))
    i++;
  if (i == p->n_classes)
    p->class[p->n_classes++] = c;
  else
    p->class[i].repeated = true;
  p->value[value] = (Value) { i, owner };
}

static void
classify_operation (Printer *p, int value, int op, const Step *step)
{
  Value a = p->value[step->a], b = p->value[step->b];
  const Class *ca = &p->class[a.class], *cb = &p->class[b.class];

  classify (p, value,
      (Class) { op, .a = a.class, .b = b.class, .apart = b.owner - a.owner, .left = cf_min (ca->left, cb->left),
          .right = cf_max (ca->right, cb->right), .top = cf_min (ca->top, cb->top),
          .bottom = cf_max (ca->bottom, cb->bottom) },
      a.owner);
}

static void
classify_steps (Printer *p)
{
  const CfMedianNetwork *net = p->net;
  const int fw = net->tile_w + net->w - 1;
  int *at = zeroed (net->n_slots, sizeof *at); /* the value in each slot of the network */

  for (int i = 0; i < net->n_steps; i++) {
    const CfMedianNetStep *s = &net->steps[i];
    const bool store = s->op == CF_MEDIAN_NET_STORE;

    p->value[2 * i].class = p->value[2 * i + 1].class = -1;
    if (s->op == CF_MEDIAN_NET_LOAD) {
      /* a tile owns the first columns that all its windows have, from tile_w - 1 on */
      const int x = s->a % fw + 1, y = s->a / fw, column = x % net->tile_w;

      classify (p, 2 * i,
          (Class) { s->op, .a = column, .b = y, .left = column, .right = column, .top = y, .bottom = y },
          x / net->tile_w - 1);
    } else {
      p->step[i] = (Step) { .a = at[s->a], .b = at[store ? s->a : s->b] };
      if (!store)
        classify_operation (p, 2 * i, s->op == CF_MEDIAN_NET_MAX ? s->op : CF_MEDIAN_NET_MIN, &p->step[i]);
    }
    if (!store)
      at[s->d] = 2 * i;
    if (s->op == CF_MEDIAN_NET_SORT) {
      classify_operation (p, 2 * i + 1, CF_MEDIAN_NET_MAX, &p->step[i]);
      at[s->e] = 2 * i + 1;
    }
  }
  free (at);
}

static bool
is_own (const Class *c)
{
  return c->op == CF_MEDIAN_NET_LOAD || c->shared;
}

/* Returns whether columns () shall make the values of a class: it can where the tile owns all their samples. Values of
 * a single row are not worth a store and two loads; those of more than two columns need so much shared memory that
 * fewer warps are on an SM. */
static bool
is_worth_sharing (const Printer *p, const Class *c)
{
  return c->op != CF_MEDIAN_NET_LOAD && is_own (&p->class[c->a]) && is_own (&p->class[c->b]) && c->apart == 0 &&
      c->repeated && c->top < c->bottom && c->right <= c->left + 1;
}

static bool
is_shared (const Printer *p, int value)
{
  return p->value[value].class >= 0 && p->class[p->value[value].class].shared;
}

/* Returns whether run () computes a value. */
static bool
is_private (const Printer *p, int value)
{
  return p->value[value].class >= 0 && p->class[p->value[value].class].op != CF_MEDIAN_NET_LOAD &&
      !is_shared (p, value);
}

/* Gives slots to the shared values that run () reads, in the order in which it reads them. */
static void
find_slots (Printer *p)
{
  for (int i = 0; i < p->net->n_steps; i++) {
    if (p->net->steps[i].op != CF_MEDIAN_NET_STORE && !is_private (p, 2 * i) && !is_private (p, 2 * i + 1))
      continue; /* run () computes nothing of it */
    for (int j = 0; j < 2; j++) {
      int value = j ? p->step[i].b : p->step[i].a, owner = p->value[value].owner;
      Class *c = &p->class[p->value[value].class];

      if (!c->shared)
        continue;
      if (c->slot < 0) {
        c->slot = p->n_slots;
        p->in_slot[p->n_slots++] = p->value[value].class;
      }
      p->first = cf_min (p->first, owner);
      p->last = cf_max (p->last, owner);
    }
  }
  while (p->n_slots % VECTOR)
    p->in_slot[p->n_slots++] = -1;
}

static Printer
new_printer (const CfMedianNetwork *net, bool registers)
{
  const int n = net->n_steps;
  Printer p = { .net = net, .registers = registers };

  p.step = zeroed (n, sizeof *p.step);
  p.value = zeroed (2 * n, sizeof *p.value);
  p.class = zeroed (2 * n, sizeof *p.class);
  p.in_slot = zeroed (2 * n + VECTOR, sizeof *p.in_slot);
  classify_steps (&p);
  for (int i = 0; i < p.n_classes; i++) {
    p.class[i].slot = -1;
    p.class[i].shared = !registers && net->w >= 9 && is_worth_sharing (&p, &p.class[i]);
  }
  find_slots (&p);
  p.lanes = 32 + p.last - p.first;
  p.loaded = zeroed (p.n_slots * (p.last - p.first + 1) + 1, sizeof *p.loaded);
  return p;
}

static void
free_printer (Printer *p)
{
  void *const all[] = { p->step, p->value, p->class, p->in_slot, p->loaded };

  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
    free (all[i]);
}

/* ---- the steps ------------------------------------------------------------ */

/* Prints the minimum and the maximum of two operands; -1: not this one. Every other sort goes to the FMA pipe, but none
 * of 17 x 17, whose code is longer than the instruction caches, and slower where it is longer still. */
static void
print_sort (FILE *out, Printer *p, int min, int max, const char *a, const char *b)
{
  if (min >= 0 && max >= 0)
    fprintf (out, "CF_SORT_%s(\"v%d\", \"v%d\", \"%s\", \"%s\")\n", p->net->w < 17 && p->n_sorts++ % 2 ? "FMA" : "ALU",
        min, max, a, b);
  else
    fprintf (out, "CF_%s(\"v%d\", \"%s\", \"%s\")\n", min >= 0 ? "MIN" : "MAX", cf_max (min, max), a, b);
}

/* Prints the store of the vector with this slot once its last value was printed. */
static void
print_store (FILE *out, const Printer *p, int slot)
{
  const int *c = &p->in_slot[slot / VECTOR * VECTOR];
  int v[VECTOR];

  for (int i = 0; i < VECTOR; i++) {
    if (slot < 0 || (c[i] >= 0 && !p->class[c[i]].printed))
      return;
    v[i] = c[i] >= 0 ? c[i] : c[0];
  }
  fprintf (out, "\"st.shared.v4.b32 [%%1+%d], {v%d, v%d, v%d, v%d};\"\n", 4 * (slot / VECTOR * VECTOR) * p->lanes, v[0],
      v[1], v[2], v[3]);
}

/* Prints what columns () does of a step, if no step before has done it, and the loads of its samples. */
static void
print_shared (FILE *out, Printer *p, int step)
{
  int result[2] = { -1, -1 }; /* classes of the minimum and the maximum */
  char name[2][16];

  for (int i = 0; i < 2; i++) {
    int class = is_shared (p, 2 * step + i) ? p->value[2 * step + i].class : -1;

    if (class >= 0 && !p->class[class].printed)
      result[p->class[class].op == CF_MEDIAN_NET_MAX] = class;
  }
  if (result[0] < 0 && result[1] < 0)
    return;
  for (int i = 0; i < 2; i++) {
    const Class *any = &p->class[cf_max (result[0], result[1])];
    int operand = i ? any->b : any->a;
    Class *c = &p->class[operand];

    snprintf (name[i], sizeof name[i], "v%d", operand);
    if (c->op == CF_MEDIAN_NET_LOAD && !c->printed)
      fprintf (out, "CF_LOAD(\"%s\", \"%%0+%d\")\n", name[i], load_offset (p->net, c->a + p->net->tile_w - 1, c->b));
    c->printed = true;
  }
  print_sort (out, p, result[0], result[1], name[0], name[1]);
  for (int i = 0; i < 2; i++)
    if (result[i] >= 0) {
      p->class[result[i]].printed = true;
      print_store (out, p, p->class[result[i]].slot);
    }
}

/* Prints the load of a vector of shared values, and writes the name of the one in `slot`. */
static void
name_shared (FILE *out, Printer *p, int slot, int owner, char name[16])
{
  int outputs = p->net->tile_w * p->net->tile_h, vector = slot / VECTOR * VECTOR;
  int *loaded = &p->loaded[vector * (p->last - p->first + 1) + owner - p->first];

  if (!*loaded) {
    int l = p->n_loaded;

    fprintf (out, "\"ld.shared.v4.b32 {l%d, l%d, l%d, l%d}, [%%%d+%d];\"\n", l, l + 1, l + 2, l + 3, outputs + 1,
        4 * (vector * p->lanes + VECTOR * owner));
    p->n_loaded += VECTOR;
    *loaded = l + 1;
  }
  snprintf (name, 16, "l%d", *loaded - 1 + slot % VECTOR);
}

/* Writes the name of a value that run () reads; prints its load before the first use. */
static void
name_value (FILE *out, Printer *p, int value, char name[16])
{
  const CfMedianNetwork *net = p->net;
  const Class *c = &p->class[p->value[value].class];
  int outputs = net->tile_w * net->tile_h, fw = net->tile_w + net->w - 1, sample = net->steps[value / 2].a;

  if (c->shared) {
    name_shared (out, p, c->slot, p->value[value].owner, name);
    return;
  }
  snprintf (name, 16, "v%d", value);
  if (c->op != CF_MEDIAN_NET_LOAD || p->step[value / 2].loaded)
    return;
  p->step[value / 2].loaded = true;
  if (p->registers)
    fprintf (out, "\"mov.b32 %s, %%%d;\"\n", name, outputs + sample);
  else
    fprintf (out, "CF_LOAD(\"%s\", \"%%%d+%d\")\n", name, outputs, load_offset (net, sample % fw, sample / fw));
}

/* Prints the part of run () in a step, in single-assignment form, so that the compiler sees no reuse of slots. */
static void
print_private (FILE *out, Printer *p, int step)
{
  const CfMedianNetStep *s = &p->net->steps[step];
  bool min = is_private (p, 2 * step), max = is_private (p, 2 * step + 1);
  char name[2][16];

  if (s->op != CF_MEDIAN_NET_STORE && !min && !max)
    return;
  name_value (out, p, p->step[step].a, name[0]);
  name_value (out, p, p->step[step].b, name[1]);
  if (s->op == CF_MEDIAN_NET_STORE)
    fprintf (out, "\"mov.b32 %%%d, %s;\"\n", s->d, name[0]);
  else if (s->op == CF_MEDIAN_NET_MAX)
    print_sort (out, p, -1, 2 * step, name[0], name[1]);
  else
    print_sort (out, p, min ? 2 * step : -1, max ? 2 * step + 1 : -1, name[0], name[1]);
}

/* Prints run ()'s body, from its first line to the operands of the results. */
static void
print_run (FILE *out, Printer *p)
{
  const CfMedianNetwork *net = p->net;

  fprintf (out, "asm volatile (\"{ .reg .b32 v<%d>, l<%d>, minus, t;\" CF_BEGIN\n", 2 * net->n_steps,
      p->n_slots * (p->last - p->first + 1) + 1);
  for (int i = 0; i < net->n_steps; i++)
    print_private (out, p, i);
  fprintf (out, "\"}\"");
  for (int i = 0; i < net->tile_w * net->tile_h; i++)
    fprintf (out, "%s \"=r\" (result[%d])", i ? "," : " :", i);
}

static void
print_columns (FILE *out, Printer *p)
{
  fprintf (out, "  static __device__ __forceinline__ void columns (unsigned tile, unsigned vectors) {\n");
  if (p->n_slots) {
    fprintf (out, "#if CF_MEDIAN_LARGEST_NETWORK >= %d\nasm volatile (\"{ .reg .b32 v<%d>, minus, t;\" CF_BEGIN\n",
        p->net->w, p->n_classes);
    for (int i = 0; i < p->net->n_steps; i++)
      print_shared (out, p, i);
    fprintf (out, "\"}\" : : \"r\" (tile), \"r\" (vectors) : \"memory\");\n#endif\n");
  }
  fprintf (out, "  }\n");
}

static void
print_network (FILE *out, const CfMedianNetwork *net)
{
  int outputs = net->tile_w * net->tile_h;
  Printer p = new_printer (net, false);

  fprintf (out,
      "/* %d operations, %.1f per sample, if nothing is shared */\ntemplate<> struct MedianNetwork<%d, %d, %d> {\n"
      "  static constexpr int VECTORS = %d, LANES = %d, FIRST = %d;\n",
      net->n_ops, (double) net->n_ops / outputs, net->w, net->tile_w, net->tile_h, p.n_slots / VECTOR, p.lanes,
      -p.first);
  print_columns (out, &p);
  fprintf (out,
      "  static __device__ __forceinline__ void run (unsigned tile, unsigned vectors, unsigned (&result)[%d]) {\n"
      "#if CF_MEDIAN_LARGEST_NETWORK >= %d\n",
      outputs, net->w);
  print_run (out, &p);
  fprintf (out,
      " : \"r\" (tile), \"r\" (vectors) : \"memory\");\n#else\n  for (unsigned &r : result)\n    r = tile + vectors;\n"
      "#endif\n  }\n};\n");
  free_printer (&p);
}

/* As print_network; the samples are in registers. */
static void
print_register_network (FILE *out, const CfMedianNetwork *net)
{
  int inputs = (net->tile_w + net->w - 1) * (net->tile_h + net->w - 1), outputs = net->tile_w * net->tile_h;
  Printer p = new_printer (net, true);

  fprintf (out,
      "template<> struct MedianRegisterNetwork<%d> {\n"
      "  static __device__ __forceinline__ void run (const unsigned (&in)[%d], unsigned (&result)[%d]) {\n",
      net->w, inputs, outputs);
  print_run (out, &p);
  for (int i = 0; i < inputs; i++)
    fprintf (out, "%s \"r\" (in[%d])", i ? "," : " :", i);
  fprintf (out, ");\n  }\n};\n");
  free_printer (&p);
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
