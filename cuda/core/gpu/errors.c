/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * core/gpu/errors.c: what CUDA's errors mean, and the loss of the GPU. */
#include "cuda.h"

#include <cuda_runtime_api.h>
#include <pthread.h>
#include <stdatomic.h>

/* What an error means for the process, by NVIDIA's description of cudaError_t. CF_GPU_LOST: the error is sticky, every
 * later call returns it; or the context and everything in it is gone. CF_NO_GPU: no GPU is to be had, and a later call
 * does not change that. Any other error may pass (CF_GPU_ERROR). */
static const struct {
  int number;
  CfCode code;
  const char *sentence;
} errors[] = {
  { 2, CF_NO_MEMORY, "not enough memory" },
  { 3, CF_NO_GPU, "the NVIDIA driver could not be initialised" },
  { 4, CF_GPU_LOST, "the process is ending" },
  { 34, CF_NO_GPU, "the libcuda.so.1 that was found is a stub, not a driver" },
  { 35, CF_NO_GPU, "the NVIDIA driver is older than this build needs" },
  { 46, CF_NO_GPU, "the GPU is taken by another process (compute mode exclusive or prohibited) or is full" },
  { 100, CF_NO_GPU, "the NVIDIA driver finds no GPU" },
  { 102, CF_NO_GPU, "the GPU has no vGPU license" },
  { 127, CF_NO_GPU, "CUDA could not start" },
  { 201, CF_GPU_LOST, "the CUDA context was destroyed" },
  { 209, CF_NO_GPU, "this build has no kernels for this GPU (cuda-archs)" },
  { 214, CF_GPU_LOST, "the GPU's memory had an error that ECC could not correct" },
  { 220, CF_GPU_LOST, "NVLink had an error that could not be corrected" },
  { 222, CF_NO_GPU, "the NVIDIA driver is too old to compile the kernels for this GPU" },
  { 226, CF_GPU_LOST, "a hardware error was contained" },
  { 700, CF_GPU_LOST, "a kernel accessed an illegal address" },
  { 702, CF_GPU_LOST, "a kernel ran longer than the driver permits" },
  { 709, CF_GPU_LOST, "the CUDA context was destroyed" },
  { 710, CF_GPU_LOST, "an assertion in a kernel failed" },
  { 714, CF_GPU_LOST, "a kernel damaged its stack" },
  { 715, CF_GPU_LOST, "a kernel ran into an illegal instruction" },
  { 716, CF_GPU_LOST, "a kernel accessed a misaligned address" },
  { 717, CF_GPU_LOST, "a kernel accessed the wrong kind of memory" },
  { 718, CF_GPU_LOST, "a kernel lost its program counter" },
  { 719, CF_GPU_LOST, "a kernel failed" },
  { 721, CF_GPU_LOST, "a kernel left tensor memory allocated" },
  { 802, CF_NO_GPU, "the system is not ready for CUDA (with NVSwitch, the Fabric Manager has to run)" },
  { 803, CF_NO_GPU, "the kernel module and the libraries of the NVIDIA driver have different versions" },
  { 804, CF_NO_GPU, "CUDA's forward compatibility package does not support this GPU" },
  { 805, CF_NO_GPU, "the MPS daemon cannot be reached" },
  { 806, CF_NO_GPU, "the connection to the MPS server failed" },
  { 807, CF_NO_GPU, "the MPS server is not ready" },
  { 808, CF_NO_GPU, "the MPS server has no room for another process" },
  { 809, CF_NO_GPU, "the MPS server has no room for another connection" },
  { 810, CF_GPU_LOST, "the MPS server ended this process' use of the GPU" },
  { 911, CF_GPU_LOST, "a device outside CUDA, for which the GPU waited, failed" },
  { 999, CF_GPU_ERROR, "an unknown error of the driver" },
};

CfCode
cf_cuda_fail (int error, const char *what, const char *name, CfStatus *status)
{
  CfCode code = CF_GPU_ERROR;

  for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++)
    if (errors[i].number == error) {
      code = errors[i].code;
      name = errors[i].sentence;
    }
  cf_fail (status, code, "%s: %s (CUDA error %d)", what, name, error);
  if (status)
    status->cuda = error;
  return code;
}

/* ---- the loss of the GPU ------------------------------------------------ */

/* CUDA does not work after a fork: the child must not call it. */
static atomic_bool forked;
static const char by_fork[] =
    "this process was forked from one that uses CUDA; only a newly started program can use the GPU";

static void
note_fork (void)
{
  atomic_store (&forked, true);
}

static void
begin_to_watch (void)
{
  pthread_atfork (NULL, NULL, note_fork);
}

bool
cf_cuda_forked (void)
{
  return atomic_load (&forked);
}

CfCode
cf_cuda_watch_forks (CfStatus *status)
{
  static pthread_once_t once = PTHREAD_ONCE_INIT;

  if (atomic_load (&forked))
    return cf_fail (status, CF_NO_GPU, "%s", by_fork);
  pthread_once (&once, begin_to_watch);
  return CF_OK;
}

static _Atomic (const char *) lost; /* NULL, or the first sticky error */

/* Keeps the first sticky error. The text does not change once `lost` points to it. */
static void
lose (const char *kernel, int error, const CfStatus *failure)
{
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  static CfStatus first;
  int device = -1;

  pthread_mutex_lock (&lock);
  if (!atomic_load (&lost)) {
    if (cudaGetDevice (&device) != cudaSuccess)
      (void) cudaGetLastError ();
    cf_fail (&first, CF_GPU_LOST, "%s, %s, GPU %d%s%s", failure->message, cudaGetErrorName ((cudaError_t) error),
        device, kernel ? ", last kernel launched: " : "", kernel ? kernel : "");
    atomic_store (&lost, first.message);
  }
  pthread_mutex_unlock (&lock);
}

CfCode
cf_cuda_check_after (const char *kernel, int error, const char *what, CfStatus *status)
{
  CfStatus failure;

  if (error == cudaSuccess)
    return CF_OK;
  (void) cudaGetLastError (); /* so that the next call does not report it again */
  if (cf_cuda_fail (error, what, cudaGetErrorString ((cudaError_t) error), &failure) == CF_GPU_LOST) {
    lose (kernel, error, &failure);
    cf_fail_lost (&failure);
    failure.cuda = error;
  }
  if (status)
    *status = failure;
  return failure.code;
}

CfCode
cf_cuda_check (int error, const char *what, CfStatus *status)
{
  return cf_cuda_check_after (cf_cuda_last_kernel (), error, what, status);
}

bool
cf_gpu_lost (void)
{
  return atomic_load (&forked) || atomic_load (&lost);
}

CfCode
cf_fail_lost (CfStatus *status)
{
  if (atomic_load (&forked))
    return cf_fail (status, CF_GPU_LOST, "%s", by_fork);
  return cf_fail (status, CF_GPU_LOST, "this process has lost the GPU and must restart: %s", atomic_load (&lost));
}
