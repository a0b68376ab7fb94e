/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * convolve/gpu/plan.cu: the convolution's CfOps on CUDA: the plan, the choice of the variant, the constants
 * of the rounding, the groups of components of a frame, and the launch.
 *
 * | variant | filters with | implementation |
 * | copy | the identity | small.cu, without filtered planes |
 * | direct | kernels up to 9 x 9 at 8 bit, fewer columns for pixels of several samples; with weights of a byte up to
 *   15 x 17 | quads.cu where rows begin on 16 bytes, else direct.cu |
 * | packed rgb | kernels up to 9 x 9 at 8 bit, in pixels of four bytes of which three are filtered | packed_quads.cu
 *   with weights of a byte up to 7 x 9 where rows begin on 16 bytes, else packed_rgb.cu |
 * | small | kernels up to 9 x 10 at 8 bit, magnitudes at 8 bit | small.cu |
 * | passes | separable kernels without negative weights up to 33 x 33 at 8 bit, fewer columns for pixels of several
 *   samples | packed_passes.cu in pixels of four bytes of which three are filtered, else passes.cu |
 * | dense | any kernel but magnitudes, and gauss and unsharp above 8 bit | sparse.cu on devices of capability 9.0, at 8
 *   bit where rows begin on 16 bytes, else dense.cu |
 * | wide | separable kernels at any depth, magnitudes | wide.cu |
 * | hide | fill, mosaic, privacy | hide.cu |
 * | long | separable kernels without negative weights, and boxes, at any depth | long.cu | */
#include "internal.cuh"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

