// The system's C library under one name: Glibc, or Musl in a static tool for any Linux.
#if canImport(Musl)
@_exported public import Musl
#else
@_exported public import Glibc
#endif
