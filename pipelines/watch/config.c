/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * config.c: reads and checks the JSON file. Tables say which members an object may have; what tables cannot say is
 * checked behind them. All faults of a file are reported together. */
#include "config.h"

#include "reader.h"
#include "sign.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define RECORD(member) G_STRUCT_OFFSET (CameraSettings, record.member)
#define CAMERA(member) G_STRUCT_OFFSET (CameraSettings, member)
#define CONFIG(member) G_STRUCT_OFFSET (Config, member)

static const Field record_fields[] = {
  { "folder", FIELD_PATH, RECORD (folder) },
  { "when", FIELD_CHOICE, RECORD (when), .choices = "always|motion|off" },
  { "format", FIELD_CHOICE, RECORD (format), .choices = "mkv|mp4" },
  { "piece", FIELD_UINT, RECORD (piece), 1, 86400 },
  { "before", FIELD_UINT, RECORD (before), 0, 60 },
  { "after", FIELD_UINT, RECORD (after), 0, 3600 },
  { "quality", FIELD_UINT, RECORD (quality), 1, 51 },
  { "keep_days", FIELD_UINT, RECORD (keep_days), 0, 36500 },
  { "keep_bytes", FIELD_BYTES, RECORD (keep_bytes), 0, 9e15 },
  { "sign", FIELD_PATH, RECORD (sign) },
  { "hashes", FIELD_BOOL, RECORD (hashes) },
  { NULL },
};

static const Field camera_fields[] = {
  { "source", FIELD_TEXT, CAMERA (source) },
  { "filter", FIELD_TEXT, CAMERA (filter) },
  { "user", FIELD_TEXT, CAMERA (user) },
  { "tls_ca", FIELD_PATH, CAMERA (tls_ca) },
  { "tls_pin", FIELD_TEXT, CAMERA (tls_pin) },
  { "transport", FIELD_CHOICE, CAMERA (transport), .choices = "tcp|udp|auto" },
  { "latency", FIELD_UINT, CAMERA (latency), 0, 10000 },
  { "timeout", FIELD_UINT, CAMERA (timeout), 1, 3600 },
  { "every", FIELD_UINT, CAMERA (every), 1, 3600 },
  { "max_bytes", FIELD_BYTES, CAMERA (max_bytes), 65536, 9e15 },
  { "loop", FIELD_BOOL, CAMERA (loop) },
  { "width", FIELD_UINT, CAMERA (width), 1, 16384 },
  { "height", FIELD_UINT, CAMERA (height), 1, 16384 },
  { "rate", FIELD_UINT, CAMERA (rate), 1, 1000 },
  { "gpu", FIELD_INT, CAMERA (gpu), -1, 63 },
  { "live", FIELD_BOOL, CAMERA (shown) },
  { "audio", FIELD_BOOL, CAMERA (audio) },
  { "encode", FIELD_CHOICE, CAMERA (encode), .choices = "auto|always" },
  { "codec", FIELD_CHOICE, CAMERA (codec), .choices = "h264|h265|av1" },
  { "record", FIELD_OTHER },
  { "page", FIELD_OTHER },
  { NULL },
};

static const Field camera_page_fields[] = {
  { "original", FIELD_BOOL, CAMERA (original) },
  { "may_set", FIELD_OTHER },
  { NULL },
};

static const Field control_fields[] = {
  { "stdin", FIELD_BOOL, CONFIG (control.standard_input) },
  { "socket", FIELD_TEXT, CONFIG (control.socket) },
  { NULL },
};

static const Field mqtt_fields[] = {
  { "host", FIELD_TEXT, CONFIG (mqtt.host) },
  { "port", FIELD_UINT, CONFIG (mqtt.port), 1, 65535 },
  { "topic", FIELD_TEXT, CONFIG (mqtt.topic) },
  { "user", FIELD_TEXT, CONFIG (mqtt.user) },
  { "tls", FIELD_OTHER },
  { "control", FIELD_BOOL, CONFIG (mqtt.control) },
  { "discovery", FIELD_TEXT, CONFIG (mqtt.discovery) },
  { NULL },
};