namespace {

using namespace cf;

/* The variants. */
enum Kind { COPY, DIRECT, PACKED_RGB, PASSES, SMALL, DENSE, WIDE, LONG, HIDE, N_KINDS };

const char *const names[N_KINDS + 1] = { "copy", "direct", "packed rgb", "passes", "small", "dense", "wide",
  "long", "hide", NULL };

/* The state of a plan. */
struct State {
  CfConvolution c;
  Kind kind, fallback; /* fallback: for frames whose alignment DIRECT, PACKED_RGB or PASSES cannot take; else = kind */
  bool pdl;            /* see Work */
  bool has_sparse;     /* the device has the kernel of sparse.cu */
  int limbs;
  bool identity;       /* all samples are copied or written mid-level */
  Rounding rounding, passes; /* passes: that of PASSES, whose weights are not reduced */
  SmallWeights small;
  SeparableWeights wide;
  LongWeights longer;
  Operands operands;
  CfVideo largest;     /* the frames at init; later ones may be smaller */
  void *cells, *sums;  /* HIDE, LONG: allocated once a kernel needs it, for frames up to that size */
  Late late;           /* test override of sparse.cu */
};

State *
state_of (const CfPlan *plan)
{
  return static_cast<State *> (plan->state);
}

/* ---- the choice --------------------------------------------------------- */

/* Returns how many signed bytes hold each of the weights. */
int
count_limbs (const int32_t *weights, int n)
{
  int most = 1;

  for (int i = 0; i < n; i++) {
    int limbs = 1;

    for (int64_t remainder = weights[i]; remainder < -128 || remainder > 127; limbs++)
      remainder = (remainder - (int8_t) (remainder & 0xff)) / 256;
    most = limbs > most ? limbs : most;
  }
  return most;
}

/* Returns true if direct.cu or passes.cu can filter the format. They need one step per plane. */
bool
bytes_fit (const CfPlan *plan, const State *s, Kind kind)
{
  const CfFormatInfo *info = cf_format_info (plan->video.format);

  if (s->c.gray != CF_GRAY_NONE)
    return false;
  for (int i = 0; i < info->n_components; i++) {
    if (kind == PASSES ? !convolve_passes_fits (s->c, s->passes, info->comp[i].step)
            : !convolve_direct_fits (s->c, s->rounding, s->limbs, info->comp[i].step))
      return false;
    for (int j = 0; j < i; j++)
      if (info->comp[i].plane == info->comp[j].plane && info->comp[i].step != info->comp[j].step)
        return false;
  }
  return true;
}

/* Returns true if packed_rgb.cu can filter the format: pixels of four bytes. The launch checks which of them
 * are filtered. */
bool
packed_rgb_fits (const CfPlan *plan, const State *s)
{
  const CfFormatInfo *info = cf_format_info (plan->video.format);

  for (int i = 0; i < info->n_components; i++)
    if (info->comp[i].step != 4 || info->comp[i].plane != 0)
      return false;
  return s->c.gray == CF_GRAY_NONE && info->n_components >= 3
      && convolve_packed_rgb_fits (s->c, s->rounding, s->limbs);
}

/* Returns true if a variant can filter with the plan's kernel; sets the weights of LONG. */
bool
fits (const CfPlan *plan, State *s, Kind kind)
{
  const CfConvolution &c = s->c;
  const bool magnitude = c.op == CF_CONVOLVE_MAGNITUDE;
  const bool is_long = c.w > CF_CONVOLVE_MAX || c.h > CF_CONVOLVE_MAX;

  if (s->identity)
    return kind == COPY;
  if (cf_convolve_hides (&c))
    return kind == HIDE;
  if (kind == LONG || is_long)
    return kind == LONG && convolve_fill_long (c, &s->longer);
  switch (kind) {
    case DIRECT:
    case PASSES:
      return bytes_fit (plan, s, kind);
    case PACKED_RGB:
      return packed_rgb_fits (plan, s);
    case SMALL:
      return c.bits == 8 && c.dense && c.w - c.ax <= 5 && c.ax <= 4 && c.h <= 10;
    case DENSE:
      return c.dense && !magnitude;
    case WIDE:
      return c.separable || magnitude;
    default:
      return false;
  }
}

/* Returns true if long.cu, which can filter with the kernel, is faster than small.cu or wide.cu, as measured on an
 * H200. */
bool
better_long (const State *s)
{
  const int side = s->c.w > s->c.h ? s->c.w : s->c.h;

  if (s->c.bits == 8)
    return s->kind == WIDE || s->limbs * ((s->c.h + 1) / 2) > 10;
  return side > (s->longer.kind == 1 ? 3 : s->c.op == CF_CONVOLVE_UNSHARP ? 9 : 5);
}

/* Chooses the variant and its fallback; CF_UNSUPPORTED if a preferred variant cannot filter with the kernel. */
CfCode
choose (const CfPlan *plan, State *s, CfStatus *status)
{
  const Kind order[] = { COPY, HIDE, SMALL, WIDE, DENSE, LONG };
  const int preferred = plan->preferred;

  if (preferred >= 0 && !fits (plan, s, (Kind) preferred))
    return cf_fail (status, CF_UNSUPPORTED, "variant %s cannot filter with this %d x %d kernel at %d bit",
        names[preferred], s->c.w, s->c.h, s->c.bits);
  for (Kind kind : order)
    if (fits (plan, s, kind)) {
      s->kind = kind;
      break;
    }
  if ((s->kind == SMALL || s->kind == WIDE) && fits (plan, s, LONG) && better_long (s))
    s->kind = LONG;
  /* at 8 bit, and with few taps, dense.cu and sparse.cu cost less than passes of 64 bits */
  if (s->kind == WIDE && fits (plan, s, DENSE) && (s->c.bits == 8 || s->c.w * s->c.h <= 25))
    s->kind = DENSE;
  /* measured on an H200: with weights of one limb up to 9 rows, one pass costs less than two; with up to three rows it
   * is faster not to split the pixels into planes */
  const bool two = s->limbs > 1 || s->c.h > 9;
  const Kind one = s->c.h <= 3 ? DIRECT : PACKED_RGB, other = s->c.h <= 3 ? PACKED_RGB : DIRECT;

  for (Kind kind : { two ? PASSES : one, two ? one : other, two ? other : PASSES })
    if (preferred == kind || (preferred < 0 && fits (plan, s, kind))) {
      /* SMALL and DENSE take the reduced weights, too, and can filter with every kernel that these three can */
      s->fallback = s->kind == SMALL ? SMALL : DENSE;
      s->kind = kind;
      return CF_OK;
    }
  if (preferred >= 0)
    s->kind = (Kind) preferred;
  s->fallback = s->kind;
  return CF_OK;
}

/* ---- weights ------------------------------------------------------------ */

/* Fills the weights of the plan's variant and its fallback. */
void
put_weights (State *s)
{
  const CfConvolution &c = s->c;
  const int row = sizeof s->small.row[0][0], limb = sizeof s->small.row[0];
  uint8_t *bytes = (uint8_t *) s->small.row + 12;

  memset (&s->small, 0, sizeof s->small);
  if (s->fallback == SMALL || s->kind == PACKED_RGB)
    convolve_split_weights (c.weights, c.w, c.h, s->limbs, 1, row, limb, bytes);
  if (s->fallback == SMALL && c.op == CF_CONVOLVE_MAGNITUDE)
    convolve_split_weights (c.weights_y, c.w, c.h, 1, 1, row, limb, bytes + limb);
  if (s->fallback == WIDE && c.separable) {
    memcpy (s->wide.row, c.row, sizeof *c.row * (size_t) c.w);
    memcpy (s->wide.col, c.col, sizeof *c.col * (size_t) c.h);
  }
  if (s->kind == WIDE && !c.separable) {
    memcpy (s->wide.row, c.weights, sizeof *c.weights * 9);
    memcpy (s->wide.col, c.weights_y, sizeof *c.weights * 9);
  }
}

/* Divides D and all weights by their greatest common power of two; floor ((2 S + add) / (2 D)) stays the same.
 * This turns the weights of small gauss kernels into bytes. */
void
reduce (CfConvolution *c)
{
  const bool pow2 = (c->divisor & (c->divisor - 1)) == 0;
  int64_t all = c->divisor;

  if (!c->dense || c->op != CF_CONVOLVE_LINEAR || !pow2 || c->ties_even[0] || c->ties_even[1])
    return;
  for (int i = 0; i < c->w * c->h; i++)
    all |= c->weights[i];
  for (; !(all & 1); all >>= 1) {
    for (int i = 0; i < c->w * c->h; i++)
      c->weights[i] /= 2;
    c->divisor /= 2;
    c->sum /= 2;
    c->abs_sum /= 2;
    c->add[0] >>= 1;
    c->add[1] >>= 1;
  }
}

/* Resolves the plan's parameters and chooses the variant. The plan's state changes only if that succeeds. */
CfCode
set_up (CfPlan *plan, CfStatus *status)
{
  State *s = state_of (plan);
  State *next = static_cast<State *> (malloc (sizeof *next));
  CfConvolution resolved;
  CfCode code;

  if (!next)
    return cf_fail (status, CF_NO_MEMORY, "out of memory");
  *next = *s;
  code = cf_convolution_resolve (static_cast<const CfConvolveParams *> (plan->params), &plan->common,
      plan->video.format, &resolved, status);
  if (code == CF_OK) {
    next->c = resolved;
    reduce (&next->c);
    next->rounding = convolve_rounding_of (next->c);
    next->passes = convolve_rounding_of (resolved);
    next->limbs = next->c.dense ? count_limbs (next->c.weights, next->c.w * next->c.h) : 1;
    /* with gray an RGB image is not copied: the identity is filtered like any other kernel */
    next->identity = resolved.op == CF_CONVOLVE_COPY
        && !(resolved.gray != CF_GRAY_NONE && cf_format_info (plan->video.format)->rgb);
    code = choose (plan, next, status);
  }
  if (code == CF_OK && next->kind == HIDE && !s->cells) {
    next->cells = s->cells = cf_gpu_alloc (CF_DEVICE, convolve_hide_bytes (&s->largest), status);
    code = s->cells ? CF_OK : CF_NO_MEMORY;
  }
  if (code == CF_OK && next->fallback == LONG && !s->sums) {
    next->sums = s->sums = cf_gpu_alloc (CF_DEVICE, convolve_long_bytes (&s->largest, &plan->common), status);
    code = s->sums ? CF_OK : CF_NO_MEMORY;
  }
  if (code == CF_OK && (next->fallback == WIDE || next->fallback == LONG)) {
    next->c = resolved;
    next->rounding = convolve_rounding_of (resolved);
  }
  if (code == CF_OK) {
    put_weights (next);
    next->operands.kernel = NULL;
    *s = *next;
    plan->variant = s->kind;
  }
  free (next);
  return code;
}

CfCode
convolve_init (CfPlan *plan, CfStatus *status)
{
  State *s = state_of (plan);
  CfCode code = convolve_load_small (&s->pdl, status);

  s->largest = plan->video;
  for (Load load : { convolve_load_direct, convolve_load_quads, convolve_load_packed_rgb, convolve_load_packed_quads,
          convolve_load_passes, convolve_load_packed_passes, convolve_load_dense, convolve_load_wide,
          convolve_load_long, convolve_load_hide })
    if (code == CF_OK)
      code = load (plan->context->max_shared, status);
  if (code == CF_OK)
    code = convolve_load_sparse (plan->context->max_shared, &s->has_sparse, status);
  return code == CF_OK ? set_up (plan, status) : code;
}

void
convolve_free (CfPlan *plan)
{
  cf_gpu_free (CF_DEVICE, state_of (plan)->cells);
  cf_gpu_free (CF_DEVICE, state_of (plan)->sums);
}

/* ---- groups ------------------------------------------------------------- */

/* Returns the CfConvolveAction of a component. */
uint8_t
action_of (const CfPlan *plan, const CfView *view)
{
  return (uint8_t) cf_convolve_action (&state_of (plan)->c, plan->video.format, view);
}

/* Returns the weight of a component in the gray plane, of 3 (mean) or 256 (luma). */
uint8_t
gray_weight (CfGray gray, CfRole role)
{
  if (role == CF_ROLE_ALPHA)
    return 0;
  if (gray == CF_GRAY_MEAN)
    return 1;
  return role == CF_ROLE_RED ? 77 : role == CF_ROLE_GREEN ? 150 : 29;
}

/* Adds a component to a group: sample `at` of the pixel. */
void
add_component (const CfPlan *plan, Group *g, const CfView *view, int at)
{
  const CfComponent *component = &cf_format_info (plan->video.format)->comp[view->component];
  const CfGray gray = state_of (plan)->c.gray;

  g->action[at] = action_of (plan, view);
  if (g->action[at] == CF_ACTION_GRAY) {
    g->gray = true;
    g->planes = 1;
    g->weight[at] = gray_weight (gray, component->role);
  } else if (g->action[at] == CF_ACTION_FILTER) {
    g->offset |= (unsigned) at << 8 * g->planes;
    g->chroma |= (component->role == CF_ROLE_CHROMA ? 1u : 0u) << g->planes;
    g->plane[at] = g->planes++;
  }
}

/* Sets the flags of a group that permit loads and stores of words and vectors. Words are used at 8 bit only, and
 * not for pixels with both copied and mid-level samples, which are rare. */
void
set_alignment (Group *g)
{
  const uintptr_t in = (uintptr_t) g->in | (uintptr_t) g->in_pitch, out = (uintptr_t) g->out | (uintptr_t) g->out_pitch;
  bool whole = true, copied = false, mid = false;

  for (int i = 0; i < g->step; i++) {
    if (g->planes == 3 && !g->gray && g->action[i] != CF_ACTION_FILTER)
      g->offset |= (unsigned) i << 24;
    whole = whole && g->action[i] != another_group;
    copied = copied || g->action[i] == CF_ACTION_COPY;
    mid = mid || g->action[i] == CF_ACTION_MID;
  }
  g->copy_vectors = whole && copied && !mid && g->planes == 0 && ((in | out) & 15) == 0;
  g->in_words = g->bytes == 1 && (in & 3) == 0 && !g->in2[0] && g->in_pitch <= INT_MAX / 2;
  g->in_vectors = g->in_words && (in & 15) == 0;
  g->out_words = g->bytes == 1 && whole && !g->in2[0]
      && (out & (g->step == 4 ? 7 : g->step == 3 ? 1 : 3)) == 0
      && !(copied && (mid || g->step != 4 || (in & 7) != 0));
}

/* Returns true if two components are samples of the same 8-bit pixels. */
bool
share_pixels (const CfView *a, const CfView *b)
{
  return a->plane == b->plane && a->field == b->field && a->step == b->step && a->bytes == 1 && a->width == b->width;
}

/* Gray made of three planes: adds the other two to the group of the first. */
void
join_gray_planes (const CfPlan *plan, Group *g, const CfView *in, const CfView *out, int n, bool *used)
{
  const CfFormatInfo *info = cf_format_info (plan->video.format);
  int found = 0;

  for (int i = 1; i < n && found < 2; i++) {
    if (in[i].field != in[0].field || action_of (plan, &in[i]) != CF_ACTION_GRAY)
      continue;
    used[i] = true;
    g->in2[found] = in[i].data;
    g->out2[found] = out[i].data;
    g->in_pitch2[found] = (long long) in[i].pitch;
    g->out_pitch2[found] = (long long) out[i].pitch;
    g->weight[++found] = gray_weight (state_of (plan)->c.gray, info->comp[in[i].component].role);
  }
}

/* Fills a clear group with view 0, and with each of the n - 1 views after it that shares its pixels. Marks them in
 * `used`. */
void
make_group (const CfPlan *plan, Group *g, const CfView *in, const CfView *out, int n, bool *used)
{
  const CfFormatInfo *info = cf_format_info (plan->video.format);
  const int lead = in[0].bytes == 1 ? info->comp[in[0].component].offset % in[0].step : 0;

  memset (g->action, another_group, sizeof g->action);
  g->in = in[0].data - lead; /* the pixel's first byte, which keeps the alignment of the rows */
  g->out = out[0].data - lead;
  g->in_pitch = (long long) in[0].pitch;
  g->out_pitch = (long long) out[0].pitch;
  g->width = in[0].width;
  g->height = in[0].height;
  g->step = in[0].step;
  g->bytes = in[0].bytes;
  g->shift = in[0].shift;
  g->bits = in[0].bits;
  for (int i = 0; i < n; i++)
    if (!used[i] && share_pixels (&in[0], &in[i])) {
      used[i] = true;
      add_component (plan, g, &in[i], (int) (in[i].data - g->in));
    }
  if (!used[0]) { /* 16 bit: each component has a group of its own */
    used[0] = true;
    add_component (plan, g, &in[0], 0);
  }
  if (g->gray && g->step == 1)
    join_gray_planes (plan, g, in, out, n, used);
  set_alignment (g);
}

/* Fills the kernels' argument, which is clear, for a frame. */
void
make_work (const CfPlan *plan, const CfImage *in, const CfImage *out, Work *work)
{
  const State *s = state_of (plan);
  const CfConvolution &c = s->c;
  CfView from[CF_MAX_VIEWS], to[CF_MAX_VIEWS];
  bool used[CF_MAX_VIEWS] = { };
  const int n = cf_image_views (&plan->video, &plan->common, in, from);

  cf_image_views (&plan->video, &plan->common, out, to);
  for (int i = 0; i < n; i++)
    if (!used[i]) {
      make_group (plan, &work->group[work->n], from + i, to + i, n - i, used + i);
      work->group[work->n].index = work->n;
      work->n++;
    }
  work->w = s->identity ? 1 : c.w; /* a copy takes the smallest kernel's code */
  work->h = s->identity ? 1 : c.h;
  work->ax = s->identity ? 0 : c.ax;
  work->ay = s->identity ? 0 : c.ay;
  work->limbs = s->limbs;
  work->pdl = s->pdl;
  work->sms = plan->context->sms;
  work->late = s->late;
  work->border = (uint8_t) c.border;
  work->gray = (uint8_t) c.gray;
  work->outside[0] = c.outside[0];
  work->outside[1] = c.outside[1];
  work->rounding = s->rounding;
}

CfCode
convolve_enqueue (CfPlan *plan, CfStream *stream, const CfImage *in, const CfImage *out, CfStatus *status)
{
  State *s = state_of (plan);
  cudaStream_t handle = static_cast<cudaStream_t> (cf_stream_handle (stream));
  Frame f = { Work (), s->c, &s->operands, plan->context->max_shared, handle, status, CF_OK };

  if (s->kind == HIDE)
    return convolve_hide_launch (plan, s->c, &s->largest, s->cells, s->pdl, NULL, false, in, out, handle, status);
  make_work (plan, in, out, &f.work);
  if (s->kind == PASSES) {
    f.work.rounding = s->passes;
    if (convolve_passes_launch (&f))
      return f.code;
    f.work.rounding = s->rounding;
  }
  if ((s->kind == DIRECT && convolve_direct_launch (&f))
      || (s->kind == PACKED_RGB && convolve_packed_rgb_launch (&f, s->small))
      || (s->fallback == DENSE && ((s->has_sparse && convolve_sparse_launch (&f)) || convolve_dense_launch (&f))))
    return f.code;
  if (s->fallback == WIDE)
    convolve_wide_launch (&f, s->wide);
  else if (s->fallback == LONG)
    convolve_long_launch (&f, s->longer, s->sums, convolve_long_bytes (&s->largest, &plan->common));
  else
    convolve_small_launch (&f, s->small);
  return f.code;
}

/* Mosaic, privacy and fill. */
CfCode
convolve_enqueue_boxes (CfPlan *plan, CfStream *stream, const CfArea *area, bool copies, const CfImage *in,
    const CfImage *out, CfStatus *status)
{
  State *s = state_of (plan);

  return convolve_hide_launch (plan, s->c, &s->largest, s->cells, s->pdl, area, copies, in, out,
      static_cast<cudaStream_t> (cf_stream_handle (stream)), status);
}

/* Sets "delay" or "seed", which make warps of sparse.cu late. */
CfCode
convolve_set_override (CfPlan *plan, const char *name, int value, CfStatus *status)
{
  if (set_late (&state_of (plan)->late, name, value))
    return CF_OK;
  return cf_fail (status, CF_UNSUPPORTED, "the convolution has no test override %s; it has delay and seed", name);
}

} // namespace

extern "C" const CfOps cf_convolve_cuda = {
  .state_size = sizeof (State),
  .init = convolve_init,
  .update = set_up,
  .enqueue = convolve_enqueue,
  .enqueue_boxes = convolve_enqueue_boxes,
  .free = convolve_free,
  .variants = names,
  .set_override = convolve_set_override,
};
