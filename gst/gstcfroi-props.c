/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * gstcfroi-props.c: the properties for regions and `enabled`. */
#include "gstcfroi-private.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
  ENABLED,
  ROI,
  ROI_SIZE,
  ROI_META,
  ROI_TYPE,
  ROI_MIN_CONFIDENCE,
  ROI_GROW,
  ROI_SHAPE,
  ROI_HOLD,
  ROI_MISSING,
  ROI_INVERT,
  MASK,
  MASK_POLYGONS,
  N_PROPERTIES
};

G_STATIC_ASSERT (N_PROPERTIES == GST_CF_ROI_N_PROPERTIES);

/* ---- texts -------------------------------------------------------------- */

#define PIXELS_MAX (2 * CF_MAX_SIZE) /* of a coordinate */
#define SHOWN 60                     /* bytes of a text in a message */

/* Returns the first part of a text in a form for messages; the caller frees it. */
static gchar *
shown (const gchar *text)
{
  gboolean is_long = strlen (text) > SHOWN;
  gchar *valid = g_utf8_make_valid (text, is_long ? SHOWN : -1);
  gchar *out = g_strdelimit (g_strconcat (valid, is_long ? "..." : NULL, NULL), "\a\b\t\n\v\f\r", ' ');

  g_free (valid);
  return out;
}

static const gchar *
skip_blanks (const gchar *text)
{
  while (g_ascii_isspace (*text))
    text++;
  return text;
}

static gboolean
is_fraction (gdouble number)
{
  return number >= 0 && number <= 1;
}

/* Reads a rectangle. Returns what is wrong with it, or NULL. */
static const gchar *
read_rectangle (const gchar *text, GstCfRoiRectangle *r)
{
  gdouble n[4];
  bool point;

  text = cf_text_tuple (text, 4, n, &point);
  if (!text || *text)
    return "is not four numbers x,y,width,height, as in 10,20,64,48 (pixels) or 0.1,0.2,0.5,0.25 (fractions)";
  r->fractions = point;
  if (r->fractions && !(is_fraction (n[0]) && is_fraction (n[1]) && is_fraction (n[2]) && is_fraction (n[3])))
    return "has a decimal point, so that all four are fractions of the frame: they must be from 0 to 1";
  if (!(n[2] > 0) || !(n[3] > 0))
    return "must have a width and a height of more than 0";
  for (guint i = 0; i < 4; i++)
    if (fabs (n[i]) > PIXELS_MAX)
      return "is too large: no number may be beyond 32768 pixels";
  r->x = n[0];
  r->y = n[1];
  r->width = n[2];
  r->height = n[3];
  return NULL;
}

/* Reads a polygon's corners and appends them to `corners`. Returns what is wrong with it, or NULL. */
static const gchar *
read_polygon (const gchar *text, GArray *corners)
{
  const guint before = corners->len;

  while (*text) {
    GstCfRoiCorner c = { 0 };
    gdouble n[2];
    bool point;

    text = cf_text_tuple (text, 2, n, &point);
    if (!text)
      return "is not a list of corners x,y, as in 0.1,0.2 0.4,0.2 0.4,0.6";
    if (!is_fraction (n[0]) || !is_fraction (n[1]))
      return "must have corners in fractions of the frame, from 0 to 1";
    c.x = n[0];
    c.y = n[1];
    text = skip_blanks (text + (*text == ','));
    g_array_append_val (corners, c);
  }
  if (corners->len - before < 3)
    return "must have three corners or more";
  g_array_index (corners, GstCfRoiCorner, corners->len - 1).last = TRUE;
  return NULL;
}

/* Returns a list of `size` bytes an element as a block; NULL where it is empty. Frees the list. */
static GBytes *
block_of (GArray *list, gsize size)
{
  const gsize bytes = list->len * size;

  if (bytes > 0)
    return g_bytes_new_take (g_array_free (list, FALSE), bytes);
  g_array_free (list, TRUE);
  return NULL;
}

