/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * sign.h: Ed25519 keys and signatures, and the SHA-256 of files. cf-watch signs with it what cf-verify checks. All
 * functions may be called in any thread, and wait for the disk. */
#ifndef PIPELINES_WATCH_SIGN_H
#define PIPELINES_WATCH_SIGN_H

#include <glib.h>

#define SIGNATURE_BYTES 64
#define SIGN_NO_OPENSSL "this program was built without OpenSSL, so it knows no signatures"

typedef struct evp_pkey_st SignKey; /* of OpenSSL */

/* Returns a key of a PEM file, or NULL with what is wrong, in which no part of the file is repeated. A private key's
 * file must not be open to others. */
SignKey *sign_read_key (const char *path, gboolean private, GString *wrong);
void sign_key_free (SignKey *key);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (SignKey, sign_key_free)
/* Returns the SHA-256 of the public key (as DER) in small hexadecimal digits. Free it. */
char *sign_key_name (SignKey *key);
/* Writes the signature of the text. Returns FALSE if OpenSSL refuses the key. */
gboolean sign_text (SignKey *key, const char *text, gsize length, guchar signature[SIGNATURE_BYTES]);
gboolean sign_check (SignKey *key, const char *text, gsize length, const guchar signature[SIGNATURE_BYTES]);
/* The SHA-256 of several parts. */
#ifdef HAVE_OPENSSL
typedef struct evp_md_ctx_st SignHash;
#else
typedef GChecksum SignHash;
#endif
SignHash *sign_hash_new (void);
void sign_hash_add (SignHash *hash, const void *data, gsize length);
/* Returns it in small hexadecimal digits (free it), and frees the rest. */
char *sign_hash_end (SignHash *hash);
/* Returns a file's SHA-256 in small hexadecimal digits (free it) and its length, or NULL with what is wrong. */
char *sign_hash_file (const char *path, guint64 *bytes, GString *wrong);

#endif
