/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * core/gpu/stream.c: CUDA streams behind cf.h: copies, the order among streams, and how the
 * host learns that something is done. */
#include "core/filter.h"

#include <cuda_runtime_api.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

/* The end of some work, as the host waits for it: the GPU writes the next number into
 * a word of pinned memory, which a waiting thread reads without asking the driver. Each
 * question to the driver takes a lock that all threads of the process share: with
 * 400 cameras they took most of 16 cores' time, and the frames' as well. Where the
 * driver cannot write words, an event stands in. */
typedef struct {
  uint32_t *word, number;
  cudaEvent_t event;
  bool by_event; /* the last one */
  uint64_t took; /* ns that the last wait took */
} End;

struct CfStream {
  cudaStream_t handle;
  bool borrowed;
  cudaEvent_t marks[CF_STREAM_MARKS];
  End end;
};

struct CfMarks {
  cudaEvent_t event[CF_MARKS];
  cudaStream_t stream[CF_MARKS]; /* that set it; NULL: none has */
  End end;
  cudaStream_t end_stream;
};

static uint64_t
now_ns (void)
{
  struct timespec t;

  clock_gettime (CLOCK_MONOTONIC, &t);
  return (uint64_t) t.tv_sec * 1000000000u + (uint64_t) t.tv_nsec;
}

/* ---- ends --------------------------------------------------------------- */

/* cuStreamWriteValue32, which the runtime does not have: the driver is asked for it. Its
 * errors have the runtime's numbers. */
typedef int (*WriteWord) (cudaStream_t stream, unsigned long long address, uint32_t value, unsigned flags);

static WriteWord
write_word (void)
{
  static _Atomic (void *) found;
  static atomic_bool asked;
  enum cudaDriverEntryPointQueryResult result = cudaDriverEntryPointSymbolNotFound;
  void *entry = NULL;
  int error;

  if (atomic_load (&asked))
    return (WriteWord) atomic_load (&found);
#if CUDART_VERSION >= 12050
  error = cudaGetDriverEntryPointByVersion ("cuStreamWriteValue32", &entry, 12000, cudaEnableDefault, &result);
#else
  error = cudaGetDriverEntryPoint ("cuStreamWriteValue32", &entry, cudaEnableDefault, &result);
#endif
  if (error != cudaSuccess || result != cudaDriverEntryPointSuccess) {
    (void) cudaGetLastError ();
    entry = NULL;
  }
  atomic_store (&found, entry);
  atomic_store (&asked, true);
  return (WriteWord) entry;
}

static void
clear_end (End *end)
{
  if (end->event && cf_cuda_usable ())
    cf_cuda_check (cudaEventDestroy (end->event), "freeing a CUDA event", NULL);
  cf_pinned_free (end->word);
}

/* The word is made when it is first needed: to make and to free pinned memory takes long,
 * and most marks have no end. */
static bool
provide_word (End *end)
{
  if (!end->word && (end->word = cf_pinned_alloc (sizeof *end->word, NULL)))
    *end->word = 0;
  return end->word != NULL;
}

static int
set_event (End *end, cudaStream_t stream)
{
  int error = end->event ? cudaSuccess : (int) cudaEventCreateWithFlags (&end->event, cudaEventDisableTiming);

  return error == cudaSuccess ? (int) cudaEventRecord (end->event, stream) : error;
}

/* Behind all that the stream was told. Returns a cudaError_t. */
static int
set_end (End *end, cudaStream_t stream)
{
  WriteWord write = write_word ();
  int error = write && provide_word (end) ? write (stream, (unsigned long long) (uintptr_t) end->word, ++end->number, 0)
      : (int) cudaErrorNotSupported;

  end->by_event = error == cudaErrorNotSupported;
  return end->by_event ? set_event (end, stream) : error;
}