static const Field metrics_fields[] = {
  { "port", FIELD_UINT, CONFIG (metrics.port), 0, 65535 },
  { "address", FIELD_TEXT, CONFIG (metrics.address) },
  { "allow_remote", FIELD_BOOL, CONFIG (metrics.allow_remote) },
  { NULL },
};

static const Field page_fields[] = {
  { "port", FIELD_UINT, CONFIG (page.port), 0, 65535 },
  { "address", FIELD_TEXT, CONFIG (page.address) },
  { "users", FIELD_PATH, CONFIG (page.users) },
  { "names", FIELD_OTHER },
  { "tls", FIELD_OTHER },
  { "allow_plain", FIELD_BOOL, CONFIG (page.allow_plain) },
  { NULL },
};

static const Field rtsp_fields[] = {
  { "port", FIELD_UINT, CONFIG (rtsp.port), 0, 65535 },
  { "address", FIELD_TEXT, CONFIG (rtsp.address) },
  { "users", FIELD_PATH, CONFIG (rtsp.users) },
  { "tls", FIELD_OTHER },
  { "clients", FIELD_UINT, CONFIG (rtsp.clients), 1, 1000 },
  { NULL },
};

static const Field rtsp_tls_fields[] = {
  { "certificate", FIELD_PATH, CONFIG (rtsp.certificate) },
  { "key", FIELD_PATH, CONFIG (rtsp.key) },
  { NULL },
};

static const Field page_tls_fields[] = {
  { "certificate", FIELD_PATH, CONFIG (page.certificate) },
  { "key", FIELD_PATH, CONFIG (page.key) },
  { NULL },
};

static const Field top_fields[] = {
  { "cameras", FIELD_OTHER },
  { "defaults", FIELD_OTHER },
  { "secrets", FIELD_PATH, CONFIG (secrets) },
  { "index", FIELD_BOOL, CONFIG (index) },
  { "control", FIELD_OTHER },
  { "mqtt", FIELD_OTHER },
  { "metrics", FIELD_OTHER },
  { "page", FIELD_OTHER },
  { "rtsp", FIELD_OTHER },
  { NULL },
};

/* ---- settings ------------------------------------------------------------ */

CameraSettings *
camera_settings_ref (CameraSettings *settings)
{
  g_atomic_ref_count_inc (&settings->count);
  return settings;
}

void
camera_settings_unref (CameraSettings *settings)
{
  if (!g_atomic_ref_count_dec (&settings->count))
    return;
  g_free (settings->name);
  g_free (settings->text);
  g_free (settings->source);
  g_free (settings->filter);
  g_free (settings->user);
  g_free (settings->tls_ca);
  g_free (settings->tls_pin);
  g_free (settings->place);
  g_free (settings->record.folder);
  g_strfreev (settings->may_set);
  g_free (settings->record.sign);
  g_free (settings);
}

void
config_free (Config *config)
{
  g_free (config->path);
  g_free (config->secrets);
  g_free (config->control.socket);
  g_free (config->mqtt.host);
  g_free (config->mqtt.topic);
  g_free (config->mqtt.user);
  g_free (config->mqtt.ca);
  g_free (config->mqtt.discovery);
  g_free (config->metrics.address);
  g_free (config->page.address);
  g_free (config->page.users);
  g_free (config->page.token);
  g_strfreev (config->page.names);
  g_free (config->page.certificate);
  g_free (config->page.key);
  g_free (config->rtsp.address);
  g_free (config->rtsp.users);
  g_free (config->rtsp.certificate);
  g_free (config->rtsp.key);
  g_free (config->process);
  g_ptr_array_unref (config->cameras);
  json_object_unref (config->defaults);
  g_free (config);
}

/* ---- one camera ---------------------------------------------------------- */

