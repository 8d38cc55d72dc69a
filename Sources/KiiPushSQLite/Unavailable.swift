#if !SQLite
/// One database file; not available in this build.
@available(*, unavailable, message: "enable the trait SQLite of kii-push, and install Debian's libsqlite3-dev")
public enum SQLiteDatabase {}

/// A deduplication store that survives a restart; not available in this build.
@available(*, unavailable, message: "enable the trait SQLite of kii-push, and install Debian's libsqlite3-dev")
public enum SQLiteSeenStore {}

/// A dead-letter store that survives a restart; not available in this build.
@available(*, unavailable, message: "enable the trait SQLite of kii-push, and install Debian's libsqlite3-dev")
public enum SQLiteDeadLetterStore {}

/// An inbox that survives a crash; not available in this build.
@available(*, unavailable, message: "enable the trait SQLite of kii-push, and install Debian's libsqlite3-dev")
public enum SQLiteInbox {}
#endif