/* Is it there? cudaErrorNotReady if not. `ask`: also whether the GPU still works. */
static int
look (const End *end, cudaStream_t stream, bool ask)
{
  if (end->by_event)
    return cudaEventQuery (end->event);
  if ((int32_t) (__atomic_load_n (end->word, __ATOMIC_ACQUIRE) - end->number) >= 0)
    return cudaSuccess;
  return ask ? (int) cudaStreamQuery (stream) : (int) cudaErrorNotReady;
}

static void
sleep_ns (uint64_t ns)
{
  nanosleep (&(struct timespec) { .tv_nsec = (long) ns }, NULL);
}

/* cudaStreamSynchronize and its like have no timeout, so poll. Sleeps are 50 us longer than
 * they should be: so only the first half of what the last wait took is slept through, then
 * the word is looked at eagerly for as long as a frame takes, at last with short sleeps,
 * so that a slow GPU does not burn a core. `first`: the error of setting the end. After a
 * fault no word comes: so the driver is asked every now and then. */
static CfCode
wait_for (End *end, int first, cudaStream_t stream, uint64_t deadline_ns, CfStatus *status)
{
  const uint64_t ask_ns = 1000000, most_eager_ns = 1000000, margin_ns = 50000;
  uint64_t start = now_ns (), asked = start, now = start;
  uint64_t eager_ns = end->took > most_eager_ns ? 0 : end->took * 5 / 4;

  if (eager_ns < 300000)
    eager_ns = 300000;
  if (end->took > 6 * margin_ns && end->took <= most_eager_ns && first == cudaSuccess)
    sleep_ns (end->took / 2 - margin_ns);
  for (;;) {
    bool ask = now - asked >= ask_ns;
    int error = first != cudaSuccess ? first : look (end, stream, ask);

    if (error == cudaSuccess) {
      end->took = now_ns () - start;
      return CF_OK;
    }
    if (error != cudaErrorNotReady) {
      CfCode code = cf_cuda_check (error, "waiting for the GPU", status);

      /* nobody knows whether the GPU still writes: as if it had not finished */
      if (code == CF_GPU_LOST)
        return code;
      if (status)
        status->code = CF_TIMEOUT;
      return CF_TIMEOUT;
    }
    if (ask)
      asked = now;
    now = now_ns ();
    if (now - start > deadline_ns) {
      cf_cuda_hangs (stream);
      return cf_fail (status, CF_TIMEOUT, "the GPU did not finish a frame in %.1f s", (double) deadline_ns / 1e9);
    }
    if (now - start > eager_ns)
      sleep_ns (50000);
    else
      sched_yield ();
  }
}

/* ---- streams ------------------------------------------------------------ */

CfStream *
cf_stream_new (void *handle, CfStatus *status)
{
  CfStream *stream = calloc (1, sizeof *stream);
  CfCode code = CF_OK;

  if (!stream) {
    cf_fail (status, CF_NO_MEMORY, "out of memory");
    return NULL;
  }
  stream->handle = (cudaStream_t) handle;
  stream->borrowed = handle != NULL;
  if (!handle)
    code = cf_cuda_check (cudaStreamCreateWithFlags (&stream->handle, cudaStreamNonBlocking), "making a CUDA stream",
        status);
  for (int i = 0; code == CF_OK && i < CF_STREAM_MARKS; i++)
    code = cf_cuda_check (cudaEventCreate (&stream->marks[i]), "making a CUDA event", status);
  if (code != CF_OK) {
    cf_stream_free (stream);
    return NULL;
  }
  return stream;
}

void
cf_stream_free (CfStream *stream)
{
  if (!stream)
    return;
  for (int i = 0; i < CF_STREAM_MARKS; i++)
    if (stream->marks[i] && cf_cuda_usable ())
      cf_cuda_check (cudaEventDestroy (stream->marks[i]), "freeing a CUDA event", NULL);
  clear_end (&stream->end);
  if (stream->handle && !stream->borrowed && cf_cuda_usable ())
    cf_cuda_check (cudaStreamDestroy (stream->handle), "freeing a CUDA stream", NULL);
  free (stream);
}

