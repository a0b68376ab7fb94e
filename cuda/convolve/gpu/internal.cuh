/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * convolve/gpu/internal.cuh: what the CUDA files of the convolution share: the description of
 * a frame that is the kernels' argument, the layouts of the weights, and the functions that launch. */
#ifndef CF_CONVOLVE_GPU_INTERNAL_CUH
#define CF_CONVOLVE_GPU_INTERNAL_CUH

#include "convolve/convolve.h"
#include "core/gpu/late.cuh"
#include "core/gpu/launch.cuh"

#include <algorithm>

namespace cf {

/* Action of a sample that belongs to another group of the same pixel: the block leaves it alone. */
constexpr uint8_t another_group = 0xff;

/* The components of one plane that have the same size, step and field: a block filters whole pixels
 * of a group. A pixel has `step` samples of `bytes` bytes; its filtered samples are the planes 0, 1, 2
 * of the tile. Samples of the pixel that belong to another group are not touched. */
struct Group {
  const uint8_t *in;
  uint8_t *out;
  long long in_pitch, out_pitch; /* bytes */
  int width, height;             /* pixels */
  int first_block, blocks_x, index;
  unsigned blocks_inverse; /* 2^32 / blocks_x rounded up; 0 for 1 */
  uint8_t step, bytes, shift, bits;
  uint8_t planes;      /* number of filtered planes, 0..3; 1 where R, G and B become one gray plane */
  uint8_t action[4];   /* CfConvolveAction of each sample of the pixel, in memory order, or another_group */
  uint8_t plane[4];    /* of each filtered sample: its plane */
  unsigned offset;     /* offset of each plane in the pixel, in samples, one byte per plane; where three of four
                          samples are filtered, byte 3 is the offset of the fourth sample */
  unsigned chroma;     /* one bit per plane: set if the plane takes the constants of chroma */
  uint8_t weight[4];   /* gray: the weight of each sample of the pixel */
  bool gray;
  bool in_words;       /* 8-bit input whose rows begin on an address divisible by 4 */
  bool in_vectors;     /* in_words, and the rows begin on an address divisible by 16 */
  bool copy_vectors;   /* all samples are copied, and the rows of both images begin on 16 bytes */
  bool out_words;      /* put_pair () may store two pixels at once: the output rows are aligned for it */
  /* Gray made of three planes (GBR): the two other planes, R and B. */
  const uint8_t *in2[2];
  uint8_t *out2[2];
  long long in_pitch2[2], out_pitch2[2];

