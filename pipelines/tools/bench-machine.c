/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * bench-machine.c: describes this machine. */

#include "bench.h"
#include "cf.h"

#include <gst/gst.h>
#include <string.h>
#include <unistd.h>

/* Uses the plugin that was built beside this program, with a registry file there, unless
 * GST_PLUGIN_PATH is set. */
void
bench_init (void)
{
  g_autofree char *self = g_file_read_link ("/proc/self/exe", NULL);
  g_autofree char *folder = self ? g_path_get_dirname (self) : NULL;
  g_autofree char *gst = folder ? g_build_filename (folder, "..", "gst", NULL) : NULL;
  g_autofree char *plugin = gst ? g_build_filename (gst, "libgstcudafilters.so", NULL) : NULL;
  const char *path = g_getenv ("GST_PLUGIN_PATH");

  if (plugin && g_file_test (plugin, G_FILE_TEST_EXISTS) && !path) {
    g_autofree char *registry = g_build_filename (folder, "registry.bin", NULL);

    g_setenv ("GST_PLUGIN_PATH", gst, TRUE);
    g_setenv ("GST_REGISTRY", registry, FALSE);
  }
  gst_init (NULL, NULL);
}

/* Reads "model name : ..." from /proc/cpuinfo; some architectures have no such line. */
static void
read_cpu (char *name, gsize size)
{
  g_autofree char *text = NULL;
  const char *line, *colon;

  g_strlcpy (name, "CPU", size);
  if (!g_file_get_contents ("/proc/cpuinfo", &text, NULL, NULL) || !(line = strstr (text, "model name")) ||
      !(colon = strchr (line, ':')))
    return;
  colon += 1 + strspn (colon + 1, " \t");
  g_strlcpy (name, colon, MIN (size, strcspn (colon, "\n") + 1));
}

void
bench_machine (BenchMachine *machine)
{
  g_autofree char *version = gst_version_string ();
  CfStatus status = { .code = CF_OK };
  CfGpuInfo info;

  memset (machine, 0, sizeof *machine);
  read_cpu (machine->cpu, sizeof machine->cpu);
  g_strlcpy (machine->isa, cf_cpu_isa (), sizeof machine->isa);
  g_strlcpy (machine->gstreamer, version, sizeof machine->gstreamer);
  machine->cores = cf_cpu_threads ();
  machine->gpus = cf_gpu_count (&status);
  if (machine->gpus == 0)
    g_strlcpy (machine->why_no_gpu, status.message, sizeof machine->why_no_gpu);
  else if (cf_gpu_info (0, &info, &status) == CF_OK)
    g_strlcpy (machine->gpu, info.name, sizeof machine->gpu);
}
