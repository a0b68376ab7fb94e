/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * convolve/gpu/internal.cuh: what the CUDA files of the convolution share: a frame's work
 * as it travels with a launch, and the launches. */
#ifndef CF_CONVOLVE_GPU_INTERNAL_CUH
#define CF_CONVOLVE_GPU_INTERNAL_CUH

#include "convolve/convolve.h"
#include "core/gpu/launch.cuh"

namespace cf {

/* A sample's fate that is none of CfConvolveFate. */
constexpr uint8_t another_group = 0xff;

/* Components that lie in one plane with the same size, step and field, so that
 * one block makes whole pixels of them. A pixel is `step` samples of `bytes`;
 * its filtered samples are the tile's planes 0, 1, 2. What belongs to another group
 * is left alone. */
struct Group {
  const uint8_t *in;
  uint8_t *out;
  long long in_pitch, out_pitch; /* bytes */
  int width, height;             /* pixels */
  int first_block, blocks_x, index;
  unsigned blocks_inverse; /* 2^32 / blocks_x rounded up; 0 for 1 */
  uint8_t step, bytes, shift, bits;
  uint8_t planes;      /* filtered ones, 0..3; of a gray picture 1 */
  uint8_t fate[4];     /* CfConvolveFate of each sample of the pixel, in memory order, or another_group */
  uint8_t plane[4];    /* of a filtered sample */
  unsigned offset;     /* of each plane in the pixel, in samples, a byte a plane; of three in four the rest's last */
  unsigned chroma;     /* which constants each plane takes, a bit a plane */
  uint8_t weight[4];   /* gray: of each sample of the pixel */
  bool gray;
  bool in_words;       /* four pixels begin on a word in every row */
  bool in_vectors;     /* ... and four, of step 1 sixteen, on as many bytes as they take */
  bool copy_vectors;   /* all copied, and rows lie on 16 bytes */
  bool out_words;      /* two pixels may be stored at once: aligned to their size, at most 4 */
  /* Gray of three planes (GBR): the other two, R and B. */
  const uint8_t *in2[2];
  uint8_t *out2[2];
  long long in_pitch2[2], out_pitch2[2];