/* Reads the shapes of a text, which ';' separates. Returns NULL if there is none, with a status if one is wrong. */
static GBytes *
read_shapes (GstCfRoiText kind, const gchar *text, CfStatus *status)
{
  const gboolean polygons = kind == GST_CF_ROI_POLYGONS;
  const gsize size = polygons ? sizeof (GstCfRoiCorner) : sizeof (GstCfRoiRectangle);
  GArray *list = g_array_new (FALSE, FALSE, (guint) size);
  gchar **parts = g_strsplit (text, ";", -1);
  const gchar *wrong = NULL;

  for (guint i = 0; parts[i] && !wrong; i++) {
    GstCfRoiRectangle r;

    if (*skip_blanks (parts[i]) == '\0')
      continue;
    wrong = polygons ? read_polygon (parts[i], list) : read_rectangle (parts[i], &r);
    if (!wrong && !polygons)
      g_array_append_val (list, r);
    if (wrong) {
      gchar *part = shown (skip_blanks (parts[i]));

      cf_fail (status, CF_BAD_VALUE, "%s: number %u, \"%s\", %s", polygons ? "mask-polygons" : "roi", i + 1, part,
          wrong);
      g_free (part);
      g_array_set_size (list, 0);
    }
  }
  g_strfreev (parts);
  return block_of (list, size);
}

static GBytes *
read_size (const gchar *text, CfStatus *status)
{
  GstCfRoiSize size = { 0 };
  gint end = 0;

  if (sscanf (text, "%5dx%5d%n", &size.width, &size.height, &end) == 2 && !text[end] && size.width > 0 &&
      size.height > 0 && size.width <= PIXELS_MAX && size.height <= PIXELS_MAX)
    return g_bytes_new (&size, sizeof size);
  cf_fail (status, CF_BAD_VALUE, "roi-size: \"%.20s\" is not WIDTHxHEIGHT, as in 1920x1080", text);
  return NULL;
}

static GBytes *
read_types (const gchar *text)
{
  GArray *types = g_array_new (FALSE, FALSE, sizeof (GQuark));
  gchar **names = g_strsplit (text, ",", -1);

  for (guint i = 0; names[i]; i++) {
    GQuark type = g_quark_from_string (g_strstrip (names[i]));

    if (names[i][0])
      g_array_append_val (types, type);
  }
  g_strfreev (names);
  return block_of (types, sizeof (GQuark));
}

/* Returns the block of a text; NULL if it names nothing, or with a status. */
static GBytes *
read_text (GstCfRoiText kind, const gchar *text, CfStatus *status)
{
  if (!text || !text[0])
    return NULL;
  if (kind == GST_CF_ROI_MASK)
    return gst_cf_mask_read (text, status);
  if (kind == GST_CF_ROI_SIZE)
    return read_size (text, status);
  return kind == GST_CF_ROI_TYPES ? read_types (text) : read_shapes (kind, text, status);
}

/* ---- changes ------------------------------------------------------------ */

static const gchar *const KEPT = "the previous value is kept";
static const gchar *const WHOLE = "the whole frame is filtered until there is a valid value";

/* Posts why a text was refused, or keeps that for the start. */
static void
refuse (GstCfRoi *roi, GstCfRoiText kind, const CfStatus *status, gboolean whole)
{
  gchar *text = g_strdup_printf ("%s; %s", status->message, whole ? WHOLE : KEPT);
  gboolean started;

  GST_OBJECT_LOCK (roi->element);
  started = roi->started;
  if (!started) {
    g_free (roi->refusal[kind]);
    roi->refusal[kind] = g_steal_pointer (&text);
  }
  GST_OBJECT_UNLOCK (roi->element);
  if (started)
    GST_ELEMENT_WARNING (roi->element, LIBRARY, SETTINGS, ("%s", text), (NULL));
  g_free (text);
}

void
gst_cf_roi_take_size (GstCfRoi *roi)
{
  const GstCfRoiSize size = { roi->width, roi->height };
  GBytes **source = &roi->set.source[GST_CF_ROI_SIZE];
  gchar **text = &roi->text[GST_CF_ROI_SIZE];

  if (size.width == 0 && !roi->size_is_taken)
    return;
  g_clear_pointer (source, g_bytes_unref);
  g_clear_pointer (text, g_free);
  roi->size_is_taken = size.width > 0;
  roi->serial++;
  if (!roi->size_is_taken)
    return;
  roi->set.broken &= ~(1u << GST_CF_ROI_SIZE);
  *source = g_bytes_new (&size, sizeof size);
  *text = g_strdup_printf ("%dx%d", size.width, size.height);
}