  /* Shifts, not arrays: an array that is indexed by a variable does not stay in registers. */
  __host__ __device__ int plane_offset (int plane) const { return (int) (offset >> 8 * plane & 0xff); }
  __host__ __device__ int plane_chroma (int plane) const { return (int) (chroma >> plane & 1); }
  int across () const { return width; } /* what blocks share out */
};

/* Rounding with a float multiply-add. QUICK_EVEN: with two of them, one after the other, where ties can occur and 1 / D
 * is no float. See make_quick () in rounding.cu. */
enum Quick : uint8_t { QUICK_NONE, QUICK_ONE, QUICK_EVEN };

/* Rounding without branches, for the kernels that keep all sums in registers. See make_rule () in rounding.cu. */
enum Rule : uint8_t { RULE_NONE, RULE_ONE, RULE_EVEN, RULE_SHIFT, RULE_DIVIDE };

/* How sums become samples: the constants of CfConvolution, without the weights, and what was derived
 * from them. D is the divisor, n = 2 S + add (see CfConvolution). */
struct Rounding {
  long long divisor2; /* 2 D */
  long long add[2];
  long long factor;
  unsigned magic;
  int shift;          /* pow2: of n; otherwise, for narrow: of the product with `magic`, less 32 */
  int max, mid, amount;
  uint8_t op, narrow, pow2, ties[2];
  Quick quick;
  bool clips;         /* quick and rule: a sum with its base may be negative, and is then set to 0 */
  int base[2];        /* quick: is added to the sums of luma and chroma */
  unsigned offset;    /* quick: bits of the float that is added to the products */
  float inverse;      /* quick: 1 / D; QUICK_EVEN: divided by `lift` */
  Rule rule;
  int init[2];        /* rule: initial value of the sums of luma and chroma */
  int rule_divisor, rule_shift;
  unsigned rule_magic;
  /* QUICK_EVEN: is added to the first products, and a factor of the results. Not beside `inverse`: two neighbours are
   * loaded as a pair of registers, `inverse` alone as a uniform one. */
  float lift;
};

/* Returns the constants of the rounding for `c`. */
Rounding convolve_rounding_of (const CfConvolution &c);

constexpr int max_limbs = 5;

/* A frame and the parameters: the argument of every kernel but direct.cu's, which has one of its own. */
struct Work {
  int n, blocks;
  Group group[CF_MAX_VIEWS];
  Rounding rounding;
  int w, h, ax, ay;
  int limbs;          /* signed bytes per weight (digits of base 256), the lowest first */
  uint8_t border;     /* CfBorder */
  uint8_t gray;       /* CfGray */
  bool pdl;           /* programmatic dependent launch: a kernel may start before the work queued before it has
                         completed, see griddep_wait () */
  int outside[2];     /* constant border: the sample outside the image, luma and chroma */
  int sms;            /* of the device */
  Late late;          /* test override of sparse.cu */
};

/* Weights up to 9 x 10: [limb][row], tap i at byte 12 + i, zeros around. For a magnitude, index 1 holds
 * the second kernel instead of a second limb. */
struct SmallWeights {
  uint4 row[max_limbs][10][2];
};

/* Weights of dense.cu and sparse.cu. SIZE: bytes of the launch's argument. dense_small and dense_medium: the fragments
 * of one limb, as convolve_fill_quads () makes them, up to 15 x 17 and 31 x 33. Otherwise limb by limb, row by row, one
 * signed byte per tap: in dense_large, up to 63 x 63, rows are padded with zeros to a multiple of 4 bytes, limbs to
 * a multiple of 16; sparse.cu's rows have 32 bytes, in sparse_wide and sparse_ring 64; sparse_small is for one limb up
 * to 33 rows. */
template<int SIZE> struct DenseWeights {
  uint4 bytes[SIZE / 16];
};
constexpr int dense_small = 5 * 2 * 256, dense_medium = 9 * 4 * 256, dense_large = 63 * 64 * max_limbs;
constexpr int sparse_limbs = 3, sparse_small = 33 * 32, sparse_large = 63 * 32 * sparse_limbs;
constexpr int sparse_wide = 120 * 64; /* the left operands of more rows do not fit shared memory */
constexpr int sparse_ring = 63 * 64 * sparse_limbs; /* they come through a ring */
static_assert (dense_small % 16 == 0 && dense_large % 16 == 0, "staged in vectors of 16 bytes");

/* Weights of wide.cu: one axis each; for a 3 x 3 magnitude the nine taps of both kernels. */
struct SeparableWeights {
  int row[64], col[64];
};

/* One byte of each weight of an axis, for long.cu. Row 8 p + n is for output 4 (n / 2) + 2 p + n % 2 of a warp. From
 * byte 16 on it has a weight for each sample, beginning with the first one that output 0 may need; zeros around. */
struct LongAxis {
  uint4 at[16][25];
};

/* S = scale times the sum with the weights. chunks: of 32 samples that 32 outputs need. */
struct LongWeights {
  LongAxis row[2], col[2];
  int kind, row_chunks, col_chunks; /* kind: see variants[] in long.cu */
  long long scale;
};

constexpr int max_spreads = 2; /* different steps that a launch has weights for */

/* The weights as the kernel of a frame takes them, its last argument. They depend on the kernel and on the steps of the
 * frame's planes, and are made when either is another one than before: for 31 x 31 samples that takes a core 60 us. */
struct Operands {
  const void *kernel; /* NULL: none are made */
  int n_steps, steps[max_spreads];
  alignas (16) uint8_t bytes[dense_large];
};

/* Clears the operands and returns true if they are of another kernel or of other steps. */
inline bool
convolve_renew (Operands *o, const void *kernel, const int *steps, int n_steps)
{
  if (o->kernel == kernel && o->n_steps == n_steps && std::equal (steps, steps + n_steps, o->steps))
    return false;
  *o = Operands ();
  o->kernel = kernel;
  o->n_steps = n_steps;
  std::copy_n (steps, n_steps, o->steps);
  return true;
}

/* Splits w x h weights into limbs, signed digits of base 256, a byte each: taps `step` bytes apart, rows row_bytes,
 * limbs limb_bytes. */
inline void
convolve_split_weights (const int32_t *weights, int w, int h, int limbs, int step, int row_bytes, int limb_bytes,
    uint8_t *bytes)
{
  for (int j = 0; j < h; j++)
    for (int i = 0; i < w; i++) {
      int64_t remainder = weights[j * w + i];

      for (int limb = 0; limb < limbs; limb++) {
        const int8_t digit = (int8_t) (remainder & 0xff);

        bytes[limb * limb_bytes + j * row_bytes + i * step] = (uint8_t) digit;
        remainder = (remainder - digit) / 256;
      }
    }
}

/* Fills the right operands of windows of `words` words in `sets` sets of four rows ([set][part][lane]), with taps
 * `step` bytes apart, for windows that begin `up` rows above the kernel (quads.cu). */
void convolve_fill_quads (const CfConvolution &c, int words, int sets, int step, int up, uint2 *fragments);

/* A frame to filter, with what only the host needs. */
struct Frame {
  Work work;
  const CfConvolution &c;
  Operands *operands;
  int max_shared; /* bytes of shared memory that a block may have */
  cudaStream_t stream;
  CfStatus *status;
  CfCode code;    /* the result of the launch */