/* Returns whether the address contains a password: scheme://user:password@host. */
static gboolean
has_password (const char *uri)
{
  const char *start = strstr (uri, "://"), *at, *colon;
  gsize length;

  if (!start)
    return FALSE;
  length = strcspn (start + 3, "/?#");
  at = g_strrstr_len (start + 3, (gssize) length, "@");
  colon = memchr (start + 3, ':', length);
  return at && colon && colon < at;
}

/* Returns whether one of the two objects, which may be NULL, has the member. */
static gboolean
has_member (JsonObject *objects[2], const char *member)
{
  return (objects[0] && json_object_has_member (objects[0], member)) ||
      (objects[1] && json_object_has_member (objects[1], member));
}

static gboolean
check_source (Reader *reader, JsonObject *objects[2], const char *where, CameraSettings *settings)
{
  JsonObject *object = objects[1];
  const char *source = settings->source;
  g_autofree char *scheme = source ? g_uri_parse_scheme (source) : NULL;
  g_autofree char *path = NULL, *host = NULL;
  g_autoptr (GError) error = NULL;

  if (!source && has_member (objects, "source"))
    return FALSE; /* it is no text, which was reported */
  if (!source || !*source)
    return reader_fault (reader, object, where, "source",
        "is missing: an address such as \"rtsp://192.168.1.20/stream1\", a file, \"/dev/video0\" or \"test\"");
  if (has_password (source)) /* the text itself is not repeated */
    return reader_fault (reader, object, where, "source",
        "has a password in it: put it into the secrets file, or into the environment, and only the user's name here "
        "(\"user\")");
  if (!strcmp (source, "test") || g_str_has_prefix (source, "test:")) {
    settings->kind = SOURCE_TEST;
    settings->place = g_strdup (source[4] ? source + 5 : "smpte");
    settings->live = TRUE;
    settings->width = settings->width ? settings->width : 640;
    settings->height = settings->height ? settings->height : 480;
    settings->rate = settings->rate ? settings->rate : 30;
    return TRUE;
  }
  if (g_str_has_prefix (source, "/dev/")) {
    settings->kind = SOURCE_DEVICE;
    settings->place = g_strdup (source);
    settings->live = TRUE;
    return TRUE;
  }
  settings->kind = SOURCE_URI;
  if (settings->width || settings->height || settings->rate)
    return reader_fault (reader, object, where,
        settings->width        ? "width"
            : settings->height ? "height"
                               : "rate",
        "is for test pictures and for cameras of /dev only: other sources have a size and a rate of their own");
  if (scheme && strstr (source, "://")) {
    settings->http = !strcmp (scheme, "http") || !strcmp (scheme, "https");
    settings->live = !settings->http && strcmp (scheme, "file");
    settings->place = g_strdup (source);
    if (!gst_uri_is_valid (source) || !gst_uri_protocol_is_supported (GST_URI_SRC, scheme))
      return reader_fault (reader, object, where, "source", "no element of this GStreamer reads %s://", scheme);
    if ((settings->http || g_str_has_prefix (scheme, "rtsp")) &&
        (!g_uri_split_network (source, G_URI_FLAGS_PARSE_RELAXED, NULL, &host, NULL, &error) || !*host))
      return reader_fault (reader, object, where, "source", "%s", error ? error->message : "there is no host in it");
    return TRUE;
  }
  if (*source == '~')
    return reader_fault (reader, object, where, "source", NO_HOME);
  path = g_canonicalize_filename (source, reader->folder);
  settings->place = gst_filename_to_uri (path, NULL);
  return settings->place || reader_fault (reader, object, where, "source", "\"%s\" is not a file's name", source);
}