static void
set_text (GstCfRoi *roi, GstCfRoiText kind, const gchar *text)
{
  CfStatus status = { 0 };
  GBytes *block = read_text (kind, text, &status); /* may wait for the disk, so without the lock */
  gboolean whole;

  GST_OBJECT_LOCK (roi->element);
  if (status.code == CF_OK) {
    GBytes *old = roi->set.source[kind];

    roi->set.source[kind] = block;
    roi->set.broken &= ~(1u << kind);
    roi->set.fresh |= 1u << kind;
    block = old;
    g_free (roi->text[kind]);
    roi->text[kind] = g_strdup (text);
    g_clear_pointer (&roi->refusal[kind], g_free);
    if (kind == GST_CF_ROI_SIZE)
      roi->size_is_taken = FALSE;
    if (kind == GST_CF_ROI_RECTANGLES)
      gst_cf_roi_take_size (roi);
  } else if (!roi->set.source[kind]) {
    roi->set.broken |= 1u << kind;
  }
  whole = (roi->set.broken >> kind & 1) != 0;
  roi->serial++;
  GST_OBJECT_UNLOCK (roi->element);
  if (block)
    g_bytes_unref (block);
  if (status.code != CF_OK)
    refuse (roi, kind, &status, whole);
}

/* Returns the text that a property is, GST_CF_ROI_N_TEXTS if it is none. */
static GstCfRoiText
text_of (guint i)
{
  switch (i) {
    case ROI:
      return GST_CF_ROI_RECTANGLES;
    case ROI_SIZE:
      return GST_CF_ROI_SIZE;
    case ROI_TYPE:
      return GST_CF_ROI_TYPES;
    case MASK:
      return GST_CF_ROI_MASK;
    case MASK_POLYGONS:
      return GST_CF_ROI_POLYGONS;
    default:
      return GST_CF_ROI_N_TEXTS;
  }
}

void
gst_cf_roi_set_property (GstCfRoi *roi, guint i, const GValue *value)
{
  const GstCfRoiText kind = text_of (i);
  GstCfRoiSettings *set = &roi->set;

  if (kind < GST_CF_ROI_N_TEXTS) {
    set_text (roi, kind, g_value_get_string (value));
    return;
  }
  GST_OBJECT_LOCK (roi->element);
  roi->serial++;
  switch (i) {
    case ENABLED:
      set->enabled = g_value_get_boolean (value);
      break;
    case ROI_META:
      set->meta = g_value_get_boolean (value);
      break;
    case ROI_MIN_CONFIDENCE:
      set->min_confidence = g_value_get_double (value);
      break;
    case ROI_GROW:
      set->grow = g_value_get_double (value);
      break;
    case ROI_SHAPE:
      set->ellipses = g_value_get_enum (value) != 0;
      break;
    case ROI_HOLD:
      set->hold = g_value_get_int (value);
      break;
    case ROI_MISSING:
      set->missing = (GstCfRoiMissing) g_value_get_enum (value);
      break;
    default:
      set->invert = g_value_get_boolean (value);
      break;
  }
  GST_OBJECT_UNLOCK (roi->element);
}

void
gst_cf_roi_get_property (GstCfRoi *roi, guint i, GValue *value)
{
  const GstCfRoiText kind = text_of (i);
  const GstCfRoiSettings *set = &roi->set;

  GST_OBJECT_LOCK (roi->element);
  switch (i) {
    case ENABLED:
      g_value_set_boolean (value, set->enabled);
      break;
    case ROI_META:
      g_value_set_boolean (value, set->meta);
      break;
    case ROI_MIN_CONFIDENCE:
      g_value_set_double (value, set->min_confidence);
      break;
    case ROI_GROW:
      g_value_set_double (value, set->grow);
      break;
    case ROI_SHAPE:
      g_value_set_enum (value, set->ellipses);
      break;
    case ROI_HOLD:
      g_value_set_int (value, set->hold);
      break;
    case ROI_MISSING:
      g_value_set_enum (value, (gint) set->missing);
      break;
    case ROI_INVERT:
      g_value_set_boolean (value, set->invert);
      break;
    default:
      g_value_set_string (value, roi->text[kind]);
      break;
  }
  GST_OBJECT_UNLOCK (roi->element);
}

