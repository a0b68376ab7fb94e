/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * convolve.cu: the convolution on CUDA: plans, groups of components, the choice
 * of the variant, launches.
 *
 * | variant | kernels | what it is |
 * | copy | the identity | convolve_small.cu with nothing filtered |
 * | small | up to 9 x 10 at 8 bit, magnitudes at 8 bit | convolve_small.cu |
 * | separable | separable ones at 8 bit whose first pass fits 16 bits | convolve_separable.cu |
 * | dense | any | convolve_dense.cu |
 * | wide | separable ones of any depth, magnitudes | convolve_wide.cu | */
#include "convolve_cuda.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

namespace {

using namespace cf;

enum Kind { COPY, SMALL, SEPARABLE, DENSE, WIDE, N_KINDS };

const char *const names[N_KINDS] = { "copy", "small", "separable", "dense", "wide" };

struct State {
  CfConvolution c;
  Kind kind;
  int prefer; /* a Kind; -1: the best one */
  int max_shared;
  int limbs;
  bool identity;  /* nothing but copies, mid-level or both */
  bool is_signed; /* separable: the weights are signed bytes, not unsigned ones */
  SmallWeights small;
  AxisWeights axis;
  SeparableWeights wide;
};

State *
state_of (const CfPlan *plan)
{
  return static_cast<State *> (plan->state);
}

/* ---- the choice --------------------------------------------------------- */

/* How many signed bytes hold each of these. */
int
count_limbs (const int32_t *weights, int n)
{
  int most = 1;

  for (int i = 0; i < n; i++) {
    int limbs = 1;

    for (int64_t rest = weights[i]; rest < -128 || rest > 127; limbs++)
      rest = (rest - (int8_t) (rest & 0xff)) / 256;
    most = limbs > most ? limbs : most;
  }
  return most;
}

bool
in_range (const int32_t *weights, int n, int min, int max)
{
  for (int i = 0; i < n; i++)
    if (weights[i] < min || weights[i] > max)
      return false;
  return true;
}

/* Bytes for both passes and 16 bits between them: unsigned, or signed. */
bool
axis_fits (const CfConvolution &c, bool *is_signed)
{
  int64_t sum = 0;

  for (int i = 0; i < c.w; i++)
    sum += llabs (c.row[i]);
  if (in_range (c.row, c.w, 0, 255) && in_range (c.col, c.h, 0, 255) && sum * c.max <= 65535)
    *is_signed = false;
  else if (in_range (c.row, c.w, -128, 127) && in_range (c.col, c.h, -128, 127) && sum * c.max <= 32767)
    *is_signed = true;
  else
    return false;
  return true;
}

bool
fits (State *s, Kind kind)
{
  const CfConvolution &c = s->c;
  const bool magnitude = c.op == CF_CONVOLVE_MAGNITUDE;

  if (s->identity)
    return kind == COPY;
  switch (kind) {
    case SMALL:
      return c.bits == 8 && c.dense && c.w - c.ax <= 5 && c.ax <= 4 && c.h <= 10;
    case SEPARABLE:
      return c.bits == 8 && c.separable && axis_fits (c, &s->is_signed)
          && convolve_separable_fits (c, s->is_signed, s->max_shared);
    case DENSE:
      return c.dense && !magnitude;
    case WIDE:
      return c.separable || magnitude;
    default:
      return false;
  }
}

/* Measured on an H200: how many limbs times pairs of rows make two passes worth it. */
bool
better_separable (const State *s)
{
  return s->limbs * ((s->c.h + 1) / 2) > 5;
}

CfCode
choose (State *s, CfStatus *status)
{
  const Kind order[] = { COPY, SMALL, SEPARABLE, WIDE, DENSE };

  if (s->prefer >= 0) {
    s->kind = (Kind) s->prefer;
    if (fits (s, s->kind))
      return CF_OK;
    return cf_fail (status, CF_UNSUPPORTED, "variant %s cannot filter with this %d x %d kernel at %d bit",
        names[s->kind],
        s->c.w, s->c.h, s->c.bits);
  }
  for (Kind kind : order)
    if (fits (s, kind)) {
      s->kind = kind;
      break;
    }
  if (s->kind == SMALL && better_separable (s) && fits (s, SEPARABLE))
    s->kind = SEPARABLE;
  /* few taps: the tensor units' dense kernel costs less than 64-bit passes */
  if (s->kind == WIDE && fits (s, DENSE) && s->c.bits > 8 && s->c.w * s->c.h <= 25)
    s->kind = DENSE;
  return CF_OK;
}

/* ---- weights ------------------------------------------------------------ */

void
put_small (SmallWeights *small, int limb, const int32_t *weights, int w, int h, int limbs)
{
  for (int j = 0; j < h; j++)
    for (int i = 0; i < w; i++) {
      int64_t rest = weights[j * w + i];

      for (int l = limb; l < limb + limbs; l++) {
        const int8_t digit = (int8_t) (rest & 0xff);

        ((int8_t *) small->row[l][j])[12 + i] = digit;
        rest = (rest - digit) / 256;
      }
    }
}

void
put_weights (State *s)
{
  const CfConvolution &c = s->c;

  memset (&s->small, 0, sizeof s->small);
  memset (&s->axis, 0, sizeof s->axis);
  if (s->kind == SMALL)
    put_small (&s->small, 0, c.weights, c.w, c.h, s->limbs);
  if (s->kind == SMALL && c.op == CF_CONVOLVE_MAGNITUDE)
    put_small (&s->small, 1, c.weights_y, c.w, c.h, 1);
  for (int i = 0; s->kind == SEPARABLE && i < c.w; i++)
    ((uint8_t *) s->axis.row)[32 + i] = (uint8_t) c.row[i];
  for (int i = 0; s->kind == SEPARABLE && i < c.h; i++)
    ((uint8_t *) s->axis.col)[32 + i] = (uint8_t) c.col[i];
  if (s->kind == WIDE && c.separable) {
    memcpy (s->wide.row, c.row, sizeof c.row);
    memcpy (s->wide.col, c.col, sizeof c.col);
  }
  if (s->kind == WIDE && !c.separable) {
    memcpy (s->wide.row, c.weights, sizeof *c.weights * 9);
    memcpy (s->wide.col, c.weights_y, sizeof *c.weights * 9);
  }
}

CfCode
set_up (CfPlan *plan, CfStatus *status)
{
  State *s = state_of (plan);
  State *next = static_cast<State *> (malloc (sizeof *next));
  CfCode code;

  if (!next)
    return cf_fail (status, CF_NO_MEMORY, "out of memory");
  *next = *s;
  code = cf_convolution_resolve (static_cast<const CfConvolveParams *> (plan->params), plan->video.format, &next->c,
      status);
  /* made gray, the identity is a kernel like others */
  next->identity = next->c.op == CF_CONVOLVE_COPY
      && !(next->c.gray != CF_GRAY_NONE && cf_format_info (plan->video.format)->rgb);
  if (code == CF_OK)
    code = choose (next, status);
  if (code == CF_OK) {
    next->limbs = next->c.dense ? count_limbs (next->c.weights, next->c.w * next->c.h) : 1;
    put_weights (next);
    *s = *next;
  }
  free (next);
  return code;
}

CfCode
convolve_init (CfPlan *plan, CfStatus *status)
{
  const int max_shared = plan->context->max_shared;
  CfCode code;

  plan->state = calloc (1, sizeof (State));
  if (!plan->state)
    return cf_fail (status, CF_NO_MEMORY, "out of memory");
  state_of (plan)->prefer = -1;
  state_of (plan)->max_shared = max_shared;
  code = convolve_small_init (status);
  if (code == CF_OK)
    code = convolve_dense_init (max_shared, status);
  if (code == CF_OK)
    code = convolve_separable_init (max_shared, status);
  if (code == CF_OK)
    code = convolve_wide_init (max_shared, status);
  return code == CF_OK ? set_up (plan, status) : code;
}

void
convolve_free (CfPlan *plan)
{
  free (plan->state);
}

/* ---- groups ------------------------------------------------------------- */

Fate
fate_of (const CfPlan *plan, const CfView *view)
{
  switch (cf_convolve_fate (&state_of (plan)->c, plan->video.format, view)) {
    case CF_FATE_FILTER:
      return FILTERED;
    case CF_FATE_GRAY:
      return GRAYED;
    case CF_FATE_MID:
      return MID;
    default:
      return COPIED;
  }
}

uint8_t
gray_weight (CfGray gray, CfRole role)
{
  if (role == CF_ROLE_ALPHA)
    return 0;
  if (gray == CF_GRAY_MEAN)
    return 1;
  return role == CF_ROLE_RED ? 77 : role == CF_ROLE_GREEN ? 150 : 29;
}

/* Takes a component into a group: sample `at` of its pixel. */
void
add_component (const CfPlan *plan, Group *g, const CfView *view, int at)
{
  const CfComponent *component = &cf_format_info (plan->video.format)->comp[view->component];
  const CfGray gray = state_of (plan)->c.gray;

  g->fate[at] = fate_of (plan, view);
  if (g->fate[at] == GRAYED) {
    g->gray = true;
    g->planes = 1;
    g->weight[at] = gray_weight (gray, component->role);
  } else if (g->fate[at] == FILTERED) {
    g->offset |= (unsigned) at << 8 * g->planes;
    g->chroma |= (component->role == CF_ROLE_CHROMA ? 1u : 0u) << g->planes;
    g->plane[at] = g->planes++;
  }
}

/* Words and vectors are for 8 bit; mid-level and copies in one pixel are rare. */
void
see_alignment (Group *g)
{
  const uintptr_t in = (uintptr_t) g->in | (uintptr_t) g->in_pitch, out = (uintptr_t) g->out | (uintptr_t) g->out_pitch;
  bool copied = false, mid = false;

  g->whole = true;
  for (int i = 0; i < g->step; i++) {
    if (g->planes == 3 && !g->gray && g->fate[i] != FILTERED)
      g->offset |= (unsigned) i << 24;
    g->whole = g->whole && g->fate[i] != NONE;
    copied = copied || g->fate[i] == COPIED;
    mid = mid || g->fate[i] == MID;
  }
  g->copy_vectors = g->whole && copied && !mid && g->planes == 0 && ((in | out) & 15) == 0;
  g->in_words = g->bytes == 1 && (in & 3) == 0 && !g->in2[0] && g->in_pitch <= INT_MAX / 2;
  g->in_vectors = g->in_words && (in & 15) == 0;
  g->out_words = g->bytes == 1 && g->whole && !g->in2[0]
      && (out & (g->step == 4 ? 7 : g->step == 3 ? 1 : 3)) == 0
      && !(copied && (mid || g->step != 4 || (in & 7) != 0));
}

/* Do both lie in the same pixels? */
bool
are_together (const CfView *a, const CfView *b)
{
  return a->plane == b->plane && a->field == b->field && a->step == b->step && a->bytes == 1 && a->width == b->width;
}

/* Gray of three planes: the other two join the first one's group. */
void
join_gray_planes (const CfPlan *plan, Group *g, const CfView *in, const CfView *out, int n, bool *used)
{
  const CfFormatInfo *info = cf_format_info (plan->video.format);
  int found = 0;

  for (int i = 1; i < n && found < 2; i++) {
    if (in[i].field != in[0].field || fate_of (plan, &in[i]) != GRAYED)
      continue;
    used[i] = true;
    g->in2[found] = in[i].data;
    g->out2[found] = out[i].data;
    g->in_pitch2[found] = (long long) in[i].pitch;
    g->out_pitch2[found] = (long long) out[i].pitch;
    g->weight[++found] = gray_weight (state_of (plan)->c.gray, info->comp[in[i].component].role);
  }
}

/* The group of view 0 and of those of the n - 1 behind it that lie in the same
 * pixels. */
void
make_group (const CfPlan *plan, Group *g, const CfView *in, const CfView *out, int n, bool *used)
{
  const CfFormatInfo *info = cf_format_info (plan->video.format);
  const int lead = in[0].bytes == 1 ? info->comp[in[0].component].offset % in[0].step : 0;

  *g = Group ();
  g->in = in[0].data - lead; /* the pixel's first byte, so that words stay words */
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
    if (!used[i] && are_together (&in[0], &in[i])) {
      used[i] = true;
      add_component (plan, g, &in[i], (int) (in[i].data - g->in));
    }
  if (!used[0]) { /* 16 bit: each component by itself */
    used[0] = true;
    add_component (plan, g, &in[0], 0);
  }
  if (g->gray && g->step == 1)
    join_gray_planes (plan, g, in, out, n, used);
  see_alignment (g);
}

/* A plan's Work, for a frame. */
void
make_work (const CfPlan *plan, const CfImage *in, const CfImage *out, Work *work)
{
  const State *s = state_of (plan);
  const CfConvolution &c = s->c;
  CfView from[CF_MAX_VIEWS], to[CF_MAX_VIEWS];
  bool used[CF_MAX_VIEWS] = { };
  const int n = cf_image_views (&plan->video, &plan->common, in, from);
  Rounding &k = work->rounding;

  cf_image_views (&plan->video, &plan->common, out, to);
  *work = Work ();
  for (int i = 0; i < n; i++)
    if (!used[i])
      make_group (plan, &work->group[work->n++], from + i, to + i, n - i, used + i);
  work->w = c.w;
  work->h = c.h;
  work->ax = c.ax;
  work->ay = c.ay;
  work->limbs = s->limbs;
  work->border = (uint8_t) c.border;
  work->gray = (uint8_t) c.gray;
  work->outside[0] = c.outside[0];
  work->outside[1] = c.outside[1];
  k.divisor2 = 2 * c.divisor;
  k.add[0] = c.add[0];
  k.add[1] = c.add[1];
  k.factor = c.factor;
  k.magic = c.magic;
  k.max = c.max;
  k.mid = c.mid;
  k.amount = c.amount;
  k.op = (uint8_t) c.op;
  k.narrow = (c.op == CF_CONVOLVE_LINEAR || c.op == CF_CONVOLVE_COPY) && c.narrow;
  k.pow2 = (k.divisor2 & (k.divisor2 - 1)) == 0;
  k.shift = k.pow2 ? __builtin_ctzll ((unsigned long long) k.divisor2) : c.shift - 32;
  /* an odd dividend is no multiple of 2 D: no ties */
  k.ties[0] = c.ties_even[0] && c.add[0] % 2 == 0;
  k.ties[1] = c.ties_even[1] && c.add[1] % 2 == 0;
}

CfCode
convolve_enqueue (CfPlan *plan, CfStream *stream, const CfImage *in, const CfImage *out, CfStatus *status)
{
  const State *s = state_of (plan);
  cudaStream_t handle = static_cast<cudaStream_t> (cf_stream_handle (stream));
  Work work;

  make_work (plan, in, out, &work);
  switch (s->kind) {
    case SEPARABLE:
      return convolve_launch_separable (&work, s->axis, s->is_signed, handle, status);
    case DENSE:
      return convolve_launch_dense (&work, s->c, handle, status);
    case WIDE:
      return convolve_launch_wide (&work, s->wide, handle, status);
    default:
      return convolve_launch_small (&work, s->small, handle, status);
  }
}

/* ---- variants by name --------------------------------------------------- */

const char *
convolve_variant (const CfPlan *plan)
{
  return names[state_of (plan)->kind];
}

const char *
convolve_variant_name (const CfPlan *, unsigned i)
{
  return i < N_KINDS ? names[i] : NULL;
}

CfCode
convolve_prefer (CfPlan *plan, const char *variant, CfStatus *status)
{
  State *s = state_of (plan);
  const int before = s->prefer;
  int wanted = -1;
  CfCode code;

  for (int i = 0; variant && i < N_KINDS; i++)
    if (strcmp (names[i], variant) == 0)
      wanted = i;
  if (variant && wanted < 0)
    return cf_fail (status, CF_UNSUPPORTED, "the convolution has no variant \"%s\"", variant);
  s->prefer = wanted;
  code = set_up (plan, status);
  if (code != CF_OK)
    s->prefer = before;
  return code;
}

} // namespace

extern "C" const CfOps cf_convolve_cuda = {
  convolve_init, set_up, convolve_enqueue, NULL, NULL, convolve_free, convolve_variant, convolve_variant_name,
      convolve_prefer,
};