/* Checks `tls_ca` and `tls_pin`. Of the pin only its digits stay, in small letters, as GLib writes a checksum. */
static gboolean
check_tls (Reader *reader, JsonObject *object, const char *where, CameraSettings *settings)
{
  const gboolean tls = settings->source &&
      (g_str_has_prefix (settings->source, "https://") || g_str_has_prefix (settings->source, "rtsps"));
  const char *own = json_object_has_member (object, "tls_pin") ? "tls_pin"
      : json_object_has_member (object, "tls_ca")              ? "tls_ca"
                                                               : NULL;
  gboolean ok = TRUE;

  if (own && !tls && settings->source)
    ok = reader_fault (reader, object, where, own, "is for sources of https:// and rtsps:// only");
  if (tls && !g_tls_backend_supports_tls (g_tls_backend_get_default ()))
    ok = reader_fault (reader, object, where, "source", "nothing here knows TLS: install glib-networking");
  if (settings->tls_ca && access (settings->tls_ca, R_OK))
    ok = reader_fault (reader, object, where, "tls_ca", "%s: %s", settings->tls_ca, g_strerror (errno));
  if (settings->tls_pin) {
    g_auto (GStrv) parts = g_strsplit (settings->tls_pin, ":", -1);
    g_autofree char *digits = g_strjoinv ("", parts);

    if (strlen (digits) != 64 || strspn (digits, "0123456789abcdefABCDEF") != 64)
      return reader_fault (reader, object, where, "tls_pin",
          "has to be the 64 hexadecimal digits of a certificate's SHA-256: openssl x509 -noout -fingerprint -sha256 "
          "-in FILE");
    g_free (settings->tls_pin);
    settings->tls_pin = g_ascii_strdown (digits, -1);
  }
  return ok;
}

/* Returns the texts of an array, NULL-terminated; NULL: it is something else. Each text has these characters alone
 * (NULL: any). Free them. */
static char **
read_texts (JsonNode *node, const char *characters)
{
  JsonArray *array = JSON_NODE_HOLDS_ARRAY (node) ? json_node_get_array (node) : NULL;
  const guint n = array ? json_array_get_length (array) : 0;
  g_auto (GStrv) texts = g_new0 (char *, n + 1);

  for (guint i = 0; i < n; i++) {
    JsonNode *one = json_array_get_element (array, i);
    const char *text = json_node_get_value_type (one) == G_TYPE_STRING ? json_node_get_string (one) : "";

    if (!*text || (characters && strspn (text, characters) != strlen (text)))
      return NULL;
    texts[i] = g_strdup (text);
  }
  return array ? g_steal_pointer (&texts) : NULL;
}

/* Reads `page` of a camera or of the defaults. */
static gboolean
read_camera_page (Reader *reader, JsonObject *object, const char *where, CameraSettings *settings)
{
  JsonObject *page = reader_object (reader, object, where, "page");
  JsonNode *may = page ? json_object_get_member (page, "may_set") : NULL;
  g_autofree char *at = g_strconcat (where, ".page", NULL);

  if (!page)
    return !json_object_has_member (object, "page");
  if (!reader_fill (reader, page, at, camera_page_fields, settings))
    return FALSE;
  if (!may)
    return TRUE;
  g_clear_pointer (&settings->may_set, g_strfreev);
  settings->may_set_all = json_node_get_value_type (may) == G_TYPE_STRING &&
      !strcmp (json_node_get_string (may), "all");
  if (settings->may_set_all || (settings->may_set = read_texts (may, NULL)))
    return TRUE;
  return reader_fault (reader, page, at, "may_set", "has to be \"all\" or a list: [\"mask.roi\"]");
}

