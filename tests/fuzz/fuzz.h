/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * fuzz.h: what the fuzz targets share. A target is a program with LLVMFuzzerTestOneInput (), which tries one input and
 * aborts where an invariant does not hold. libFuzzer's main () drives it where the build has libFuzzer (fuzz.sh), else
 * that of standalone.c. */
#ifndef FUZZ_H
#define FUZZ_H

#include "cf.h"

int LLVMFuzzerInitialize (int *argc, char ***argv);
int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

/* Prints the text and aborts. */
void fuzz_fail (const char *format, ...) __attribute__ ((format (printf, 1, 2), noreturn));

/* The rest of an input. Behind the end there are zeros. */
typedef struct {
  const uint8_t *at;
  size_t left;
} FuzzBytes;

unsigned fuzz_byte (FuzzBytes *bytes);
/* Returns a number below `n`, which is at most 65536. */
unsigned fuzz_below (FuzzBytes *bytes, unsigned n);

/* Fills memory with bytes that depend on the seed only. */
void fuzz_fill (void *memory, size_t size, uint32_t seed);
/* Returns the FNV-1a hash of the bytes, continued from `hash` (0: begins one). */
uint32_t fuzz_hash (uint32_t hash, const void *memory, size_t size);

/* Fails unless the text of an error is a printable sentence that is not cut off. */
void fuzz_check_text (const char *text, size_t max);
/* Fails unless `code` is that of the status, and one that wrong parameters may have. */
void fuzz_check_status (CfCode code, const CfStatus *status);

/* Frames through a plan of the CPU. */
typedef struct {
  const CfFilter *filter;
  CfVideo video;
  CfCommon common;
  CfContext *context;
  CfPlan *plan; /* NULL before the first frame that was filtered */
  uint32_t frames;
} FuzzFrames;

/* Filters the next frame with these parameters, where the filter accepts them. Fails where what cf_filter_check ()
 * accepts cannot be done, and where a frame changes although the traits say that it does not. */
void fuzz_frame (FuzzFrames *frames, const void *params);
void fuzz_frames_end (FuzzFrames *frames);

#endif
