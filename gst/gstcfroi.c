/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * gstcfroi.c: the properties for regions and `enabled`, and the area of each frame, made of these properties and of the
 * regions that the frame carries.
 *
 * From a frame to its area: list_fixed (`roi`), then list_found (metas, roi-missing, roi-hold) list rectangles;
 * gst_cf_roi_area makes a CfArea of them, on top of the area of the properties alone (make_base).
 *
 * If it is not known what to hide (a mask that cannot be read, no memory), the whole frame is filtered. Rectangles are
 * rounded outward. */
#include "gstcfroi.h"
#include "gstcfframe.h"
#include "gstcfmask.h"
#include "gstcfparams.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#ifdef HAVE_GST_ANALYTICS
#include <gst/analytics/analytics.h>
#endif

#define HELD_MAX 1024 /* regions that are held; further ones are joined to the last */

/* How far beyond the edges of a region what it surrounds may begin to move unseen, in pixels: cudamedian's regions
 * consist of cells of 16 x 16, and those of cudasegment may have been rounded twice, here and by a scaler. */
#define MOTION_CELL 16
#define ROUNDING 2
#define FASTEST 10 /* widths and heights that a face may move by in a second */

typedef enum { GST_CF_ROI_PASS, GST_CF_ROI_LAST, GST_CF_ROI_ALL, GST_CF_ROI_AUTO } GstCfRoiMissing;

/* The properties that are texts. Each is parsed into an immutable GBytes, whose contents are: */
typedef enum {
  GST_CF_ROI_RECTANGLES, /* GstCfRoiRectangle[] */
  GST_CF_ROI_POLYGONS,   /* CfZones */
  GST_CF_ROI_MASK,       /* GstCfMask */
  GST_CF_ROI_TYPES,      /* GQuark[] */
  GST_CF_ROI_SIZE,       /* GstCfRoiSize */
  GST_CF_ROI_N_TEXTS
} GstCfRoiText;

typedef struct {
  gdouble x, y, width, height;
  gboolean fractions; /* of the frame, not pixels */
} GstCfRoiRectangle;

/* The frame size that `roi` counts pixels in. */
typedef struct {
  gint width, height;
} GstCfRoiSize;

typedef struct {
  gboolean enabled, meta, ellipses, invert;
  GstCfRoiMissing missing;
  gdouble min_confidence, grow;       /* grow: % */
  gint hold;                          /* ms */
  GBytes *source[GST_CF_ROI_N_TEXTS]; /* NULL: none */
  guint broken; /* bits 1 << GstCfRoiText: refused, without an older value; then the whole frame is filtered */
  guint fresh;  /* bits 1 << GstCfRoiText: new, so warn_of_nothing has to check it */
} GstCfRoiSettings;

struct _GstCfRoi {
  GstElement *element;

  /* Object lock. */
  GstCfRoiSettings set;
  guint serial; /* counts the changes of `set` */
  gchar *text[GST_CF_ROI_N_TEXTS];
  gchar *refusal[GST_CF_ROI_N_TEXTS]; /* before the start: why the value was refused */
  gboolean started;
  gboolean size_is_taken; /* roi-size was not set, so it is the size of the frames */
  gint width, height;     /* of the frames, 0: not known yet; written by the streaming thread */

  /* Streaming thread. */
  GstCfRoiSettings now; /* the snapshot, of the serial `seen` */
  guint seen;

  CfVideo video; /* what the areas are for */
  CfTraits traits;
  CfArea *base, *area;      /* of the properties alone; that and the regions of the last frame that had some */
  GArray *drawn, *rects;    /* CfRect: the rectangles of `area`; those of this frame, */
  guint n_fixed;            /* of which the first n_fixed come from `roi` */
  GArray *found, *last;     /* the regions of this frame; of the last frame that had some */
  GArray *held;             /* Held: regions that roi-hold keeps, in a list that never moves, */
  GHashTable *held_by_rect; /* and its elements by their rectangles */
  GArray *carriers;         /* Carrier: the regions of this frame that move held ones along */
  guint x, y;               /* origin of the last cropped frame (gst_cf_frame_origin), */
  gboolean placed;          /* if there was one of this size */
  gboolean timed;           /* the running time of the last frame that had one, if any had */
  GstClockTimeDiff time;
};

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

static gboolean
is_fraction (gdouble number)
{
  return number >= 0 && number <= 1;
}