static CameraSettings *
read_camera (Reader *reader, JsonObject *object, const Config *config, const char *where, const char *name)
{
  JsonObject *defaults = config->defaults;
  CameraSettings *s = g_new0 (CameraSettings, 1);
  JsonObject *record[2] = { reader_object (reader, defaults, "defaults", "record"),
    reader_object (reader, object, where, "record") };
  g_autoptr (GString) text = g_string_new (NULL);
  g_autofree char *at = g_strconcat (where, ".record", NULL);
  gboolean ok;

  g_atomic_ref_count_init (&s->count);
  s->name = g_strdup (name);
  s->latency = 200;
  s->timeout = 10;
  s->max_bytes = 64 << 20;
  s->gpu = -1;
  s->record.piece = 3600;
  s->record.before = 5;
  s->record.after = 10;
  s->record.quality = 23;
  ok = reader_fill (reader, defaults, "defaults", camera_fields, s);
  ok &= reader_fill (reader, object, where, camera_fields, s);
  if (record[0])
    ok &= reader_fill (reader, record[0], "defaults.record", record_fields, s);
  if (record[1])
    ok &= reader_fill (reader, record[1], at, record_fields, s);
  if ((record[0] || record[1]) && !s->record.folder && !has_member (record, "folder"))
    ok = reader_fault (reader, record[1] ? record[1] : object, at, "folder", "is missing: the folder to record into");
  ok = read_camera_page (reader, defaults, "defaults", s) && ok;
  ok = read_camera_page (reader, object, where, s) && ok;
#ifndef HAVE_OPENSSL
  if (s->record.sign)
    ok = reader_fault (reader, record[1] ? record[1] : object, at, "sign", SIGN_NO_OPENSSL);
#endif
  if (s->record.hashes && !s->record.sign)
    ok = reader_fault (reader, record[1] ? record[1] : object, at, "hashes",
        "needs \"sign\": cf-verify runs no filter of a record that nobody has signed");
  ok = check_source (reader, (JsonObject *[]) { defaults, object }, where, s) && ok;
  if (ok && s->every && !s->http)
    ok = reader_fault (reader, object, where, "every", "is for cameras over HTTP that send one picture at a time");
  ok = check_tls (reader, object, where, s) && ok;
  s->on_page = s->shown && config->page.on;
  s->shown &= config->rtsp.on;
  if (!s->filter)
    s->filter = g_strdup ("");
  s->own = !*s->filter && s->encode == 0 && s->kind == SOURCE_URI && !s->every;
  for (int i = 0; i < 2; i++) {
    g_autoptr (JsonNode) node = json_node_init_object (json_node_alloc (), i ? object : defaults);
    g_autofree char *part = json_to_string (node, FALSE);

    g_string_append_printf (text, "%s\n", part);
  }
  s->text = g_steal_pointer (&text->str);
  if (!ok)
    camera_settings_unref (s);
  return ok ? s : NULL;
}

#define NAME_RULE "a camera's name has up to 64 letters, digits and . _ -, and begins with a letter or a digit"

/* Names become names of files, topics and labels. */
static gboolean
is_name (const char *name)
{
  gsize n = strlen (name);

  for (gsize i = 0; i < n; i++)
    if (!g_ascii_isalnum (name[i]) && (i == 0 || !strchr ("._-", name[i])))
      return FALSE;
  return n > 0 && n <= 64;
}

static gboolean
read_cameras (Reader *reader, JsonObject *top, Config *config)
{
  JsonObject *cameras = reader_object (reader, top, "", "cameras");
  g_autoptr (GList) names = cameras ? json_object_get_members (cameras) : NULL;
  gboolean ok = TRUE;

  if (!cameras)
    return json_object_has_member (top, "cameras") ? FALSE : reader_fault (reader, top, "", "cameras", "is missing");
  for (GList *l = names; l; l = l->next) {
    g_autofree char *where = g_strconcat ("cameras.", l->data, NULL);
    JsonObject *object = reader_object (reader, cameras, "cameras", l->data);
    CameraSettings *settings;

    if (reader_is_twice (reader, cameras, l->data))
      ok = reader_fault (reader, cameras, "cameras", l->data, "two cameras have this name");
    else if (!is_name (l->data))
      ok = reader_fault (reader, cameras, "cameras", l->data, NAME_RULE);
    else if (object && (settings = read_camera (reader, object, config, where, l->data)))
      g_ptr_array_add (config->cameras, settings);
    else
      ok = FALSE;
  }
  return ok;
}

/* ---- the whole file ------------------------------------------------------ */

