/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * trust.c: certificates of cameras, and what a camera may not send cf-watch to. A camera may be in a stranger's hands:
 * what it sends must not reach a file of this machine or a server inside, and the password is for its address alone. */
#include "trust.h"

#include "secrets.h"

#include <gio/gio.h>

/* ---- certificates -------------------------------------------------------- */

/* Checks certificates: a GTlsDatabase, so that one way does for RTSP and for HTTP. */
typedef struct {
  GTlsDatabase parent;
  GTlsDatabase *base; /* the authorities of `tls_ca`, or the system's */
  char *pin;          /* of `tls_pin`; NULL: the authorities decide */
  GWeakRef pipeline;  /* whose errors say what is wrong */
} Trust;

typedef GTlsDatabaseClass TrustClass;

GType trust_get_type (void);
G_DEFINE_TYPE (Trust, trust, G_TYPE_TLS_DATABASE)

static void
refuse (Trust *trust, const char *why, const char *fingerprint)
{
  GstElement *pipeline = g_weak_ref_get (&trust->pipeline);

  if (!pipeline)
    return;
  GST_ELEMENT_ERROR (pipeline, RESOURCE, OPEN_READ,
      ("The camera's certificate is not trusted: %s. Its SHA-256 is %s: if the camera itself shows the same, set it as "
       "\"tls_pin\"; or set \"tls_ca\", a file with the certificates to trust",
          why, fingerprint),
      (NULL));
  gst_object_unref (pipeline);
}

static char *
flags_text (GTlsCertificateFlags flags)
{
  static const struct {
    GTlsCertificateFlags flag;
    const char *text;
  } texts[] = {
    { G_TLS_CERTIFICATE_UNKNOWN_CA, "no authority that is known here has signed it" },
    { G_TLS_CERTIFICATE_BAD_IDENTITY, "it is for another name or address" },
    { G_TLS_CERTIFICATE_NOT_ACTIVATED, "it is not valid yet" },
    { G_TLS_CERTIFICATE_EXPIRED, "it has expired" },
    { G_TLS_CERTIFICATE_REVOKED, "it was revoked" },
    { G_TLS_CERTIFICATE_INSECURE, "its algorithm is not safe" },
  };
  GString *out = g_string_new (NULL);

  for (guint i = 0; i < G_N_ELEMENTS (texts); i++)
    if (flags & texts[i].flag)
      g_string_append_printf (out, "%s%s", out->len ? ", " : "", texts[i].text);
  return g_string_free (out->len ? out : g_string_append (out, "it cannot be checked"), FALSE);
}

static GTlsCertificateFlags
verify_chain (GTlsDatabase *database, GTlsCertificate *chain, const char *purpose, GSocketConnectable *identity,
    GTlsInteraction *interaction, GTlsDatabaseVerifyFlags verify, GCancellable *cancellable, GError **error)
{
  Trust *trust = (Trust *) database;
  GTlsCertificateFlags flags = G_TLS_CERTIFICATE_UNKNOWN_CA;
  g_autoptr (GByteArray) der = NULL;
  g_autofree char *fingerprint = NULL, *why = NULL;

  g_object_get (chain, "certificate", &der, NULL);
  fingerprint = g_compute_checksum_for_data (G_CHECKSUM_SHA256, der->data, der->len);
  if (trust->pin && g_str_equal (trust->pin, fingerprint))
    return G_TLS_CERTIFICATE_NO_FLAGS;
  if (!trust->pin && trust->base)
    flags = g_tls_database_verify_chain (trust->base, chain, purpose, identity, interaction, verify, cancellable,
        error);
  if (flags != G_TLS_CERTIFICATE_NO_FLAGS) {
    why = trust->pin ? g_strdup ("it is another than that of \"tls_pin\"") : flags_text (flags);
    refuse (trust, why, fingerprint);
  }
  return flags;
}

static void
trust_finalize (GObject *object)
{
  Trust *trust = (Trust *) object;

  g_clear_object (&trust->base);
  g_free (trust->pin);
  g_weak_ref_clear (&trust->pipeline);
  G_OBJECT_CLASS (trust_parent_class)->finalize (object);
}

static void
trust_class_init (TrustClass *class)
{
  G_OBJECT_CLASS (class)->finalize = trust_finalize;
  class->verify_chain = verify_chain;
}

static void
trust_init (Trust *trust)
{
  g_weak_ref_init (&trust->pipeline, NULL);
}

static void
check_certificates (GstElement *source, GstElement *pipeline, const CameraSettings *settings)
{
  g_autoptr (GError) error = NULL;
  Trust *trust = g_object_new (trust_get_type (), NULL);

  trust->pin = g_strdup (settings->tls_pin);
  g_weak_ref_set (&trust->pipeline, pipeline);
  if (!settings->tls_ca)
    trust->base = g_tls_backend_get_default_database (g_tls_backend_get_default ());
  else if (!(trust->base = g_tls_file_database_new (settings->tls_ca, &error)))
    GST_ELEMENT_ERROR (pipeline, RESOURCE, READ, ("tls_ca: %s: %s", settings->tls_ca, error->message), (NULL));
  g_object_set (source, "tls-database", trust, NULL);
  g_object_unref (trust);
}

/* ---- redirects ----------------------------------------------------------- */

/* Sees each RTSP request. After a redirect, `location` of rtspsrc is another address. */
static gboolean
before_send (GstElement *source, gpointer message, gpointer pipeline)
{
  const char *own = g_object_get_data (G_OBJECT (source), "cf-location");
  g_autofree char *location = NULL;

  (void) message;
  g_object_get (source, "location", &location, NULL);
  if (!g_strcmp0 (location, own))
    return TRUE;
  GST_ELEMENT_ERROR (pipeline, RESOURCE, NOT_FOUND, ("The camera redirects to %s: " TRUST_NO_REDIRECT, location),
      (NULL));
  return FALSE;
}

void
trust_set_up (GstElement *source, GstElement *pipeline, const CameraSettings *settings)
{
  GObjectClass *klass = G_OBJECT_GET_CLASS (source);
  g_autofree char *user = settings->user ? g_strdup (settings->user) : secrets_user (settings->name);
  g_autofree char *password = secrets_password (settings->name);
  char *location;

  if (user && g_object_class_find_property (klass, "user-id"))
    g_object_set (source, "user-id", user, NULL);
  if (password && g_object_class_find_property (klass, "user-pw"))
    g_object_set (source, "user-pw", password, NULL);
  if (g_object_class_find_property (klass, "tls-database"))
    check_certificates (source, pipeline, settings);
  if (g_object_class_find_property (klass, "automatic-redirect"))
    g_object_set (source, "automatic-redirect", FALSE, NULL);
  if (g_signal_lookup ("before-send", G_OBJECT_TYPE (source))) {
    g_object_get (source, "location", &location, NULL);
    g_object_set_data_full (G_OBJECT (source), "cf-location", location, g_free);
    g_signal_connect (source, "before-send", G_CALLBACK (before_send), pipeline);
  }
}