void
gst_cf_roi_start (GstCfRoi *roi)
{
  gchar *refusal[GST_CF_ROI_N_TEXTS];

  GST_OBJECT_LOCK (roi->element);
  roi->started = TRUE;
  memcpy (refusal, roi->refusal, sizeof refusal);
  memset (roi->refusal, 0, sizeof roi->refusal);
  GST_OBJECT_UNLOCK (roi->element);
  for (guint i = 0; i < GST_CF_ROI_N_TEXTS; i++) {
    if (refusal[i])
      GST_ELEMENT_WARNING (roi->element, LIBRARY, SETTINGS, ("%s", refusal[i]), (NULL));
    g_free (refusal[i]);
  }
}

void
gst_cf_roi_stop (GstCfRoi *roi)
{
  GST_OBJECT_LOCK (roi->element);
  roi->started = FALSE;
  roi->width = roi->height = 0;
  GST_OBJECT_UNLOCK (roi->element);
  gst_cf_roi_reset (roi);
}

/* ---- what covers nothing ------------------------------------------------ */

/* Returns whether the polygon covers no pixel: its corners lie on a line, or it is traced twice. */
static gboolean
is_flat (const GstCfRoi *roi, const CfPolygon *polygon)
{
  const CfAreaSpec spec = { .polygon = polygon, .n_polygons = 1 };
  CfArea *area = cf_area_new (&roi->video, &roi->traits, &spec, NULL);
  const gboolean flat = area && cf_area_info (area).empty;

  cf_area_unref (area);
  return flat;
}

void
gst_cf_roi_warn_of_nothing (GstCfRoi *roi, const CfAreaSpec *spec)
{
  const gint width = roi->video.width, height = roi->video.height;
  const guint fresh = roi->now.fresh;
  gchar *text = NULL;

  GST_OBJECT_LOCK (roi->element);
  if (roi->seen == roi->serial)
    roi->set.fresh = 0;
  GST_OBJECT_UNLOCK (roi->element);
  roi->now.fresh = 0;
  for (guint i = 0; fresh >> GST_CF_ROI_RECTANGLES & 1 && i < roi->n_fixed && !text; i++) {
    const CfRect r = g_array_index (roi->rects, CfRect, i);

    if (r.x >= width || r.y >= height || r.x + r.width <= 0 || r.y + r.height <= 0)
      text = g_strdup_printf ("roi: number %u lies outside of the frame of %d x %d pixels, and nothing is filtered "
                              "there",
          i + 1, width, height);
  }
  for (guint i = 0; fresh >> GST_CF_ROI_POLYGONS & 1 && i < spec->n_polygons && !text; i++)
    if (is_flat (roi, &spec->polygon[i]))
      text = g_strdup_printf ("mask-polygons: number %u has no area, and nothing is filtered there", i + 1);
  if (fresh >> GST_CF_ROI_MASK & 1 && spec->mask && !text) {
    const CfAreaSpec alone = { .mask = spec->mask };
    CfArea *area = cf_area_new (&roi->video, &roi->traits, &alone, NULL);

    if (area && cf_area_info (area).empty)
      text = g_strdup ("mask: the picture is black, and nothing is filtered by it");
    cf_area_unref (area);
  }
  if (text)
    GST_ELEMENT_WARNING (roi->element, LIBRARY, SETTINGS, ("%s", text), (NULL));
  g_free (text);
}

/* ---- installation ------------------------------------------------------- */

static GType
shape_type (void)
{
  static const GEnumValue values[] = {
    { 0, "The rectangle itself", "rectangle" },
    { 1, "The ellipse in it", "ellipse" },
    { 0, NULL, NULL },
  };
  static gsize type;

  if (g_once_init_enter (&type))
    g_once_init_leave (&type, gst_cf_register_enum ("GstCfRoiShape", values));
  return type;
}

