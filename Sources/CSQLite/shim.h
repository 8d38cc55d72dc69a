#ifndef KIIPUSH_CSQLITE_SHIM_H
#define KIIPUSH_CSQLITE_SHIM_H

#if !__has_include(<sqlite3.h>)
#error "sqlite3.h is missing: install the Debian package libsqlite3-dev, or build without the trait SQLite"
#endif
#include <sqlite3.h>

#if SQLITE_VERSION_NUMBER < 3037000
#error "sqlite3.h is too old: KiiPushSQLite needs SQLite 3.37 or newer, which Debian 12 has"
#endif

/* SQLITE_TRANSIENT is a cast, which Swift does not import: SQLite makes its own copy of the bytes. */
static inline int csqlite_bind_blob(sqlite3_stmt *statement, int index, const void *bytes, int count) {
    return sqlite3_bind_blob(statement, index, bytes, count, SQLITE_TRANSIENT);
}

static inline int csqlite_bind_text(sqlite3_stmt *statement, int index, const char *text, int count) {
    return sqlite3_bind_text(statement, index, text, count, SQLITE_TRANSIENT);
}

/* sqlite3_db_config has variable arguments, which Swift does not import: whether the log stays when a file is closed. */
static inline int csqlite_keep_log(sqlite3 *database, int isKept) {
    return sqlite3_db_config(database, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, isKept, (int *)0);
}

#endif
