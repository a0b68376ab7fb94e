/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * launches.c: the real plans and kernels on a fake CUDA runtime that executes nothing, as GPUs with less shared memory
 * than the one that the tests run on: every setting of kernelcheck in every format, with every variant. No launch may
 * ask for more shared memory than the GPU or the kernel's limit allows, and none may take a kernel without a body. */
#include "check/kernelcheck.h"
#include "fake.h"

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <string.h>

const KcFilter *const kc_filters[] = { &kc_median, &kc_running, &kc_convolve, &kc_irfilter, &kc_segment, NULL };

/* ---- GPUs ------------------------------------------------------------------ */

/* arch: what the code was compiled for that is loaded. A driver also makes code from PTX of an earlier one. */
static const struct {
  const char *name;
  int shared, arch;
} gpus[] = { { "7.5", 64 << 10, 75 }, { "8.0", 163 << 10, 80 }, { "8.6", 99 << 10, 86 }, { "9.0", 227 << 10, 90 },
  { "9.0 with code for 7.5", 227 << 10, 75 }, { "12.0", 99 << 10, 120 } };
static unsigned gpu;

/* ---- kernels --------------------------------------------------------------- */

enum { DEFAULT_LIMIT = 48 << 10 }; /* bytes of dynamic shared memory */

typedef struct {
  const char *name; /* as the linker has it */
  int limit;
} Kernel;

static GHashTable *kernels; /* by the address of the host's function */
static unsigned long launches, sparse;
static char wrong[400]; /* what is wrong with the last launch; empty: nothing */

/* What nvcc's code calls. */
void **__cudaRegisterFatBinary (void *cubin);
void __cudaRegisterFatBinaryEnd (void **handle);
void __cudaUnregisterFatBinary (void **handle);
char __cudaInitModule (void **handle);
void __cudaRegisterFunction (void **handle, const char *function, char *device, const char *name, int limit, void *tid,
    void *bid, void *block, void *grid, int *size);
cudaError_t __cudaGetKernel (cudaKernel_t *kernel, const void *function);
cudaError_t
__cudaLaunchKernel (cudaKernel_t kernel, dim3 grid, dim3 block, void **arguments, size_t shared, cudaStream_t stream);
unsigned __cudaPushCallConfiguration (dim3 grid, dim3 block, size_t shared, cudaStream_t stream);
cudaError_t __cudaPopCallConfiguration (dim3 *grid, dim3 *block, size_t *shared, void *stream);

void **
__cudaRegisterFatBinary (void *cubin)
{
  static void *handle;

  (void) cubin;
  return &handle;
}

void
__cudaRegisterFatBinaryEnd (void **handle)
{
  (void) handle;
}

void
__cudaUnregisterFatBinary (void **handle)
{
  (void) handle;
}

char
__cudaInitModule (void **handle)
{
  (void) handle;
  return 1;
}

void
__cudaRegisterFunction (void **handle, const char *function, char *device, const char *name, int limit, void *tid,
    void *bid, void *block, void *grid, int *size)
{
  Kernel *k = g_new0 (Kernel, 1);

  (void) handle, (void) device, (void) limit, (void) tid, (void) bid, (void) block, (void) grid, (void) size;
  if (!kernels)
    kernels = g_hash_table_new (NULL, NULL);
  k->name = name;
  k->limit = DEFAULT_LIMIT;
  g_hash_table_insert (kernels, (void *) (uintptr_t) function, k);
}

/* Returns the static shared memory of a kernel: of the one that is asked whether it has a body. */
static int
static_shared (const Kernel *k)
{
  return strstr (k->name, "convolve_sparse_kernel") && gpus[gpu].arch == 90 ? 1 << 10 : 0;
}

/* Returns whether the kernel has no body in the loaded code: a network for large windows (network.cuh). */
static bool
is_empty (const Kernel *k)
{
  const char *network = strstr (k->name, "MedianNetworkBlockILi");
  const int arch = strstr (k->name, "network_wide_kernel") ? 90 : 80;

  return network && atoi (strpbrk (network, "0123456789")) > 5 && gpus[gpu].arch < arch;
}

cudaError_t
cudaFuncGetAttributes (struct cudaFuncAttributes *attributes, const void *function)
{
  const Kernel *k = g_hash_table_lookup (kernels, function);

  memset (attributes, 0, sizeof *attributes);
  attributes->sharedSizeBytes = (size_t) static_shared (k);
  attributes->ptxVersion = attributes->binaryVersion = gpus[gpu].arch;
  return cudaSuccess;
}

