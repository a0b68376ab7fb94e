/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * sign.c: Ed25519 and SHA-256 by OpenSSL. Where it is not found at build time, there is no Ed25519, and GLib's SHA-256
 * takes five times as long (OpenSSL uses what processors have for it). */
#include "sign.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define AT_A_TIME (1 << 20) /* bytes read of a file */

#ifdef HAVE_OPENSSL
#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#define MAX_KEY 65536 /* bytes of a file with a key */

/* A key with a passphrase is refused: nobody is there to type it. */
static int
no_passphrase (char *to, int size, int writes, void *data)
{
  (void) to;
  (void) size;
  (void) writes;
  (void) data;
  return -1;
}

/* Returns the file's text, or NULL with what is wrong. The mode is the file's. */
static char *
read_key_file (const char *path, gboolean private, gsize *length, GString *wrong)
{
  const int file = open (path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  g_autofree char *text = g_malloc (MAX_KEY);
  struct stat info;
  ssize_t n;

  if (file < 0 || fstat (file, &info)) {
    g_string_append_printf (wrong, "%s: %s", path, g_strerror (errno));
  } else if (!S_ISREG (info.st_mode)) {
    g_string_append_printf (wrong, "%s is no file", path);
  } else if (private && info.st_mode & (S_IROTH | S_IWOTH | S_IWGRP)) {
    g_string_append_printf (wrong, "%s: others may %s it (mode %04o): chmod 600 %s", path,
        info.st_mode & S_IROTH ? "read" : "write", (guint) info.st_mode & 07777, path);
  } else if ((n = read (file, text, MAX_KEY)) < 0) {
    g_string_append_printf (wrong, "%s: %s", path, g_strerror (errno));
  } else {
    *length = (gsize) n;
    close (file);
    return g_steal_pointer (&text);
  }
  if (file >= 0)
    close (file);
  return NULL;
}

SignKey *
sign_read_key (const char *path, gboolean private, GString *wrong)
{
  gsize length = 0;
  g_autofree char *text = read_key_file (path, private, &length, wrong);
  BIO *memory = text ? BIO_new_mem_buf (text, (int) length) : NULL;
  EVP_PKEY *key = !memory ? NULL
      : private           ? PEM_read_bio_PrivateKey (memory, NULL, no_passphrase, NULL)
                          : PEM_read_bio_PUBKEY (memory, NULL, no_passphrase, NULL);

  BIO_free (memory);
  if (text && private)
    OPENSSL_cleanse (text, length);
  if (!text)
    return NULL;
  if (key && EVP_PKEY_get_base_id (key) == EVP_PKEY_ED25519)
    return key;
  EVP_PKEY_free (key);
  g_string_append_printf (wrong, "%s is no %s key of Ed25519 in PEM%s: %s", path, private ? "private" : "public",
      private ? " without a passphrase" : "",
      private ? "openssl genpkey -algorithm ed25519 -out KEY.pem" : "openssl pkey -in KEY.pem -pubout -out PUBLIC.pem");
  return NULL;
}

void
sign_key_free (SignKey *key)
{
  EVP_PKEY_free (key);
}

char *
sign_key_name (SignKey *key)
{
  guchar *der = NULL;
  const int length = i2d_PUBKEY (key, &der);
  char *name = g_compute_checksum_for_data (G_CHECKSUM_SHA256, der, length > 0 ? (gsize) length : 0);

  OPENSSL_free (der);
  return name;
}

gboolean
sign_text (SignKey *key, const char *text, gsize length, guchar signature[SIGNATURE_BYTES])
{
  EVP_MD_CTX *context = EVP_MD_CTX_new ();
  gsize bytes = SIGNATURE_BYTES;
  const gboolean ok = context && EVP_DigestSignInit (context, NULL, NULL, NULL, key) > 0 &&
      EVP_DigestSign (context, signature, &bytes, (const guchar *) text, length) > 0 && bytes == SIGNATURE_BYTES;

  EVP_MD_CTX_free (context);
  return ok;
}

gboolean
sign_check (SignKey *key, const char *text, gsize length, const guchar signature[SIGNATURE_BYTES])
{
  EVP_MD_CTX *context = EVP_MD_CTX_new ();
  const gboolean ok = context && EVP_DigestVerifyInit (context, NULL, NULL, NULL, key) > 0 &&
      EVP_DigestVerify (context, signature, SIGNATURE_BYTES, (const guchar *) text, length) == 1;

  EVP_MD_CTX_free (context);
  return ok;
}

SignHash *
sign_hash_new (void)
{
  SignHash *hash = EVP_MD_CTX_new ();

  EVP_DigestInit_ex (hash, EVP_sha256 (), NULL);
  return hash;
}

void
sign_hash_add (SignHash *hash, const void *data, gsize length)
{
  EVP_DigestUpdate (hash, data, length);
}

char *
sign_hash_end (SignHash *hash)
{
  guchar bytes[32];
  GString *text = g_string_new (NULL);

  EVP_DigestFinal_ex (hash, bytes, NULL);
  EVP_MD_CTX_free (hash);
  for (guint i = 0; i < sizeof bytes; i++)
    g_string_append_printf (text, "%02x", bytes[i]);
  return g_string_free (text, FALSE);
}

#else

SignHash *
sign_hash_new (void)
{
  return g_checksum_new (G_CHECKSUM_SHA256);
}

void
sign_hash_add (SignHash *hash, const void *data, gsize length)
{
  g_checksum_update (hash, data, (gssize) length);
}

char *
sign_hash_end (SignHash *hash)
{
  char *text = g_strdup (g_checksum_get_string (hash));

  g_checksum_free (hash);
  return text;
}

SignKey *
sign_read_key (const char *path, gboolean private, GString *wrong)
{
  (void) private;
  g_string_append_printf (wrong, "%s: " SIGN_NO_OPENSSL, path);
  return NULL;
}

void
sign_key_free (SignKey *key)
{
  (void) key;
}

char *
sign_key_name (SignKey *key)
{
  (void) key;
  return NULL;
}

gboolean
sign_text (SignKey *key, const char *text, gsize length, guchar signature[SIGNATURE_BYTES])
{
  (void) key, (void) text, (void) length, (void) signature;
  return FALSE;
}

gboolean
sign_check (SignKey *key, const char *text, gsize length, const guchar signature[SIGNATURE_BYTES])
{
  (void) key, (void) text, (void) length, (void) signature;
  return FALSE;
}
#endif

char *
sign_hash_file (const char *path, guint64 *bytes, GString *wrong)
{
  const int file = open (path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
  g_autofree guchar *buffer = g_malloc (AT_A_TIME);
  SignHash *hash = sign_hash_new ();
  g_autofree char *text = NULL;
  struct stat info;
  ssize_t n = -1;

  *bytes = 0;
  if (file >= 0 && !fstat (file, &info) && !S_ISREG (info.st_mode))
    errno = EINVAL;
  else if (file >= 0)
    while ((n = read (file, buffer, AT_A_TIME)) > 0) {
      sign_hash_add (hash, buffer, (gsize) n);
      *bytes += (guint64) n;
    }
  if (n < 0)
    g_string_append_printf (wrong, "%s: %s", path, g_strerror (errno));
  if (file >= 0)
    close (file);
  text = sign_hash_end (hash);
  return n < 0 ? NULL : g_steal_pointer (&text);
}