static gboolean
read_control (Reader *reader, JsonObject *object, Config *config)
{
  gboolean ok = reader_fill (reader, object, "control", control_fields, config);
  g_autofree char *given = g_steal_pointer (&config->control.socket);

  if (given && *given == '~')
    return reader_fault (reader, object, "control", "socket", NO_HOME);
  config->control.socket = given && strchr (given, '/') ? g_canonicalize_filename (given, reader->folder)
                                                        : g_steal_pointer (&given);
  return ok;
}

static gboolean
read_mqtt (Reader *reader, JsonObject *object, Config *config)
{
  JsonNode *tls = json_object_get_member (object, "tls");
  gboolean ok = reader_fill (reader, object, "mqtt", mqtt_fields, config);

#ifndef HAVE_MOSQUITTO
  return reader_fault (reader, object, "mqtt", NULL,
      "this cf-watch was built without libmosquitto, so it reaches no broker");
#endif
  if (!config->mqtt.host || !*config->mqtt.host)
    ok = reader_fault (reader, object, "mqtt", "host", "is missing: the broker's name or address");
  else if (strchr (config->mqtt.host, '/') ||
      (strchr (config->mqtt.host, ':') && !g_hostname_is_ip_address (config->mqtt.host)))
    ok = reader_fault (reader, object, "mqtt", "host", "has to be a name or an address alone; its port is \"port\"");
  if (tls && JSON_NODE_HOLDS_VALUE (tls) && json_node_get_value_type (tls) == G_TYPE_BOOLEAN)
    config->mqtt.tls = json_node_get_boolean (tls);
  else if (tls && JSON_NODE_HOLDS_VALUE (tls) && json_node_get_value_type (tls) == G_TYPE_STRING) {
    config->mqtt.tls = TRUE;
    config->mqtt.ca = g_canonicalize_filename (json_node_get_string (tls), reader->folder);
    if (access (config->mqtt.ca, R_OK))
      ok = reader_fault (reader, object, "mqtt", "tls", "%s: %s", config->mqtt.ca, g_strerror (errno));
  } else if (tls)
    ok = reader_fault (reader, object, "mqtt", "tls", "has to be true, false, or the path of a file of certificates");
  if (!config->mqtt.port)
    config->mqtt.port = config->mqtt.tls ? 8883 : 1883;
  if (strpbrk (config->mqtt.topic, "+#") || !*config->mqtt.topic)
    ok = reader_fault (reader, object, "mqtt", "topic", "has to be a topic without + and #");
  if (config->mqtt.discovery && (strpbrk (config->mqtt.discovery, "+#") || !*config->mqtt.discovery))
    ok = reader_fault (reader, object, "mqtt", "discovery",
        "has to be the prefix that Home Assistant looks at, \"homeassistant\" unless it was told another");
  return ok;
}

static gboolean
read_metrics (Reader *reader, JsonObject *object, Config *config)
{
  gboolean ok = reader_fill (reader, object, "metrics", metrics_fields, config);
  g_autoptr (GInetAddress) address = g_inet_address_new_from_string (config->metrics.address);

#ifndef HAVE_SOUP
  return reader_fault (reader, object, "metrics", NULL,
      "this cf-watch was built without libsoup, so it serves no metrics");
#endif
  config->metrics.on = TRUE;
  if (!json_object_has_member (object, "port"))
    ok = reader_fault (reader, object, "metrics", "port", "is missing: the TCP port to serve them at, 0 for any");
  if (!address)
    ok = reader_fault (reader, object, "metrics", "address", "\"%s\" is not an IP address", config->metrics.address);
  else if (!g_inet_address_get_is_loopback (address) && !config->metrics.allow_remote)
    ok = reader_fault (reader, object, "metrics", "address",
        "%s can be reached from other machines, and no password protects the metrics: set \"allow_remote\": true if "
        "that is meant",
        config->metrics.address);
  return ok;
}