void *
cf_stream_handle (const CfStream *stream)
{
  return stream ? stream->handle : NULL;
}

/* Do both pictures lie alike, so that one copy moves all planes? The planes
 * must follow each other without large gaps: what is between them travels. */
static size_t
common_extent (const CfImage *a, const CfImage *b)
{
  const CfFormatInfo *info = cf_format_info (a->format);
  const uint8_t *base_a = a->plane[0].data, *base_b = b->plane[0].data;
  size_t extent = 0;

  for (int p = 0; p < info->n_planes; p++) {
    size_t rows = (size_t) cf_plane_rows (a->format, a->height, p);
    const uint8_t *data = a->plane[p].data;
    size_t pitch = a->plane[p].pitch, row = cf_plane_row_bytes (a->format, a->width, p);
    size_t begin = (size_t) (data - base_a);

    if (data < base_a || begin != (size_t) ((const uint8_t *) b->plane[p].data - base_b) || pitch != b->plane[p].pitch
        || begin < extent || begin > extent + 64 * pitch || pitch > row + 4096)
      return 0;
    extent = begin + (rows - 1) * pitch + row;
  }
  return extent;
}

/* In one piece, where nothing is between its rows: it might be another plane's. */
static CfCode
copy_plane (CfStream *stream, const CfImage *to, const CfImage *from, int p, enum cudaMemcpyKind kind,
    const char *what, CfStatus *status)
{
  size_t row = cf_plane_row_bytes (from->format, from->width, p), pitch = from->plane[p].pitch;
  size_t rows = (size_t) cf_plane_rows (from->format, from->height, p);
  void *data = to->plane[p].data;

  if (to->plane[p].pitch == row && pitch == row)
    return cf_cuda_check (cudaMemcpyAsync (data, from->plane[p].data, rows * row, kind, stream->handle), what, status);
  return cf_cuda_check (cudaMemcpy2DAsync (data, to->plane[p].pitch, from->plane[p].data, pitch, row, rows, kind,
          stream->handle), what, status);
}

static CfCode
copy_planes (CfStream *stream, const CfImage *to, const CfImage *from, enum cudaMemcpyKind kind, const char *what,
    CfStatus *status)
{
  const CfFormatInfo *info = cf_format_info (from->format);
  CfCode code = CF_OK;

  for (int p = 0; code == CF_OK && p < info->n_planes; p++)
    code = copy_plane (stream, to, from, p, kind, what, status);
  return code;
}

static CfCode
copy_image (CfStream *stream, const CfImage *to, const CfImage *from, enum cudaMemcpyKind kind, const char *what,
    CfStatus *status)
{
  size_t extent = common_extent (to, from);

  if (extent)
    return cf_cuda_check (cudaMemcpyAsync (to->plane[0].data, from->plane[0].data, extent, kind, stream->handle), what,
        status);
  return copy_planes (stream, to, from, kind, what, status);
}

/* Between the planes of some rows there are others' rows. */
static CfCode
copy_rows (CfStream *stream, const CfImage *to, const CfImage *from, int begin, int end, enum cudaMemcpyKind kind,
    const char *what, CfStatus *status)
{
  CfImage to_rows, from_rows;

  cf_image_rows (&to_rows, to, begin, end);
  cf_image_rows (&from_rows, from, begin, end);
  return copy_planes (stream, &to_rows, &from_rows, kind, what, status);
}

CfCode
cf_stream_upload (CfStream *stream, const CfImage *device, const CfImage *host, CfStatus *status)
{
  return copy_image (stream, device, host, cudaMemcpyHostToDevice, "uploading a frame", status);
}

CfCode
cf_stream_download (CfStream *stream, const CfImage *host, const CfImage *device, CfStatus *status)
{
  return copy_image (stream, host, device, cudaMemcpyDeviceToHost, "downloading a frame", status);
}

