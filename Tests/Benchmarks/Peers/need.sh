# For the peers' build.sh. Says on standard error what it does; standard output is for the programs.

# unavailable REASON: the peer is left out of the run, for this reason.
unavailable() {
    printf '%s\n' "$*" >&2
    exit 69
}

# need COMMAND-OR-FILE PACKAGE...: installs Debian packages when what they bring is missing.
need() {
    local what=$1
    shift
    if command -v "$what" >/dev/null || [ -e "$what" ]; then return; fi
    local root=""
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo >/dev/null || unavailable "$what is missing; install the Debian package $* (no root, no sudo here)"
        root=sudo
    fi
    command -v apt-get >/dev/null || unavailable "$what is missing, and there is no apt-get to install $* with"
    printf 'installing %s, for %s\n' "$*" "$what" >&2
    { $root apt-get update -qq && $root apt-get install -y -qq "$@"; } >/dev/null 2>&1 ||
        unavailable "$what is missing, and the Debian package $* cannot be installed"
}