/* Reads a rectangle. Returns what is wrong with it, or NULL. */
static const gchar *
read_rectangle (CfTextList *list, GstCfRoiRectangle *r)
{
  gdouble n[4];
  bool point;

  if (cf_text_tuples (list, 4, n, 1, &point) != 1)
    return "is not four numbers x,y,width,height";
  if (point && !(is_fraction (n[0]) && is_fraction (n[1]) && is_fraction (n[2]) && is_fraction (n[3])))
    return "has a decimal point, so all four are fractions of the frame and must be from 0 to 1";
  if (!(n[2] > 0) || !(n[3] > 0))
    return "must have a width and a height of more than 0";
  for (guint i = 0; i < 4; i++)
    if (fabs (n[i]) > PIXELS_MAX)
      return "is too large: no number may be beyond 32768 pixels";
  *r = (GstCfRoiRectangle) { n[0], n[1], n[2], n[3], point };
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

/* Returns NULL if there is no rectangle, with a status if one is wrong. */
static GBytes *
read_rectangles (const gchar *text, CfStatus *status)
{
  CfTextList list = { .what = "roi", .example = "10,20,64,48 (pixels) or 0.1,0.2,0.5,0.25 (fractions)", .text = text };
  GArray *rectangles = g_array_new (FALSE, FALSE, sizeof (GstCfRoiRectangle));

  while (cf_text_next (&list)) {
    GstCfRoiRectangle r;
    const gchar *wrong = read_rectangle (&list, &r);

    if (wrong) {
      cf_text_refuse (&list, wrong, status);
      g_array_set_size (rectangles, 0);
      break;
    }
    g_array_append_val (rectangles, r);
  }
  return block_of (rectangles, sizeof (GstCfRoiRectangle));
}

/* Returns NULL if there is no polygon, with a status if one is wrong. */
static GBytes *
read_polygons (const gchar *text, CfStatus *status)
{
  CfZones *zones = cf_polygons_new (text, status);

  if (zones && zones->n > 0)
    return g_bytes_new_with_free_func (zones, sizeof *zones, (GDestroyNotify) cf_zones_free, zones);
  cf_zones_free (zones);
  return NULL;
}

static GBytes *
read_size (const gchar *text, CfStatus *status)
{
  GstCfRoiSize size = { 0 };
  gint end = 0;

  if (sscanf (text, " %5d x %5d %n", &size.width, &size.height, &end) == 2 && !text[end] && size.width > 0 &&
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
  if (kind == GST_CF_ROI_TYPES)
    return read_types (text);
  return kind == GST_CF_ROI_RECTANGLES ? read_rectangles (text, status) : read_polygons (text, status);
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

/* Sets roi-size to the present size of the frames. If that is not known yet, clears a roi-size that was set here; one
 * that the user has set stays. The object lock is held. */
static void
take_size (GstCfRoi *roi)
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
      take_size (roi);
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

/* Returns which text property `i` is; GST_CF_ROI_N_TEXTS: none. */
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

/* Warns of a region that covers nothing of the frame, once after each change of its property: what it was meant to hide
 * is visible. Streaming thread. */
static void
warn_of_nothing (GstCfRoi *roi, const CfAreaSpec *spec)
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

/* ---- what a frame carries ----------------------------------------------------- */

/* A detector's region, in pixels of the frame; an empty one says that there is nothing of its type. */
typedef struct {
  gdouble x, y, width, height;
  GQuark type;
  gdouble confidence; /* < 0: none */
  gboolean lost;      /* the frame's shape has changed, so the place is not known */
  gint id;            /* of the meta */
} Found;

typedef struct {
  CfRect rect;
  GQuark type; /* 0: none */
  gint id;
} Carrier;

/* A region that is held: hidden are `past` and, unless it is replaced, `place`. */
typedef struct {
  CfRect rect;           /* where the detector saw it */
  GstClockTimeDiff seen; /* running time */
  gboolean lost;         /* as in Found */
  gboolean fresh;        /* this frame has it */
  gboolean replaced;     /* a newer one of the same object moves on */
  CfRect past, place;    /* around rect and its places before the carrier; where it may be now */
  Carrier carrier;       /* as of the last frame that had it */
  CfRect from, start;    /* place and carrier when they met */
} Held;

static guint
hash_rect (gconstpointer key)
{
  const CfRect *r = key;

  return ((((guint) r->x * 31 + (guint) r->y) * 31 + (guint) r->width) * 31 + (guint) r->height) * 2654435761u;
}

static gboolean
same_rect (gconstpointer a, gconstpointer b)
{
  return memcmp (a, b, sizeof (CfRect)) == 0;
}

GstCfRoi *
gst_cf_roi_new (GstElement *element)
{
  GstCfRoi *roi = g_new0 (GstCfRoi, 1);

  roi->element = element;
  roi->set.enabled = roi->now.enabled = TRUE;
  roi->set.missing = roi->now.missing = GST_CF_ROI_AUTO;
  roi->drawn = g_array_new (FALSE, FALSE, sizeof (CfRect));
  roi->rects = g_array_new (FALSE, FALSE, sizeof (CfRect));
  roi->found = g_array_new (FALSE, FALSE, sizeof (Found));
  roi->last = g_array_new (FALSE, FALSE, sizeof (Found));
  roi->held = g_array_sized_new (FALSE, FALSE, sizeof (Held), HELD_MAX);
  roi->held_by_rect = g_hash_table_new (hash_rect, same_rect);
  roi->carriers = g_array_new (FALSE, FALSE, sizeof (Carrier));
  return roi;
}

static void
drop_areas (GstCfRoi *roi)
{
  cf_area_unref (roi->base);
  cf_area_unref (roi->area);
  roi->base = roi->area = NULL;
}

static void
drop_sources (GstCfRoiSettings *settings)
{
  for (guint i = 0; i < GST_CF_ROI_N_TEXTS; i++)
    g_clear_pointer (&settings->source[i], g_bytes_unref);
}

void
gst_cf_roi_free (GstCfRoi *roi)
{
  drop_areas (roi);
  drop_sources (&roi->now);
  drop_sources (&roi->set);
  for (guint i = 0; i < GST_CF_ROI_N_TEXTS; i++) {
    g_free (roi->text[i]);
    g_free (roi->refusal[i]);
  }
  g_array_unref (roi->drawn);
  g_array_unref (roi->rects);
  g_array_unref (roi->found);
  g_array_unref (roi->last);
  g_hash_table_unref (roi->held_by_rect);
  g_array_unref (roi->held);
  g_array_unref (roi->carriers);
  g_free (roi);
}

/* Returns the smallest rectangle of whole pixels around a region. A millionth of a pixel does not count: 0.1 + 0.2 is
 * more than 0.3. */
static CfRect
rect_around (gdouble x, gdouble y, gdouble width, gdouble height)
{
  const gdouble near = 1e-6, reach = 1 << 20;
  const gdouble left = floor (CLAMP (x, -reach, reach) + near);
  const gdouble top = floor (CLAMP (y, -reach, reach) + near);
  const gdouble right = ceil (CLAMP (x + width, -reach, reach) - near);
  const gdouble below = ceil (CLAMP (y + height, -reach, reach) - near);

  return (CfRect) { (int) left, (int) top, (int) (right - left), (int) (below - top) };
}

/* Returns the rectangle of a region that has been enlarged by `roi-grow`. */
static CfRect
rect_of (const GstCfRoi *roi, gdouble x, gdouble y, gdouble width, gdouble height)
{
  const gdouble more = roi->now.grow / 200;

  return rect_around (x - width * more, y - height * more, width + 2 * width * more, height + 2 * height * more);
}

static void
drop_held (GstCfRoi *roi)
{
  g_hash_table_remove_all (roi->held_by_rect);
  g_array_set_size (roi->held, 0);
}

/* Keeps the first `n` held regions and rebuilds held_by_rect. The last one of a full list may be the union of several,
 * so it is not in the table. */
static void
keep_held (GstCfRoi *roi, guint n)
{
  g_array_set_size (roi->held, n);
  g_hash_table_remove_all (roi->held_by_rect);
  for (guint i = 0; i < MIN (n, HELD_MAX - 1); i++)
    if (!g_array_index (roi->held, Held, i).lost)
      g_hash_table_add (roi->held_by_rect, &g_array_index (roi->held, Held, i));
}

/* Forgets the regions and the time of earlier frames. */
static void
forget_frames (GstCfRoi *roi)
{
  g_array_set_size (roi->last, 0);
  drop_held (roi);
  roi->timed = FALSE;
}

void
gst_cf_roi_reset (GstCfRoi *roi)
{
  drop_areas (roi);
  forget_frames (roi);
}

/* Scales (sx, sy) and moves (dx, dy, pixels) the regions of earlier frames to their place in the next one. */
static void
place_earlier (GstCfRoi *roi, gdouble sx, gdouble sy, gdouble dx, gdouble dy)
{
  for (guint i = 0; i < roi->last->len; i++) {
    Found *f = &g_array_index (roi->last, Found, i);

    f->x = f->x * sx + dx;
    f->y = f->y * sy + dy;
    f->width *= sx;
    f->height *= sy;
  }
  for (guint i = 0; i < roi->held->len; i++) {
    Held *h = &g_array_index (roi->held, Held, i);
    CfRect *const rects[] = { &h->rect, &h->past, &h->place, &h->carrier.rect, &h->from, &h->start };

    for (guint j = 0; j < G_N_ELEMENTS (rects); j++) {
      CfRect *r = rects[j];

      *r = rect_around (r->x * sx + dx, r->y * sy + dy, r->width * sx, r->height * sy);
    }
  }
  keep_held (roi, roi->held->len);
}

/* Notes that it is not known where the regions of earlier frames lie in the next one. */
static void
lose_places (GstCfRoi *roi)
{
  for (guint i = 0; i < roi->last->len; i++)
    g_array_index (roi->last, Found, i).lost = TRUE;
  for (guint i = 0; i < roi->held->len; i++)
    g_array_index (roi->held, Held, i).lost = TRUE;
  keep_held (roi, roi->held->len);
}

void
gst_cf_roi_resize (GstCfRoi *roi, gint width, gint height)
{
  const gint w = roi->width, h = roi->height;
  const gint64 skew = (gint64) width * h - (gint64) w * height;

  GST_OBJECT_LOCK (roi->element);
  roi->width = width;
  roi->height = height;
  if (!roi->set.source[GST_CF_ROI_SIZE] && roi->set.source[GST_CF_ROI_RECTANGLES])
    take_size (roi);
  GST_OBJECT_UNLOCK (roi->element);
  if (w == 0 || (width == w && height == h))
    return;
  /* Each of the four may have been rounded by a pixel. */
  if (ABS (skew) <= (gint64) w + h + width + height)
    place_earlier (roi, (gdouble) width / w, (gdouble) height / h, 0, 0);
  else
    lose_places (roi);
  roi->placed = FALSE; /* a crop is scaled as well */
}

void
gst_cf_roi_sync (GstCfRoi *roi)
{
  GstCfRoiSettings old = { 0 };

  GST_OBJECT_LOCK (roi->element);
  if (roi->seen != roi->serial) {
    old = roi->now;
    roi->now = roi->set;
    roi->seen = roi->serial;
    for (guint i = 0; i < GST_CF_ROI_N_TEXTS; i++)
      if (roi->now.source[i])
        g_bytes_ref (roi->now.source[i]);
    drop_areas (roi);
    if (!roi->now.meta)
      forget_frames (roi);
  }
  GST_OBJECT_UNLOCK (roi->element);
  drop_sources (&old);
}

gboolean
gst_cf_roi_is_enabled (GstCfRoi *roi)
{
  return roi->now.enabled;
}

gboolean
gst_cf_roi_is_used (GstCfRoi *roi)
{
  const GstCfRoiSettings *now = &roi->now;

  return !now->enabled || now->meta || now->broken || now->source[GST_CF_ROI_RECTANGLES] ||
      now->source[GST_CF_ROI_POLYGONS] || now->source[GST_CF_ROI_MASK];
}

/* ---- regions of a frame --------------------------------------------------- */

/* Returns the largest "confidence" of the structures of a meta; -1 if there is none. */
static gdouble
confidence_of (const GstVideoRegionOfInterestMeta *meta)
{
  gdouble confidence = -1;

  for (const GList *l = meta->params; l; l = l->next) {
    const GValue *value = gst_structure_get_value (l->data, "confidence");

    if (value && G_VALUE_HOLDS_DOUBLE (value))
      confidence = MAX (confidence, g_value_get_double (value));
    else if (value && G_VALUE_HOLDS_FLOAT (value))
      confidence = MAX (confidence, (gdouble) g_value_get_float (value));
  }
  return confidence;
}

#ifdef HAVE_GST_ANALYTICS
static void
find_analytics (GArray *found, GstBuffer *in)
{
  GstAnalyticsRelationMeta *meta = gst_buffer_get_analytics_relation_meta (in);
  GstAnalyticsODMtd object;
  gpointer at = NULL;

  while (meta && gst_analytics_relation_meta_iterate (meta, &at, gst_analytics_od_mtd_get_mtd_type (), &object)) {
    gfloat angle = 0, confidence = -1;
    gint x, y, width, height;
    gboolean ok;
    Found f;

#if GST_CHECK_VERSION(1, 26, 0)
    ok = gst_analytics_od_mtd_get_oriented_location (&object, &x, &y, &width, &height, &angle, &confidence);
#else
    ok = gst_analytics_od_mtd_get_location (&object, &x, &y, &width, &height, &confidence);
#endif
    if (!ok)
      continue;
    /* The smallest upright rectangle around one that is rotated around its centre. */
    f.width = width * fabs (cos (angle)) + height * fabs (sin (angle));
    f.height = width * fabs (sin (angle)) + height * fabs (cos (angle));
    f.x = x + (width - f.width) / 2;
    f.y = y + (height - f.height) / 2;
    f.type = gst_analytics_od_mtd_get_obj_type (&object);
    f.confidence = confidence;
    f.lost = FALSE;
    f.id = 0;
    g_array_append_val (found, f);
  }
}
#endif

/* Returns a region's x or y. The meta's numbers are unsigned, but detectors write negative ones for an object that is
 * partly to the left of the frame or above it. */
static gdouble
begin_of (guint at, guint size)
{
  return at > G_MAXINT && size <= G_MAXINT ? (gdouble) (gint) at : (gdouble) at;
}

/* Lists in `found` all regions that a buffer carries, of any type. If the crop of a larger frame has moved, moves the
 * regions of earlier frames with it. */
static void
find (GstCfRoi *roi, GstBuffer *in, const GstVideoInfo *info)
{
  gpointer at = NULL;
  guint x = 0, y = 0;
  GstMeta *meta;

  g_array_set_size (roi->found, 0);
  while ((meta = gst_buffer_iterate_meta_filtered (in, &at, GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE))) {
    const GstVideoRegionOfInterestMeta *r = (const GstVideoRegionOfInterestMeta *) meta;
    const Found f = { begin_of (r->x, r->w), begin_of (r->y, r->h), r->w, r->h, r->roi_type, confidence_of (r), FALSE,
      r->id };

    g_array_append_val (roi->found, f);
  }
#ifdef HAVE_GST_ANALYTICS
  find_analytics (roi->found, in);
#endif
  gst_cf_frame_origin (in, info, &x, &y);
  if (gst_cf_frame_crops (in, info)) {
    if (roi->placed && (x != roi->x || y != roi->y))
      place_earlier (roi, 1, 1, (gdouble) roi->x - x, (gdouble) roi->y - y);
    roi->placed = TRUE;
    roi->x = x;
    roi->y = y;
  }
  for (guint i = 0; i < roi->found->len; i++) {
    g_array_index (roi->found, Found, i).x -= x;
    g_array_index (roi->found, Found, i).y -= y;
  }
}

static gboolean
is_empty (const Found *f)
{
  return f->width <= 0 || f->height <= 0;
}

/* Returns whether roi-type names the type. */
static gboolean
names_type (const GstCfRoi *roi, GQuark wanted)
{
  GBytes *types = roi->now.source[GST_CF_ROI_TYPES];
  gsize size = 0;
  const GQuark *type = types ? g_bytes_get_data (types, &size) : NULL;

  for (gsize i = 0; i < size / sizeof *type; i++)
    if (type[i] == wanted)
      return TRUE;
  return FALSE;
}

static gboolean
is_wanted (const GstCfRoi *roi, const Found *f)
{
  const gboolean ok = !is_empty (f) && (!roi->now.source[GST_CF_ROI_TYPES] || names_type (roi, f->type));

  /* As floats: 0.9 of a detector that works with floats is less than the double 0.9. */
  return ok && (f->confidence < 0 || !((gfloat) f->confidence < (gfloat) roi->now.min_confidence));
}

/* ---- regions that are held ------------------------------------------------- */

/* Returns the smallest rectangle around two. */
static CfRect
around (const CfRect *a, const CfRect *b)
{
  const gint x = MIN (a->x, b->x), y = MIN (a->y, b->y);

  return (CfRect) { x, y, MAX (a->x + a->width, b->x + b->width) - x, MAX (a->y + a->height, b->y + b->height) - y };
}

static gboolean
contains (const CfRect *a, const CfRect *b)
{
  return a->x <= b->x && a->y <= b->y && a->x + a->width >= b->x + b->width && a->y + a->height >= b->y + b->height;
}

/* Returns how many pixels two rectangles share. */
static gdouble
shared (const CfRect *a, const CfRect *b)
{
  const gint width = MIN (a->x + a->width, b->x + b->width) - MAX (a->x, b->x);
  const gint height = MIN (a->y + a->height, b->y + b->height) - MAX (a->y, b->y);

  return width > 0 && height > 0 ? (gdouble) width * height : 0;
}

/* Holds a rectangle of this frame from now on, or again. Frames may have thousands of rectangles, hence the table. One
 * that has moved away from where it was seen is another object than the one that is there now. */
static void
hold (GstCfRoi *roi, const CfRect *rect)
{
  Held new_one = { .rect = *rect, .seen = roi->time, .fresh = TRUE, .past = *rect, .place = *rect };
  Held *known = g_hash_table_lookup (roi->held_by_rect, rect), *last;

  if (known && (known->replaced || contains (&known->place, rect))) {
    *known = new_one;
    return;
  }
  if (roi->held->len < HELD_MAX) {
    g_array_append_val (roi->held, new_one);
    g_hash_table_add (roi->held_by_rect, &g_array_index (roi->held, Held, roi->held->len - 1));
    return;
  }
  last = &g_array_index (roi->held, Held, HELD_MAX - 1);
  g_hash_table_remove (roi->held_by_rect, last);
  new_one.rect = around (&last->rect, rect);
  new_one.past = around (&last->past, rect);
  if (!last->replaced)
    new_one.past = around (&new_one.past, &last->place);
  new_one.place = new_one.past;
  new_one.lost = last->lost;
  *last = new_one;
}

/* Held regions that move. A detector that misses a face for a while leaves its box where the face was. cudamedian's and
 * cudasegment's regions (types "motion" and "region") say where the person goes, so a held box moves with one of them,
 * its carrier. What is filtered without this is so still; the box's new place comes on top.
 *
 * - The carriers of a frame are its regions of these types, unless roi-type has them filtered anyway.
 * - A box that was seen in this frame, or has no carrier any more, takes the carrier that covers its centre
 *   and has the greatest intersection over union with it. Its places before join its past.
 * - Later the carrier is the rectangle around all regions of its type (type "region": with its id) that meet it as it
 *   was in the last frame that had it; none: the box stays where it is. So people who meet and part are one carrier;
 *   cudamedian's ids are numbered anew in each frame.
 * - Since the two met, the carrier's left edge has moved by dL, the right one by dR. The box has moved by any of the
 *   numbers between, and by what the edges leave unknown (MOTION_CELL, ROUNDING) more or less. The same for top and
 *   bottom. All that is counted from where the two met, so no error adds up while the carrier lasts.
 * - Motion that reaches from border to border of the frame, where they met and now, says nothing here: rain
 *   moves everywhere. There the box may have moved by FASTEST more, since the detector saw it.
 * - A box of this frame replaces the box whose place is nearest to it, centre to centre, of those with the same carrier
 *   if it lies in that place. The past of what is replaced stays; its place is not filtered any more. One replaces only
 *   one, so a face that its detector misses stays hidden while it finds another beside it.
 *
 * With roi-invert nothing moves: what is filtered lies outside. */

/* Lists the carriers of this frame, whose regions are `found`. */
static void
list_carriers (GstCfRoi *roi, const GArray *found)
{
  const GQuark motion = g_quark_from_static_string ("motion"), region = g_quark_from_static_string ("region");

  g_array_set_size (roi->carriers, 0);
  if (roi->now.invert || !roi->now.source[GST_CF_ROI_TYPES])
    return;
  for (guint i = 0; i < found->len; i++) {
    const Found *f = &g_array_index (found, Found, i);
    const Carrier c = { rect_around (f->x, f->y, f->width, f->height), f->type, f->type == motion ? 0 : f->id };

    if (!is_empty (f) && (f->type == motion || f->type == region) && !names_type (roi, f->type))
      g_array_append_val (roi->carriers, c);
  }
}

/* Returns what has become of a carrier. */
static Carrier
follow (const GArray *carriers, const Carrier *last)
{
  Carrier next = { 0 };

  for (guint i = 0; i < carriers->len; i++) {
    const Carrier *c = &g_array_index (carriers, Carrier, i);

    if (c->type != last->type || c->id != last->id || shared (&c->rect, &last->rect) <= 0)
      continue;
    next = (Carrier) { next.type ? around (&next.rect, &c->rect) : c->rect, c->type, c->id };
  }
  return next;
}

/* Returns the carrier that a place belongs to. */
static Carrier
carrier_of (const GArray *carriers, const CfRect *place)
{
  const CfRect centre = { place->x + place->width / 2, place->y + place->height / 2, 1, 1 };
  Carrier best = { 0 };
  gdouble most = 0;

  for (guint i = 0; i < carriers->len; i++) {
    const Carrier *c = &g_array_index (carriers, Carrier, i);

    if (contains (&c->rect, &centre)) {
      const gdouble both = shared (&c->rect, place);
      const gdouble any = (gdouble) c->rect.width * c->rect.height + (gdouble) place->width * place->height - both;

      if (both / any > most) {
        most = both / any;
        best = *c;
      }
    }
  }
  return best;
}

/* Returns how far a held region may have moved beyond what its carrier says, along an axis: with `start` and
 * `now`, the carrier's begin and size on it; the frame's size and the region's. */
static gdouble
unknown_of (const GstCfRoi *roi, const Held *h, const gint start[2], const gint now[2], gint frame, gint size)
{
  const gint64 time = MIN (ABS (roi->time - h->seen), 60 * (gint64) GST_SECOND); /* the longest roi-hold */

  if (h->carrier.type != g_quark_from_static_string ("motion"))
    return ROUNDING;
  if (MAX (start[0], now[0]) > 0 || MIN (start[0] + start[1], now[0] + now[1]) < frame)
    return MOTION_CELL;
  return (gdouble) (MOTION_CELL + time * FASTEST * size / (gint64) GST_SECOND);
}

/* Returns where a held region may be, whose carrier has gone on. */
static CfRect
place_of (const GstCfRoi *roi, const Held *h, const GstVideoInfo *info)
{
  const CfRect *now = &h->carrier.rect, *start = &h->start, *from = &h->from;
  const gint left = now->x - start->x, right = left + now->width - start->width;
  const gint top = now->y - start->y, below = top + now->height - start->height;
  const gdouble aside = unknown_of (roi, h, (gint[]) { start->x, start->width }, (gint[]) { now->x, now->width },
      GST_VIDEO_INFO_WIDTH (info), h->rect.width);
  const gdouble up = unknown_of (roi, h, (gint[]) { start->y, start->height }, (gint[]) { now->y, now->height },
      GST_VIDEO_INFO_HEIGHT (info), h->rect.height);

  return rect_around (from->x + MIN (left, right) - aside, from->y + MIN (top, below) - up,
      from->width + ABS (right - left) + 2 * aside, from->height + ABS (below - top) + 2 * up);
}

static void
carry (const GstCfRoi *roi, Held *h, const GstVideoInfo *info)
{
  if (h->carrier.type)
    h->carrier = follow (roi->carriers, &h->carrier);
  if (!h->carrier.type) {
    h->carrier = carrier_of (roi->carriers, &h->place);
    h->start = h->carrier.rect;
    h->from = h->place;
    if (h->carrier.type)
      h->past = around (&h->past, &h->place);
  }
  if (h->carrier.type && !h->fresh)
    h->place = place_of (roi, h, info);
}

/* Returns how far the centres of two rectangles are from each other, squared, in half pixels. */
static gint64
distance (const CfRect *a, const CfRect *b)
{
  const gint64 dx = 2 * (a->x - b->x) + a->width - b->width, dy = 2 * (a->y - b->y) + a->height - b->height;

  return dx * dx + dy * dy;
}

/* Replaces the older one of the same object. */
static void
replace_older (GstCfRoi *roi, const Held *newer)
{
  Held *nearest = NULL;

  for (guint i = 0; i < roi->held->len; i++) {
    Held *h = &g_array_index (roi->held, Held, i);

    if (!h->fresh && same_rect (&h->carrier.rect, &newer->carrier.rect) && h->carrier.type == newer->carrier.type &&
        (!nearest || distance (&h->place, &newer->rect) < distance (&nearest->place, &newer->rect)))
      nearest = h;
  }
  if (nearest && contains (&nearest->place, &newer->rect)) {
    nearest->replaced = TRUE;
    nearest->carrier.type = 0;
  }
}

/* Moves what is held to its place in this frame, whose regions are `found`. */
static void
carry_held (GstCfRoi *roi, const GArray *found, const GstVideoInfo *info)
{
  list_carriers (roi, found);
  for (guint i = 0; i < roi->held->len; i++) {
    Held *h = &g_array_index (roi->held, Held, i);

    if (!h->lost && !h->replaced)
      carry (roi, h, info);
  }
  for (guint i = 0; i < roi->held->len; i++) {
    const Held *h = &g_array_index (roi->held, Held, i);

    if (h->fresh && h->carrier.type)
      replace_older (roi, h);
  }
}

/* Appends a rectangle that may hold a region anywhere. An ellipse has to be larger for that. */
static void
append_whole (GstCfRoi *roi, CfRect r)
{
  const gdouble more = roi->now.ellipses ? (G_SQRT2 - 1) / 2 : 0;

  r = rect_around (r.x - r.width * more, r.y - r.height * more, r.width * (1 + 2 * more), r.height * (1 + 2 * more));
  g_array_append_val (roi->rects, r);
}

/* Removes what is held for longer than roi-hold, and appends the rest to `rects`. Returns FALSE if the place of one is
 * not known. */
static gboolean
list_held (GstCfRoi *roi)
{
  gboolean known = TRUE;
  guint n = 0;

  for (guint i = 0; i < roi->held->len; i++) {
    Held h = g_array_index (roi->held, Held, i);

    h.fresh = FALSE;
    if (ABS (roi->time - h.seen) > roi->now.hold * (GstClockTimeDiff) GST_MSECOND)
      continue;
    g_array_index (roi->held, Held, n++) = h;
    known = known && !h.lost;
    if (roi->now.invert || same_rect (&h.past, &h.rect))
      g_array_append_val (roi->rects, h.rect);
    else
      append_whole (roi, h.past);
    if (!roi->now.invert && !h.replaced && !contains (&h.past, &h.place))
      append_whole (roi, h.place);
  }
  keep_held (roi, n);
  return known;
}

/* Takes a running time. Regions held from before the first frame with a time are as old as that frame. If time jumps
 * back (a source restarts without a flush), shift the stored times so that each held region keeps its age. */
static void
set_time (GstCfRoi *roi, GstClockTimeDiff time)
{
  const GstClockTimeDiff back = roi->time - time;

  for (guint i = 0; i < roi->held->len; i++)
    if (!roi->timed || back > roi->now.hold * (GstClockTimeDiff) GST_MSECOND)
      g_array_index (roi->held, Held, i).seen -= back;
  roi->time = time;
  roi->timed = TRUE;
}

/* Takes the running time of a frame; one without a timestamp has the time of the frame before, so that what is held
 * stays hidden there. */
static void
take_time (GstCfRoi *roi, GstBuffer *in, const GstSegment *segment)
{
  guint64 value;
  gint sign = 0;

  if (GST_BUFFER_PTS_IS_VALID (in) && segment && segment->format == GST_FORMAT_TIME)
    sign = gst_segment_to_running_time_full (segment, GST_FORMAT_TIME, GST_BUFFER_PTS (in), &value);
  if (sign != 0)
    set_time (roi, sign * (GstClockTimeDiff) MIN (value, G_MAXINT64 / 4)); /* differences must not overflow */
}

/* If a region of this frame is not empty, makes the regions of this frame the last ones and returns TRUE. Otherwise
 * removes the types of its empty regions from the last ones and returns FALSE. */
static gboolean
take_found (GstCfRoi *roi)
{
  GArray *old = roi->last;
  gboolean has = FALSE;

  for (guint i = 0; i < roi->found->len; i++)
    has = has || !is_empty (&g_array_index (roi->found, Found, i));
  if (has) {
    roi->last = roi->found;
    roi->found = old;
    return TRUE;
  }
  for (guint i = 0; i < roi->found->len; i++)
    for (guint j = old->len; j-- > 0;)
      if (g_array_index (old, Found, j).type == g_array_index (roi->found, Found, i).type)
        g_array_remove_index (old, j);
  return FALSE;
}

/* Returns whether motion is to be filtered (roi-missing=auto, roi-type=motion), but the frame says nothing about it. */
static gboolean
lacks_motion (const GstCfRoi *roi)
{
  const GQuark motion = g_quark_from_static_string ("motion");

  if (roi->now.missing != GST_CF_ROI_AUTO || !names_type (roi, motion))
    return FALSE;
  for (guint i = 0; i < roi->found->len; i++)
    if (g_array_index (roi->found, Found, i).type == motion)
      return FALSE;
  return TRUE;
}

/* Appends the rectangles of the detector's regions, of this frame or an earlier one, to `rects`. Returns FALSE if the
 * whole frame is to be filtered instead. */
static gboolean
list_found (GstCfRoi *roi, GstBuffer *in, const GstSegment *segment, const GstVideoInfo *info)
{
  const gboolean holds = roi->now.hold > 0;
  const gboolean lasts = roi->now.missing == GST_CF_ROI_LAST || roi->now.missing == GST_CF_ROI_AUTO;
  gboolean has, known;

  if (!roi->now.meta)
    return TRUE;
  find (roi, in, info);
  known = !lacks_motion (roi);
  has = take_found (roi);
  take_time (roi, in, segment);
  for (guint i = 0; (has || lasts) && i < roi->last->len; i++) {
    const Found *f = &g_array_index (roi->last, Found, i);
    const CfRect rect = rect_of (roi, f->x, f->y, f->width, f->height);

    if (!is_wanted (roi, f))
      continue;
    known = known && !f->lost;
    if (has && holds)
      hold (roi, &rect);
    else
      g_array_append_val (roi->rects, rect);
  }
  if (holds) {
    carry_held (roi, has ? roi->last : roi->found, info);
    known = list_held (roi) && known;
  } else
    drop_held (roi);
  return known && (has || roi->now.missing != GST_CF_ROI_ALL);
}

/* Sets `rects` to the rectangles of `roi`. */
static void
list_fixed (GstCfRoi *roi, const GstVideoInfo *info)
{
  const gint width = GST_VIDEO_INFO_WIDTH (info), height = GST_VIDEO_INFO_HEIGHT (info);
  GBytes *source = roi->now.source[GST_CF_ROI_SIZE];
  const GstCfRoiSize of = source ? *(const GstCfRoiSize *) g_bytes_get_data (source, NULL)
                                 : (GstCfRoiSize) { width, height };
  gsize size = 0;
  const GstCfRoiRectangle *r = roi->now.source[GST_CF_ROI_RECTANGLES]
      ? g_bytes_get_data (roi->now.source[GST_CF_ROI_RECTANGLES], &size)
      : NULL;

  g_array_set_size (roi->rects, 0);
  for (gsize i = 0; i < size / sizeof *r; i++) {
    const gdouble sx = r[i].fractions ? width : (gdouble) width / of.width;
    const gdouble sy = r[i].fractions ? height : (gdouble) height / of.height;
    const CfRect rect = rect_of (roi, r[i].x * sx, r[i].y * sy, r[i].width * sx, r[i].height * sy);

    g_array_append_val (roi->rects, rect);
  }
  roi->n_fixed = roi->rects->len;
}

void
gst_cf_roi_see (GstCfRoi *roi, GstBuffer *in, const GstSegment *segment, const GstVideoInfo *info)
{
  g_array_set_size (roi->rects, 0);
  list_found (roi, in, segment, info);
}

/* ---- areas ---------------------------------------------------------------- */

/* Fills the spec with the polygons, in pixels. The caller frees spec->polygon, and spec->polygon->point, where they are
 * not NULL. */
static void
scale_polygons (const GstCfRoi *roi, const CfVideo *video, CfAreaSpec *spec)
{
  const CfZones *zones = g_bytes_get_data (roi->now.source[GST_CF_ROI_POLYGONS], NULL);
  const CfZone *last = &zones->zone[zones->n - 1];
  const CfCorner *corner = zones->zone[0].corner;
  const gsize n = (gsize) (last->corner - corner) + last->n;
  CfPolygon *polygon = g_new (CfPolygon, zones->n);
  CfPoint *point = g_new (CfPoint, n);

  for (gsize i = 0; i < n; i++) {
    point[i].x = (int) floor (corner[i].x * video->width * 256 + 0.5);
    point[i].y = (int) floor (corner[i].y * video->height * 256 + 0.5);
  }
  for (guint i = 0; i < zones->n; i++)
    polygon[i] = (CfPolygon) { &point[zones->zone[i].corner - corner], zones->zone[i].n };
  spec->polygon = polygon;
  spec->n_polygons = zones->n;
}

/* Makes the area of the properties alone. */
static CfArea *
make_base (GstCfRoi *roi, CfAreaSpec spec, CfStatus *status)
{
  GBytes *source = roi->now.source[GST_CF_ROI_MASK];
  guint8 *mask = NULL;
  CfArea *area = NULL;

  spec.n_rects = roi->n_fixed;
  if (source) {
    mask = g_try_malloc ((gsize) roi->video.width * (gsize) roi->video.height);
    if (mask)
      gst_cf_mask_scale (g_bytes_get_data (source, NULL), roi->video.width, roi->video.height, mask);
    spec.mask = mask;
  }
  if (roi->now.source[GST_CF_ROI_POLYGONS])
    scale_polygons (roi, &roi->video, &spec);
  if (source && !mask)
    cf_fail (status, CF_NO_MEMORY, "there is no memory for a mask of %d x %d", roi->video.width, roi->video.height);
  else
    area = cf_area_new (&roi->video, &roi->traits, &spec, status);
  if (area && roi->now.fresh)
    warn_of_nothing (roi, &spec);
  if (spec.polygon)
    g_free ((gpointer) spec.polygon->point);
  g_free ((gpointer) spec.polygon);
  g_free (mask);
  return area;
}

/* Drops the areas if the frames are others, or the filter reads another part of them. */
static void
set_video (GstCfRoi *roi, const CfVideo *video, const CfTraits *traits)
{
  const CfVideo *v = &roi->video;
  const CfTraits *t = &roi->traits;

  if (v->format != video->format || v->width != video->width || v->height != video->height ||
      v->interlaced != video->interlaced || t->halo != traits->halo || t->halo_columns != traits->halo_columns ||
      t->history != traits->history || t->stateful != traits->stateful || t->anchored != traits->anchored ||
      t->replicates != traits->replicates)
    drop_areas (roi);
  roi->video = *video;
  roi->traits = *traits;
}

/* Returns whether the area of the last frame has the rectangles of this one. */
static gboolean
is_drawn (const GstCfRoi *roi)
{
  return roi->area && roi->drawn->len == roi->rects->len &&
      memcmp (roi->drawn->data, roi->rects->data, roi->rects->len * sizeof (CfRect)) == 0;
}

CfArea *
gst_cf_roi_area (GstCfRoi *roi, GstBuffer *in, const GstSegment *segment, const GstVideoInfo *info,
    const CfVideo *video, const CfTraits *traits, CfStatus *status)
{
  CfAreaSpec spec = { .ellipses = roi->now.ellipses, .invert = roi->now.invert };
  GArray *drawn = roi->drawn;
  gboolean known;

  *status = (CfStatus) { 0 };
  list_fixed (roi, info);
  known = list_found (roi, in, segment, info);
  if (!roi->now.enabled)
    return cf_area_new (video, traits, &(CfAreaSpec) { 0 }, status);
  if (!known || roi->now.broken || !gst_cf_roi_is_used (roi))
    return NULL;
  set_video (roi, video, traits);
  spec.rect = (const CfRect *) (gconstpointer) roi->rects->data;
  spec.n_rects = roi->rects->len;
  if (!roi->base)
    roi->base = make_base (roi, spec, status);
  if (!roi->base || spec.n_rects == roi->n_fixed)
    return roi->base ? cf_area_ref (roi->base) : NULL;
  if (!is_drawn (roi)) {
    spec.base = roi->base;
    cf_area_unref (roi->area);
    roi->area = cf_area_new (video, traits, &spec, status);
    roi->drawn = roi->rects;
    roi->rects = drawn;
  }
  return roi->area ? cf_area_ref (roi->area) : NULL;
}