  /* Enqueues a kernel and returns true; `name` appears in error messages. */
  template<typename... Arguments> bool
  launch (const char *name, const void *kernel, int blocks, int threads, int shared, Arguments *... arguments)
  {
    void *all[] = { (void *) arguments... };

    code = launch_kernel (name, kernel, blocks, dim3 ((unsigned) threads), all, (size_t) shared, work.pdl, stream,
        status);
    return true;
  }
};

/* Each *_fits returns true if its kernels can filter with `c`, rounded as in `k`, in planes of pixels of `step`
 * samples.
 *
 * Each *_launch enqueues the filtering of a frame and returns true, without waiting; the result is in f->code. It
 * returns false, and launches nothing, if its kernels cannot take the frame's strides, alignment or actions. */
bool convolve_direct_fits (const CfConvolution &c, const Rounding &k, int limbs, int step);
bool convolve_packed_rgb_fits (const CfConvolution &c, const Rounding &k, int limbs);
bool convolve_passes_fits (const CfConvolution &c, const Rounding &k, int step);
bool convolve_dense_launch (Frame *f);
bool convolve_direct_launch (Frame *f);
bool convolve_packed_passes_launch (Frame *f);
bool convolve_packed_quads_launch (Frame *f);
bool convolve_packed_rgb_launch (Frame *f, const SmallWeights &weights);
bool convolve_passes_launch (Frame *f);
bool convolve_small_launch (Frame *f, const SmallWeights &weights);
bool convolve_sparse_launch (Frame *f);
bool convolve_wide_launch (Frame *f, const SeparableWeights &weights);
/* Returns the bytes of device memory, cleared, that convolve_hide_launch needs for frames up to a size. */
size_t convolve_hide_bytes (const CfVideo *largest);
/* Filters a frame of the plan's current size, or each box of an area of it as a frame, with fill, mosaic or privacy;
 * `copies`: copies what no box has as well. The next frame's launch must be queued behind this one. */
CfCode convolve_hide_launch (const CfPlan *plan, const CfConvolution &c, const CfVideo *largest, void *memory, bool pdl,
    const CfArea *area, bool copies, const CfImage *in, const CfImage *out, cudaStream_t stream, CfStatus *status);
/* Fills the weights of long.cu; returns false if it cannot filter with `c`. */
bool convolve_fill_long (const CfConvolution &c, LongWeights *weights);
/* Returns the bytes of device memory that convolve_long_launch needs for frames up to a size. */
size_t convolve_long_bytes (const CfVideo *largest, const CfCommon *common);
/* Filters in bands if the memory is less than the frame needs at once. The next frame's launch must be queued behind
 * this one. */
bool convolve_long_launch (Frame *f, const LongWeights &weights, void *memory, size_t memory_bytes);

/* Upper bound of a block's static shared memory, in bytes. */
constexpr int fixed_shared = 1024;

/* An entry of a table that has nothing else. */
struct Kernel {
  const void *kernel;
};

/* Loads the kernels of a table, and sets the limits of their dynamic shared memory if they have any (DYNAMIC). Called
 * once per plan. */
template<const auto &KERNELS, bool DYNAMIC> CfCode
convolve_load (int max_shared, CfStatus *status)
{
  CfCode code = CF_OK;

  for (const auto &k : KERNELS)
    if (code == CF_OK)
      code = cf_cuda_check (cudaFuncSetAttribute (k.kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
          DYNAMIC ? max_shared - fixed_shared : 0), "loading the convolution's kernels", status);
  return code;
}

typedef CfCode (*Load) (int max_shared, CfStatus *status);
extern const Load convolve_load_dense, convolve_load_direct, convolve_load_hide, convolve_load_long,
    convolve_load_packed_passes, convolve_load_packed_quads, convolve_load_packed_rgb, convolve_load_passes,
    convolve_load_quads, convolve_load_wide;
/* Also returns whether the kernels were compiled with griddep_wait (). */
CfCode convolve_load_small (bool *pdl, CfStatus *status);
/* Also returns whether the device has the kernel. */
CfCode convolve_load_sparse (int max_shared, bool *there, CfStatus *status);

/* Sets the grid: blocks of tile_w x tile_h pixels or bytes, group after group. rows: of each group; NULL: all of them.
 * __umulhi () divides by blocks_x with the factor; this is exact for up to 2^32 / blocks_x blocks, and 16384 x 16384
 * pixels are 2^16 blocks of 128 x 32. */
template<typename T> void
convolve_assign_blocks (T *launch, int tile_w, int tile_h, const int *rows = NULL)
{
  launch->blocks = 0;
  for (int i = 0; i < launch->n; i++) {
    auto &g = launch->group[i];

    g.first_block = launch->blocks;
    g.blocks_x = cf_divide_up (g.across (), tile_w);
    g.blocks_inverse = g.blocks_x > 1 ? (unsigned) (0xffffffffu / (unsigned) g.blocks_x + 1) : 0;
    launch->blocks += g.blocks_x * cf_divide_up (rows ? rows[i] : g.height, tile_h);
  }
}

/* Returns the most planes that a group of the frame has filtered, at least 1. */
inline int
convolve_most_planes (const Work &work)
{
  int planes = 1;

  for (int i = 0; i < work.n; i++)
    planes = work.group[i].planes > planes ? work.group[i].planes : planes;
  return planes;
}

} // namespace cf

#endif