static GType
missing_type (void)
{
  static const GEnumValue values[] = {
    { GST_CF_ROI_PASS, "It has none", "pass" },
    { GST_CF_ROI_LAST, "Those of the last frame with such metadata; none before the first one", "last" },
    { GST_CF_ROI_ALL, "The whole frame is filtered", "all" },
    { GST_CF_ROI_AUTO, "As last; if roi-type names motion, the whole frame is filtered before it is known what moves",
        "auto" },
    { 0, NULL, NULL },
  };
  static gsize type;

  if (g_once_init_enter (&type))
    g_once_init_leave (&type, gst_cf_register_enum ("GstCfRoiMissing", values));
  return type;
}

void
gst_cf_roi_install_properties (GObjectClass *klass, guint first)
{
  const GParamFlags flags = G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | GST_PARAM_MUTABLE_PLAYING;
  GParamSpec *const spec[N_PROPERTIES] = {
    [ENABLED] = g_param_spec_boolean ("enabled", "Enabled", "Whether frames are filtered; if not, they pass untouched",
        TRUE, flags | GST_PARAM_CONTROLLABLE),
    [ROI] = g_param_spec_string ("roi", "Regions of interest",
        "Rectangles to filter, \"x,y,width,height; ...\": pixels, or fractions of the frame where one of the four "
        "numbers has a decimal point; what lies outside stays as it is",
        NULL, flags),
    [ROI_SIZE] = g_param_spec_string ("roi-size", "Frame size of the regions",
        "Size of the frames that roi counts pixels of, \"1920x1080\": in frames of another size the rectangles are "
        "scaled; none: that of the frames when roi is set, or of the first ones",
        NULL, flags),
    [ROI_META] = g_param_spec_boolean ("roi-meta", "Regions by metadata",
        "Filter the regions that a detector has attached to the frame (GstVideoRegionOfInterestMeta and, with "
        "GStreamer 1.24, GstAnalyticsODMtd)",
        FALSE, flags),
    [ROI_TYPE] = g_param_spec_string ("roi-type", "Region types",
        "Types of the detector's regions to filter, \"person,face\"; none: all", NULL, flags),
    [ROI_MIN_CONFIDENCE] = g_param_spec_double ("roi-min-confidence", "Minimum confidence",
        "Filter a detector's region from this confidence on; a region that comes without one is always filtered", 0, 1,
        0, flags),
    [ROI_GROW] = g_param_spec_double ("roi-grow", "Growth of regions",
        "Enlarge rectangles of roi and of metadata around their centre by so much of their width and height [%]", 0,
        1000, 0, flags),
    [ROI_SHAPE] = g_param_spec_enum ("roi-shape", "Shape of regions",
        "What is filtered of a rectangle of roi or of metadata", shape_type (), 0, flags),
    [ROI_HOLD] = g_param_spec_int ("roi-hold", "Hold time of regions",
        "Time for which a detector's region stays after the last frame that had it [ms]", 0, 60000, 0, flags),
    [ROI_MISSING] = g_param_spec_enum ("roi-missing", "Frames without metadata",
        "The detector's regions of a frame without any region as metadata, of whatever type", missing_type (),
        GST_CF_ROI_AUTO, flags),
    [ROI_INVERT] = g_param_spec_boolean ("roi-invert", "Invert regions",
        "Filter what lies outside of all regions instead", FALSE, flags),
    [MASK] = g_param_spec_string ("mask", "Mask",
        "Picture that says how strongly each pixel is filtered, from black (not at all) to white; scaled to the frame "
        "and read when it is set",
        NULL, flags),
    [MASK_POLYGONS] = g_param_spec_string ("mask-polygons", "Mask of polygons",
        "Polygons to filter, \"x,y x,y x,y; ...\" in fractions of the frame", NULL, flags),
  };

  for (guint i = 0; i < N_PROPERTIES; i++)
    g_object_class_install_property (klass, first + i, spec[i]);
}
