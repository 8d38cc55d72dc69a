#ifndef KIIPUSH_CCURL_SHIM_H
#define KIIPUSH_CCURL_SHIM_H

#if !__has_include(<curl/curl.h>)
#error "curl/curl.h is missing: install the Debian package libcurl4-openssl-dev, or build without the trait HTTP"
#endif
#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>
#include <sys/socket.h>

#if LIBCURL_VERSION_NUM < 0x075800
#error "curl/curl.h is too old: KiiCloudHTTP needs libcurl 7.88 or newer, which Debian 12 has"
#endif

/* The calls below have variable arguments in C, which Swift does not import: one function for each kind of argument. */
static inline CURLcode ccurl_set_number(CURL *handle, CURLoption option, long number) {
    return curl_easy_setopt(handle, option, number);
}

static inline CURLcode ccurl_set_text(CURL *handle, CURLoption option, const char *text) {
    return curl_easy_setopt(handle, option, text);
}

static inline CURLcode ccurl_set_pointer(CURL *handle, CURLoption option, void *pointer) {
    return curl_easy_setopt(handle, option, pointer);
}

static inline CURLcode ccurl_set_headers(CURL *handle, struct curl_slist *headers) {
    return curl_easy_setopt(handle, CURLOPT_HTTPHEADER, headers);
}

static inline CURLcode ccurl_set_receiver(
    CURL *handle, CURLoption option, size_t (*receiver)(char *, size_t, size_t, void *)) {
    return curl_easy_setopt(handle, option, receiver);
}

static inline CURLcode ccurl_set_prerequest(CURL *handle, curl_prereq_callback callback) {
    return curl_easy_setopt(handle, CURLOPT_PREREQFUNCTION, callback);
}

static inline CURLMcode ccurl_multi_set_number(CURLM *multi, CURLMoption option, long number) {
    return curl_multi_setopt(multi, option, number);
}

static inline long ccurl_status(CURL *handle) {
    long status = 0;
    curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &status);
    return status;
}

/* A program that this process starts must not inherit a connection. */
static curl_socket_t ccurl_open_socket(void *context, curlsocktype purpose, struct curl_sockaddr *address) {
    (void)context;
    (void)purpose;
    return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

static inline CURLcode ccurl_close_on_exec(CURL *handle) {
    return curl_easy_setopt(handle, CURLOPT_OPENSOCKETFUNCTION, ccurl_open_socket);
}

/* The next transfer that is done, or NULL; `result` says how it ended. */
static inline CURL *ccurl_next_done(CURLM *multi, CURLcode *result) {
    int left = 0;
    CURLMsg *message;
    while ((message = curl_multi_info_read(multi, &left))) {
        if (message->msg != CURLMSG_DONE) continue;
        *result = message->data.result;
        return message->easy_handle;
    }
    return (CURL *)0;
}

#endif