  /* Shifts, not arrays: what is indexed by a variable would not stay in registers. */
  __host__ __device__ int plane_offset (int plane) const { return (int) (offset >> 8 * plane & 0xff); }
  __host__ __device__ int plane_chroma (int plane) const { return (int) (chroma >> plane & 1); }
};

/* Rounding by a float multiply-add; EVEN: two, where ties can occur and 1 / D is
 * no float. See make_quick () in plan.cu. */
enum Quick : uint8_t { QUICK_NONE, QUICK_ONE, QUICK_EVEN };

/* Rounding where sums stay in registers: see make_rule () in plan.cu. */
enum Rule : uint8_t { RULE_NONE, RULE_ONE, RULE_EVEN, RULE_SHIFT, RULE_DIVIDE };

/* From sums to samples: CfConvolution's rule, without the weights. */
struct Rounding {
  long long divisor2; /* 2 D */
  long long add[2];
  long long factor;
  unsigned magic;
  int shift;          /* narrow: of the product, less 32; power of two: of n */
  int max, mid, amount;
  uint8_t op, narrow, pow2, ties[2];
  Quick quick;
  bool clips;         /* quick, and of rules: the sum and what it begins with may be below 0, and then counts as 0 */
  int base[2];        /* of luma and chroma: is added to sums */
  unsigned offset;    /* bits of a float: is added to products */
  float inverse[2];   /* of D; EVEN: above and below it */
  Rule rule;
  int begin[2];       /* what sums begin with, of luma and chroma */
  int rule_divisor, rule_shift;
  unsigned rule_magic;
};

constexpr int max_limbs = 5;

struct Work {
  int n, blocks;
  Group group[CF_MAX_VIEWS];
  Rounding rounding;
  int w, h, ax, ay;
  int limbs;          /* of a weight, signed bytes, the lowest first */
  uint8_t border;     /* CfBorder */
  uint8_t gray;       /* CfGray */
  bool ahead;         /* the kernels may begin before those queued before them have ended: await_previous */
  int outside[2];
};

/* Weights up to 9 x 10: [limb][row], tap i at byte 12 + i, zeros around. For a
 * magnitude, "limb" 1 is the second kernel. */
struct SmallWeights {
  uint4 row[max_limbs][10][2];
};

/* Up to 63 x 63: limb, row, taps as signed bytes, rows padded with zeros to a
 * multiple of 4, everything tight. SIZE bounds the argument of the launch. */
template<int SIZE> struct DenseWeights {
  uint4 bytes[SIZE / 16];
};
constexpr int dense_small = 1536, dense_large = 63 * 64 * max_limbs;
static_assert (dense_small % 16 == 0 && dense_large % 16 == 0, "staged by 16 bytes");

struct SeparableWeights {
  int row[64], col[64];
};

/* One axis each: tap i at byte 32 + i, zeros around. */
struct AxisWeights {
  uint4 row[9], col[9];
};

CfCode convolve_launch_small (Work *work, const SmallWeights &weights, cudaStream_t stream, CfStatus *status);
CfCode convolve_launch_dense (Work *work, const CfConvolution &c, cudaStream_t stream, CfStatus *status);
/* Bytes of pixels of `step` samples, four or eight at a time. */
bool convolve_band_fits (const CfConvolution &c, const Rounding &k, int limbs, int step);
/* Pixels of four bytes of which three are filtered. */
bool convolve_apart_fits (const CfConvolution &c, const Rounding &k, int limbs);
/* False: the frame does not lie as these kernels need it, and nothing was launched. */
bool convolve_launch_band (const Work &work, const CfConvolution &c, cudaStream_t stream, CfCode *code,
    CfStatus *status);
bool convolve_launch_apart (Work *work, const SmallWeights &weights, cudaStream_t stream, CfCode *code,
    CfStatus *status);
/* Does the block's memory suffice? */
bool convolve_separable_fits (const CfConvolution &c, bool is_signed, int max_shared);
CfCode convolve_launch_separable (Work *work, const AxisWeights &weights, bool is_signed, cudaStream_t stream,
    CfStatus *status);
CfCode convolve_launch_wide (Work *work, const SeparableWeights &weights, cudaStream_t stream, CfStatus *status);
/* Loads the kernels and sets the limits of their shared memory; once a plan. */
CfCode convolve_small_init (bool *ahead, CfStatus *status); /* ahead: Work's */
CfCode convolve_band_init (CfStatus *status);
CfCode convolve_apart_init (CfStatus *status);
CfCode convolve_dense_init (int max_shared, CfStatus *status);
CfCode convolve_separable_init (int max_shared, CfStatus *status);
CfCode convolve_wide_init (int max_shared, CfStatus *status);

/* What a block takes beside its dynamic shared memory, at the most. */
constexpr int fixed_shared = 1024;

/* Loads kernels; max_shared: what a block may have, where its memory is dynamic. */
template<typename Variant, int N> CfCode
load_variants (const Variant (&variants)[N], int max_shared, CfStatus *status)
{
  CfCode code = CF_OK;

  for (int i = 0; code == CF_OK && i < N; i++)
    code = cf_cuda_check (cudaFuncSetAttribute (variants[i].kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
        max_shared > 0 ? max_shared - fixed_shared : 0), "loading the convolution's kernels", status);
  return code;
}

/* ahead: the kernel calls await_previous before it looks at a picture. */
inline CfCode
launch_blocks (const char *name, const void *kernel, int blocks, int threads, void **arguments, int shared, bool ahead,
    cudaStream_t stream, CfStatus *status)
{
  cudaLaunchAttribute attribute = { };
  cudaLaunchConfig_t config = { };
  CfCode code;

  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  config.gridDim = dim3 ((unsigned) blocks);
  config.blockDim = dim3 ((unsigned) threads);
  config.dynamicSmemBytes = (size_t) shared;
  config.stream = stream;
  config.attrs = &attribute;
  config.numAttrs = ahead ? 1 : 0;
  code = cf_cuda_check (cudaLaunchKernelExC (&config, kernel, arguments), name, status);
  return code == CF_OK ? cf_cuda_launched (name, status) : code;
}

/* What divides by blocks_x with a multiplication; exact for at most 2^32 / blocks_x
 * blocks: 16384^2 pixels are 2^17 blocks of 32 x 128. */
inline unsigned
inverse_of_blocks (int blocks_x)
{
  return blocks_x > 1 ? (unsigned) ((0x100000000ull + (unsigned) blocks_x - 1) / (unsigned) blocks_x) : 0;
}

/* Blocks of tile_w x tile_h pixels, all groups behind each other. */
inline void
deal_groups (Work *work, int tile_w, int tile_h)
{
  work->blocks = 0;
  for (int i = 0; i < work->n; i++) {
    Group &g = work->group[i];

    g.index = i;
    g.first_block = work->blocks;
    g.blocks_x = (g.width + tile_w - 1) / tile_w;
    g.blocks_inverse = inverse_of_blocks (g.blocks_x);
    work->blocks += g.blocks_x * ((g.height + tile_h - 1) / tile_h);
  }
}

} // namespace cf

#endif