CfCode
cf_stream_upload_rows (CfStream *stream, const CfImage *device, const CfImage *host, int begin, int end,
    CfStatus *status)
{
  return copy_rows (stream, device, host, begin, end, cudaMemcpyHostToDevice, "uploading a part of a frame", status);
}

CfCode
cf_stream_download_rows (CfStream *stream, const CfImage *host, const CfImage *device, int begin, int end,
    CfStatus *status)
{
  return copy_rows (stream, host, device, begin, end, cudaMemcpyDeviceToHost, "downloading a part of a frame", status);
}

CfCode
cf_stream_wait (CfStream *stream, uint64_t deadline_ns, CfStatus *status)
{
  int error = set_end (&stream->end, stream->handle);

  return wait_for (&stream->end, error, stream->handle, deadline_ns, status);
}

CfCode
cf_stream_mark (CfStream *stream, int mark, CfStatus *status)
{
  return cf_cuda_check (cudaEventRecord (stream->marks[mark], stream->handle), "recording a CUDA event", status);
}

uint64_t
cf_stream_elapsed_ns (CfStream *stream, int from, int to)
{
  float ms = 0;

  if (cudaEventElapsedTime (&ms, stream->marks[from], stream->marks[to]) != cudaSuccess) {
    (void) cudaGetLastError ();
    return 0;
  }
  return (uint64_t) (ms * 1e6f);
}

/* ---- marks -------------------------------------------------------------- */

CfMarks *
cf_marks_new (CfStatus *status)
{
  CfMarks *marks = calloc (1, sizeof *marks);
  CfCode code = CF_OK;

  if (!marks) {
    cf_fail (status, CF_NO_MEMORY, "out of memory");
    return NULL;
  }
  for (int i = 0; code == CF_OK && i < CF_MARKS; i++)
    code = cf_cuda_check (cudaEventCreate (&marks->event[i]), "making a CUDA event", status);
  if (code != CF_OK) {
    cf_marks_free (marks);
    return NULL;
  }
  return marks;
}

void
cf_marks_free (CfMarks *marks)
{
  if (!marks)
    return;
  for (int i = 0; i < CF_MARKS; i++)
    if (marks->event[i] && cf_cuda_usable ())
      cf_cuda_check (cudaEventDestroy (marks->event[i]), "freeing a CUDA event", NULL);
  clear_end (&marks->end);
  free (marks);
}

CfCode
cf_stream_set_mark (CfStream *stream, CfMarks *marks, int mark, CfStatus *status)
{
  marks->stream[mark] = stream->handle;
  return cf_cuda_check (cudaEventRecord (marks->event[mark], stream->handle), "recording a CUDA event", status);
}

CfCode
cf_stream_follow (CfStream *stream, const CfMarks *marks, int mark, CfStatus *status)
{
  if (!marks->stream[mark] || marks->stream[mark] == stream->handle)
    return CF_OK;
  return cf_cuda_check (cudaStreamWaitEvent (stream->handle, marks->event[mark], 0), "ordering two CUDA streams",
      status);
}

CfCode
cf_stream_set_end (CfStream *stream, CfMarks *marks, CfStatus *status)
{
  marks->end_stream = stream->handle;
  return cf_cuda_check (set_end (&marks->end, stream->handle), "marking a frame's end", status);
}

CfCode
cf_marks_wait (CfMarks *marks, uint64_t deadline_ns, CfStatus *status)
{
  return wait_for (&marks->end, cudaSuccess, marks->end_stream, deadline_ns, status);
}

uint64_t
cf_marks_elapsed_ns (const CfMarks *marks, int from, int to)
{
  float ms = 0;

  if (!marks->stream[from] || !marks->stream[to]
      || cudaEventElapsedTime (&ms, marks->event[from], marks->event[to]) != cudaSuccess) {
    (void) cudaGetLastError ();
    return 0;
  }
  return (uint64_t) (ms * 1e6f);
}