cudaError_t
cudaFuncSetAttribute (const void *function, enum cudaFuncAttribute which, int value)
{
  Kernel *k = g_hash_table_lookup (kernels, function);

  if (which != cudaFuncAttributeMaxDynamicSharedMemorySize)
    return cudaSuccess;
  if (value < 0 || value + static_shared (k) > fake_runtime.shared)
    return cudaErrorInvalidValue;
  k->limit = MAX (value, DEFAULT_LIMIT);
  return cudaSuccess;
}

cudaError_t
cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags (int *n, const void *function, int threads, size_t shared,
    unsigned flags)
{
  (void) function, (void) threads, (void) shared, (void) flags;
  *n = 1;
  return cudaSuccess;
}

cudaError_t
cudaStreamSynchronize (cudaStream_t stream)
{
  (void) stream;
  return cudaSuccess;
}

static cudaError_t
launch (const void *function, dim3 grid, dim3 block, size_t shared)
{
  const Kernel *k = g_hash_table_lookup (kernels, function);
  const unsigned threads = block.x * block.y * block.z;

  launches++;
  sparse += strstr (k->name, "convolve_sparse_kernel") != NULL;
  if (shared > (size_t) k->limit || threads == 0 || threads > 1024 || grid.x == 0 || grid.x > INT32_MAX ||
      grid.y > 65535 || grid.z > 65535)
    snprintf (wrong, sizeof wrong, "%.200s: %u x %u x %u blocks of %u threads, %zu bytes of shared memory of %d",
        k->name, grid.x, grid.y, grid.z, threads, shared, k->limit);
  else if (is_empty (k))
    snprintf (wrong, sizeof wrong, "%.200s: has no body in code for %d", k->name, gpus[gpu].arch);
  return cudaSuccess;
}

cudaError_t
cudaLaunchKernelExC (const cudaLaunchConfig_t *config, const void *function, void **arguments)
{
  (void) arguments;
  return launch (function, config->gridDim, config->blockDim, config->dynamicSmemBytes);
}

cudaError_t
cudaLaunchKernel (const void *function, dim3 grid, dim3 block, void **arguments, size_t shared, cudaStream_t stream)
{
  (void) arguments, (void) stream;
  return launch (function, grid, block, shared);
}

cudaError_t
cudaLaunchCooperativeKernel (const void *function, dim3 grid, dim3 block, void **arguments, size_t shared,
    cudaStream_t stream)
{
  return cudaLaunchKernel (function, grid, block, arguments, shared, stream);
}

cudaError_t
__cudaGetKernel (cudaKernel_t *kernel, const void *function)
{
  *kernel = (cudaKernel_t) (uintptr_t) function;
  return cudaSuccess;
}

cudaError_t
__cudaLaunchKernel (cudaKernel_t kernel, dim3 grid, dim3 block, void **arguments, size_t shared, cudaStream_t stream)
{
  return cudaLaunchKernel (kernel, grid, block, arguments, shared, stream);
}

/* A launch by <<< >>>: its configuration is pushed, and the kernel's function pops it. */
static struct {
  dim3 grid, block;
  size_t shared;
} pushed;

unsigned
__cudaPushCallConfiguration (dim3 grid, dim3 block, size_t shared, cudaStream_t stream)
{
  (void) stream;
  pushed.grid = grid;
  pushed.block = block;
  pushed.shared = shared;
  return 0;
}

cudaError_t
__cudaPopCallConfiguration (dim3 *grid, dim3 *block, size_t *shared, void *stream)
{
  *grid = pushed.grid;
  *block = pushed.block;
  *shared = pushed.shared;
  *(cudaStream_t *) stream = NULL;
  return cudaSuccess;
}

/* ---- plans ----------------------------------------------------------------- */

static KcRun run;
static uint8_t *memory[2]; /* frames */

/* A case, for the messages. */
typedef struct {
  const KcFilter *kc;
  const char *set;
  CfVideo video;
} Case;

static void
result (const Case *c, const CfPlan *plan, bool good, const char *message)
{
  if (good)
    run.passed++;
  else if (++run.failed < 30)
    printf ("FAIL %s, %s %s, %s %d x %d, variant %s: %s\n", gpus[gpu].name, c->kc->stem, c->set,
        cf_format_info (c->video.format)->name, c->video.width, c->video.height, plan ? cf_plan_variant (plan) : "none",
        message);
}

