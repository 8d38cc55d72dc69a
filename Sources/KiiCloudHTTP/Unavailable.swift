#if !HTTP
/// Carries requests over HTTPS; not available in this build.
@available(*, unavailable, message: "enable the trait HTTP of kii-push, and install Debian's libcurl4-openssl-dev")
public enum CurlTransport {}
#endif