/* Reads `tls` of a server, into the two files that the fields name. */
static gboolean
read_tls (Reader *reader, JsonObject *object, const char *where, const Field *fields, Config *config)
{
  JsonObject *tls = reader_object (reader, object, where, "tls");
  g_autofree char *inside = g_strconcat (where, ".tls", NULL);

  if (!tls)
    return !json_object_has_member (object, "tls");
  if (!reader_fill (reader, tls, inside, fields, config))
    return FALSE;
  if (!json_object_has_member (tls, "certificate") || !json_object_has_member (tls, "key"))
    return reader_fault (reader, object, where, "tls",
        "has to be { \"certificate\": FILE, \"key\": FILE }, both of them PEM");
  if (!g_tls_backend_supports_tls (g_tls_backend_get_default ()))
    return reader_fault (reader, object, where, "tls", "nothing here knows TLS: install glib-networking");
  return TRUE;
}

static gboolean
read_page (Reader *reader, JsonObject *object, Config *config)
{
  JsonNode *names = json_object_get_member (object, "names");
  gboolean ok = reader_fill (reader, object, "page", page_fields, config);
  g_autoptr (GInetAddress) address = g_inet_address_new_from_string (config->page.address);

#ifndef HAVE_SOUP
  return reader_fault (reader, object, "page", NULL, "this cf-watch was built without libsoup, so it serves no page");
#endif
  config->page.on = TRUE;
  if (!json_object_has_member (object, "port"))
    ok = reader_fault (reader, object, "page", "port", "is missing: the TCP port to serve it at, 0 for any");
  if (names &&
      !(config->page.names = read_texts (names, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-")))
    ok = reader_fault (reader, object, "page", "names",
        "has to be names of this machine, without a port: [\"cams.lan\"]");
  ok = read_tls (reader, object, "page", page_tls_fields, config) && ok;
  if (!address)
    ok = reader_fault (reader, object, "page", "address", "\"%s\" is not an IP address", config->page.address);
  else if (g_inet_address_get_is_loopback (address))
    return ok;
  else if (!config->page.users)
    ok = reader_fault (reader, object, "page", "address",
        "%s can be reached from other machines: set \"users\", the file of those who may use the page; or leave it at "
        "127.0.0.1, which another machine reaches through a tunnel, ssh -L %u:127.0.0.1:%u HOST",
        config->page.address, config->page.port, config->page.port);
  else if (!config->page.certificate && !config->page.allow_plain)
    ok = reader_fault (reader, object, "page", "address",
        "%s can be reached from other machines, and passwords and pictures can be read on the way: set \"tls\", or "
        "\"allow_plain\": true if that is meant",
        config->page.address);
  return ok;
}

static gboolean
read_rtsp (Reader *reader, JsonObject *object, Config *config)
{
  gboolean ok = reader_fill (reader, object, "rtsp", rtsp_fields, config);
  g_autoptr (GInetAddress) address = g_inet_address_new_from_string (config->rtsp.address);

#ifndef HAVE_RTSP_SERVER
  return reader_fault (reader, object, "rtsp", NULL,
      "this cf-watch was built without gst-rtsp-server, so it serves no video");
#endif
  config->rtsp.on = TRUE;
  if (!address)
    ok = reader_fault (reader, object, "rtsp", "address", "\"%s\" is not an IP address", config->rtsp.address);
  else if (!g_inet_address_get_is_loopback (address) && !config->rtsp.users)
    ok = reader_fault (reader, object, "rtsp", "address",
        "%s can be reached from other machines, and everybody there could watch: set \"users\", the file of those who "
        "may",
        config->rtsp.address);
  return read_tls (reader, object, "rtsp", rtsp_tls_fields, config) && ok;
}

static gboolean
read_defaults (Reader *reader, JsonObject *top, Config *config)
{
  JsonObject *defaults = reader_object (reader, top, "", "defaults");
  JsonObject *record = defaults ? reader_object (reader, defaults, "defaults", "record") : NULL;
  CameraSettings *scratch = g_new0 (CameraSettings, 1);
  gboolean ok = TRUE;

  g_atomic_ref_count_init (&scratch->count);
  if (defaults) {
    ok = reader_fill (reader, defaults, "defaults", camera_fields, scratch);
    if (record)
      ok &= reader_fill (reader, record, "defaults.record", record_fields, scratch);
    ok &= read_camera_page (reader, defaults, "defaults", scratch);
    json_object_unref (config->defaults);
    config->defaults = json_object_ref (defaults);
  }
  camera_settings_unref (scratch);
  return ok && reader->wrong->len == 0;
}

static gboolean
read_top (Reader *reader, JsonObject *top, Config *config)
{
  static const char *const process[] = { "control", "index", "mqtt", "metrics", "page", "rtsp" };
  g_autoptr (GString) text = g_string_new (NULL);
  JsonObject *part;
  gboolean ok;

  ok = reader_fill (reader, top, "", top_fields, config);
  if ((part = reader_object (reader, top, "", "control")))
    ok &= read_control (reader, part, config);
  if ((part = reader_object (reader, top, "", "mqtt")))
    ok &= read_mqtt (reader, part, config);
  if ((part = reader_object (reader, top, "", "metrics")))
    ok &= read_metrics (reader, part, config);
  if ((part = reader_object (reader, top, "", "page")))
    ok &= read_page (reader, part, config);
  if ((part = reader_object (reader, top, "", "rtsp")))
    ok &= read_rtsp (reader, part, config);
  ok &= read_defaults (reader, top, config);
  ok &= read_cameras (reader, top, config);
  for (guint i = 0; i < G_N_ELEMENTS (process); i++) {
    JsonNode *node = json_object_get_member (top, process[i]);
    g_autofree char *json = node ? json_to_string (node, FALSE) : NULL;

    g_string_append_printf (text, "%s\n", json ? json : "");
  }
  config->process = g_steal_pointer (&text->str);
  return ok && reader->wrong->len == 0;
}

Config *
config_new (const char *path)
{
  Config *config = g_new0 (Config, 1);

  config->path = g_canonicalize_filename (path, NULL);
  config->control.standard_input = config->index = TRUE;
  config->mqtt.topic = g_strdup ("cf-watch");
  config->metrics.address = g_strdup ("127.0.0.1");
  config->page.address = g_strdup ("127.0.0.1");
  config->rtsp.address = g_strdup ("127.0.0.1");
  config->rtsp.port = 8554;
  config->rtsp.clients = 32;
  config->cameras = g_ptr_array_new_with_free_func ((GDestroyNotify) camera_settings_unref);
  config->defaults = json_object_new ();
  return config;
}

Config *
config_load (const char *path, GString *wrong, ConfigCheck check, gpointer data)
{
  g_autofree char *full = g_canonicalize_filename (path, NULL), *folder = g_path_get_dirname (full), *text = NULL;
  g_autoptr (GError) error = NULL;
  Config *config;
  JsonObject *top;
  Reader reader;
  gsize length;
  gboolean ok;

  if (!g_file_get_contents (path, &text, &length, &error)) {
    g_string_append (wrong, error->message);
    return NULL;
  }
  config = config_new (path);
  reader_init (&reader, path, folder, wrong);
  top = reader_parse (&reader, text, (gssize) length);
  ok = top && read_top (&reader, top, config);
  if (top && check)
    check (&reader, top, config, data);
  ok = ok && wrong->len == 0;
  reader_clear (&reader);
  if (!ok)
    config_free (config);
  return ok ? config : NULL;
}

CameraSettings *
config_read_camera (const Config *config, const char *name, const char *json, GString *wrong)
{
  g_autofree char *folder = g_path_get_dirname (config->path), *where = g_strconcat ("camera ", name, NULL);
  CameraSettings *settings = NULL;
  JsonObject *object;
  Reader reader;

  reader_init (&reader, NULL, folder, wrong);
  if (!is_name (name))
    g_string_append (wrong, NAME_RULE);
  else if ((object = reader_parse (&reader, json, (gssize) strlen (json))))
    settings = read_camera (&reader, object, config, where, name);
  reader_clear (&reader);
  return settings;
}