/* Filters a frame whose rows are aligned, and one whose rows are not. */
static void
filter (const Case *c, CfPlan *plan)
{
  for (int odd = 0; odd < 2; odd++) {
    const int bytes = cf_format_info (c->video.format)->bytes;
    CfStatus status = { 0 };
    CfImage layout, in, out;
    unsigned long before = launches;

    cf_image_layout (&layout, c->video.format, c->video.width, c->video.height, odd ? 4 : 256);
    cf_image_at (&in, &layout, memory[0] + odd * bytes);
    cf_image_at (&out, &layout, memory[1] + odd * bytes);
    *wrong = '\0';
    if (cf_plan_enqueue (plan, run.stream, &(CfFrame) { .in = &in, .out = &out }, &status) != CF_OK)
      result (c, plan, false, status.message);
    else
      result (c, plan, launches > before && !*wrong, *wrong ? wrong : "nothing was launched");
    fake_settle ();
  }
}

/* Filters with each variant that a plan does not refuse. */
static void
each_variant (const Case *c, const void *params)
{
  const CfCommon common = { 0 };
  const CfFilter *f = cf_filter_find (c->kc->stem);
  CfStatus status = { 0 };
  CfPlan *plan;
  const char *name;

  if (cf_filter_check (f, &c->video, &common, params, NULL) != CF_OK)
    return;
  plan = cf_plan_new (run.gpu, f, &c->video, &common, params, &status);
  if (!plan) {
    result (c, plan, false, status.message);
    return;
  }
  filter (c, plan);
  for (unsigned i = 0; (name = cf_plan_variant_name (plan, i)); i++) {
    const CfCode code = cf_plan_prefer (plan, name, &status);

    if (code == CF_OK)
      filter (c, plan);
    else
      result (c, plan, code == CF_UNSUPPORTED, status.message);
  }
  cf_plan_free (plan);
}

/* Makes plans for a list of settings in all formats, or in a few. */
static void
each_setting (const KcFilter *kc, const char *const *set, bool all, int width, int height)
{
  static const CfFormat few[] = { CF_FORMAT_GRAY8, CF_FORMAT_GRAY16_LE, CF_FORMAT_NV12, CF_FORMAT_RGBA };

  for (; set && *set; set++) {
    void *params = kc_params_new (cf_filter_find (kc->stem), *set, NULL);

    for (int i = 0; i < (all ? CF_N_FORMATS - 1 : (int) G_N_ELEMENTS (few)); i++)
      each_variant (
          &(Case) { kc, *set, { .format = all ? (CfFormat) (i + 1) : few[i], .width = width, .height = height } },
          params);
    cf_params_free (cf_filter_find (kc->stem), params);
  }
}

/* Tries all settings of a filter. Those of many frames take much memory. */
static void
each_list (const KcFilter *kc)
{
  const char *const *const lists[] = { kc->settings, kc->format_settings, kc->rgb_settings, kc->frame_settings };

  for (size_t i = 0; i < G_N_ELEMENTS (lists); i++)
    each_setting (kc, lists[i], true, 96, 34);
  each_setting (kc, kc->deep_settings, false, 32, 8);
  each_setting (kc, kc->large_settings, false, CF_MAX_SIZE, 8);
  each_setting (kc, kc->large_settings, false, 8, CF_MAX_SIZE);
}

int
main (void)
{
  CfStatus status = { 0 };
  GHashTableIter i;
  void *k;

  for (int m = 0; m < 2; m++)
    memory[m] = g_malloc0 (16 << 20);
  fake_infos[0].major = 99; /* whatever the kernels were compiled for, its driver would compile their PTX */
  for (gpu = 0; gpu < G_N_ELEMENTS (gpus); gpu++) {
    fake_runtime.shared = gpus[gpu].shared;
    for (g_hash_table_iter_init (&i, kernels); g_hash_table_iter_next (&i, NULL, &k);)
      ((Kernel *) k)->limit = DEFAULT_LIMIT;
    run.gpu = cf_context_new (CF_BACKEND_CUDA, &status);
    run.stream = run.gpu ? cf_stream_new (NULL, &status) : NULL;
    if (!run.stream) {
      printf ("no stream: %s\n%lu passed, 1 failed, 0 skipped\n", status.message, run.passed);
      return 1;
    }
    sparse = 0;
    for (const KcFilter *const *kc = kc_filters; *kc; kc++)
      each_list (*kc);
    if ((sparse > 0) != (gpus[gpu].arch == 90)) {
      printf ("FAIL %s: %lu launches of what only code for 9.0 has\n", gpus[gpu].name, sparse);
      run.failed++;
    }
    cf_stream_free (run.stream);
    cf_context_free (run.gpu);
  }
  printf ("%u kernels, %lu launches\n%lu passed, %lu failed, 0 skipped\n", g_hash_table_size (kernels), launches,
      run.passed, run.failed);
  return run.failed > 0 || run.passed == 0;
}
