/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * irfilter_tables.c: no set is here yet. */

#include "irfilter_tables.h"

#include <stddef.h>

const CfIrTableEntry *
cf_ir_deblur_table (int *n)
{
  *n = 0;
  return NULL;
}

const CfIrTableEntry *
cf_ir_motion_table (int *n)
{
  *n = 0;
  return NULL;
}
