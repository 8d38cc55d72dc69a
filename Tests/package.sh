#!/usr/bin/env bash
# Builds the Debian package of the tool, and checks what is in it.
#
#   bash Tests/package.sh          builds .build/package/kiipush_VERSION_ARCHITECTURE.deb for this machine's architecture:
#                                  the tool with all traits, its unit, manual pages and completions
#   bash Tests/package.sh --try    also builds it in another folder, which must give the same bytes, and tries it on a
#                                  clean Debian 12: install, run, upgrade, purge; as root, with a network
#
# It needs the Debian packages that Tests/check/steps.txt names for the step 'package'.
set -euo pipefail
cd "$(dirname "$0")/.."

fail() { printf 'package.sh: %s\n' "$*" >&2; exit 1; }

out=.build/package
changes=Sources/KiiPush/KiiPush.docc/Changes.md
version=$(sed -n 's/.*number = "\(.*\)"/\1/p' Sources/KiiPushAgent/Words/Version.swift)
date=$(sed -n 's/.*date = "\(.*\)"/\1/p' Sources/KiiPushAgent/Words/Version.swift)
grep -qx "## $version, $date" $changes || fail "$changes has no section '## $version, $date', as Version.swift has it"
arch=$(dpkg --print-architecture)
deb=$out/kiipush_${version}_$arch.deb
maintainer='KiiPush <maintainers@kiipush.invalid>'
SOURCE_DATE_EPOCH=$(date -u -d "$date" +%s)
export SOURCE_DATE_EPOCH LC_ALL=C
umask 022

# MARK: building it

# Without debug information and the folder's name, and with tables of addresses that nothing can write to.
build=(
    -c release --static-swift-stdlib --enable-all-traits --product kiipush --scratch-path $out/swift
    -debug-info-format none -Xswiftc -file-prefix-map -Xswiftc "$PWD=/kiipush" --disable-local-rpath
    -Xlinker --build-id=none -Xlinker -z -Xlinker relro -Xlinker -z -Xlinker now -Xlinker -Map="$PWD/$out/link.map"
)

# The sections of the changes as the changelog of a Debian package.
changelog() {
    awk -v maintainer="$maintainer" '
        function finish() { if (day) printf "\n -- %s  %s\n", maintainer, day }
        /^## [0-9]/ {
            finish()
            ("date -u -R -d " $3) | getline day
            sub(/,/, "", $2)
            printf "kiipush (%s) unstable; urgency=medium\n\n", $2
        }
        day && /^(- |  )/ { sub(/^- /, "  * ") || sub(/^/, "  "); print }
        END { finish() }' $changes
}

# pack VERSION FILE: makes a package of what was built.
pack() {
    local root=$out/root
    rm -rf $root && mkdir -p $root/DEBIAN $root/etc/default $root/usr/bin $root/usr/share/{zsh/vendor-completions,doc/kiipush} \
        $root/usr/share/{bash-completion/completions,fish/vendor_completions.d,man/man1} $root/lib/systemd/system
    local shared=$root/usr/share files=Tests/Debian
    install $out/kiipush $root/usr/bin/
    install -m 644 $files/kiipush.service $root/lib/systemd/system/
    install -m 644 $files/kiipush.default $root/etc/default/kiipush
    install -D -m 644 $files/rules.json $root/etc/kiipush/rules.json
    "$out/kiipush" manual $shared/man/man1 >/dev/null
    "$out/kiipush" completions bash >$shared/bash-completion/completions/kiipush
    "$out/kiipush" completions zsh >$shared/zsh/vendor-completions/_kiipush
    "$out/kiipush" completions fish >$shared/fish/vendor_completions.d/kiipush.fish
    install -m 644 $files/copyright $out/kiipush.cdx.json $shared/doc/kiipush/
    changelog | sed "1s/(.*)/($1)/" >$shared/doc/kiipush/changelog
    gzip -9n $shared/man/man1/* $shared/doc/kiipush/changelog
    install $files/{postinst,prerm,postrm} $root/DEBIAN/
    (cd $root && find etc -type f -printf '/%p\n' | sort >DEBIAN/conffiles)
    (cd $root && find lib usr -type f -print0 | sort -z | xargs -0 md5sum >DEBIAN/md5sums)
    # What it loads, with the oldest versions that have all symbols which it uses.
    mkdir -p $out/debian && printf 'Source: kiipush\n\nPackage: kiipush\nArchitecture: any\n' >$out/debian/control
    depends=$(cd $out && dpkg-shlibdeps -O root/usr/bin/kiipush | sed 's/^shlibs:Depends=//')
    cat >$root/DEBIAN/control <<END
Package: kiipush
Version: $1
Architecture: $arch
Maintainer: $maintainer
Installed-Size: $(find $root -path '*/DEBIAN' -prune -o -type f -printf '%s\n' | awk '{ n += int(($1 + 1023) / 1024) } END { print n }')
Depends: $depends, adduser
Section: net
Priority: optional
Description: receiver of Kii push notifications
 An agent that receives push messages of Kii from an MQTT broker or a socket,
 drops duplicates, stops loops, and runs the programs that a file of rules
 names.
 .
 The tool also inspects payloads, tests rules, and sends messages.
END
    dpkg-deb --root-owner-group -Zxz --build $root "$2" >/dev/null
}

mkdir -p $out
swift build --quiet "${build[@]}"
built=$(swift build "${build[@]}" --show-bin-path)/kiipush
# A section of hashes that nothing reads, of command lines that name the folder. Without it, GNU's tools would drop the
# segment of the tables, so it becomes zeros.
objcopy --dump-section .swift_modhash=$out/hashes "$built" /dev/null
dd if=/dev/zero of=$out/hashes bs="$(stat -c %s $out/hashes)" count=1 status=none
objcopy --strip-all --update-section .swift_modhash=$out/hashes "$built" $out/kiipush
[ "$($out/kiipush --version)" = "kiipush $version" ] || fail "'kiipush --version' does not print 'kiipush $version'"
python3 Tests/Debian/sbom.py $out/kiipush $out/link.map "$version" >$out/kiipush.cdx.json
pack "$version" "$deb"
lintian --allow-root --fail-on error --display-level '>=warning' --tag-display-limit 0 "$deb"
systemd-analyze security --offline=true --threshold=15 Tests/Debian/kiipush.service | tail -n 1
echo "$deb: $(du -b "$deb" | cut -f1) bytes; depends on $depends"
[ "$arch" = arm64 ] || echo "arm64: not built, no toolchain for it is here; on a machine of that architecture this script builds it"

[ "${1:-}" = --try ] || exit 0
[ "$(id -u)" -eq 0 ] || fail "--try needs root, for debootstrap and chroot"

# MARK: the same bytes in another folder

other=$(mktemp -d)
trap 'rm -rf "$other"' EXIT
mkdir "$other/sources"
git ls-files -coz --exclude-standard | tar -c --null -T - | tar -x -C "$other/sources"
bash "$other/sources/Tests/package.sh" >"$other/log" 2>&1 || { cat "$other/log"; fail "it cannot be built in another folder"; }
cmp "$deb" "$other/sources/$deb" || fail "built in another folder, the package has other bytes"
echo "built in $other/sources: the same bytes"

# MARK: on a clean Debian 12

base=$out/debian12 tree=$PWD/$out/tree
if [ ! -e $base/usr/bin/systemctl ]; then
    rm -rf $base
    debootstrap --variant=minbase --include=systemd bookworm $base http://deb.debian.org/debian >$out/debootstrap.log ||
        fail "no Debian 12: see $out/debootstrap.log"
fi
rm -rf "$tree" && cp -a $base "$tree"

# Each command gets a /proc; it takes the place of the shell that starts it, so that a signal reaches it.
enter=(unshare --mount sh -c 'mount -t proc proc "$0/proc" && exec chroot "$0" "$@"' "$tree")
as_agent=("${enter[@]}" setpriv --reuid kiipush --regid kiipush --init-groups)
kiipush() { "${as_agent[@]}" kiipush "$@" --state /var/lib/kiipush; }
apt() {
    "${enter[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -y -qq "$@" </dev/null >$out/apt.log 2>&1 ||
        { cat $out/apt.log; fail "apt-get $* failed in $tree"; }
}

# All in the tree that stays over a restart, but the records of dpkg and apt; and its users.
listing() {
    (cd "$tree" && find . \( -path ./var/lib/dpkg -o -path ./var/lib/apt -o -path ./var/cache -o -path ./var/log -o -path ./proc -o -path ./run \) \
        -prune -o ! -path './etc/*-' -printf '%p %l\n' | sort && cat etc/passwd etc/group etc/shadow)
}

agent=""
trap '[ -z "$agent" ] || kill "$agent"; rm -rf "$other"' EXIT
# Starts an agent as its unit does, and waits until its status answers.
start() {
    "${enter[@]}" install -d -o kiipush -g kiipush -m 700 /var/lib/kiipush /run/kiipush
    "${as_agent[@]}" env STATE_DIRECTORY=/var/lib/kiipush sh -c \
        '. /etc/default/kiipush; exec kiipush receive --rules /etc/kiipush/rules.json $KIIPUSH_OPTIONS' >$out/agent.log 2>&1 &
    agent=$!
    local tries=100
    until kiipush status >$out/status.txt 2>&1; do
        [ $((tries -= 1)) -gt 0 ] || { cat $out/agent.log $out/status.txt; fail "no healthy agent answers"; }
        sleep 0.1
    done
    grep -q "^agent $agent, kiipush $version: healthy" $out/status.txt || { cat $out/status.txt; fail "another agent answers"; }
}
stop() {
    kill "$agent" && wait "$agent" || { cat $out/agent.log; fail "the agent did not stop cleanly"; }
    agent=""
}
# What must stay: dead letters, kills without the time that they have left, and rules.
contents() {
    kiipush dead-letters list --format json 2>/dev/null
    kiipush kill --list | sed -n 's/^\(.* is off until .*\), for .*/\1/p'
    cat "$tree/etc/kiipush/rules.json"
}

apt update
before=$(listing)
"${enter[@]}" dpkg-query -W -f='${Installed-Size} ${Package}\n' >$out/packages.txt
cp "$deb" "$tree/kiipush.deb"
apt install --no-install-recommends /kiipush.deb
rm "$tree/kiipush.deb"
echo "installed on Debian $(cat "$tree/etc/debian_version")"

"${enter[@]}" systemd-analyze verify --man=no kiipush.service || fail "the unit is not well-formed"
[ -L "$tree/etc/systemd/system/multi-user.target.wants/kiipush.service" ] || fail "the unit is not enabled"
if "${enter[@]}" ldd /usr/bin/kiipush | grep 'not found'; then fail "a library is missing"; fi
python3 Tests/Debian/sizes.py "$tree" $out/packages.txt

# A message that fails and a kill: what an upgrade must keep, beside the rules as somebody has changed them.
echo '{"version": 1, "rules": [{"id": "lamp", "then": {"run": ["false"]}, "delivery": {"attempts": 1}}]}' >"$tree/etc/kiipush/rules.json"
start
python3 Samples/UnixSocket/push.py "$tree/run/kiipush/push.sock" '{"bucketID":"settings","objectScopeType":"APP","when":1}' >/dev/null
kiipush kill lamp --for 1d >/dev/null
stop
start
kept=$(contents)
[ "$(wc -l <<<"$kept")" = 3 ] || fail "the agent has not kept its dead letter and its kill: $kept"
stop
pack "$version+next" "$tree/next.deb"
"${enter[@]}" dpkg --force-confold -i /next.deb >$out/dpkg.log 2>&1 || { cat $out/dpkg.log; fail "it cannot be upgraded"; }
rm "$tree/next.deb"
start
diff <(echo "$kept") <(contents) || fail "an upgrade does not keep the state"
stop
echo "upgraded: dead letter, kill and rules are kept"

apt purge kiipush
# What came with it goes too, so that the tree is as it was.
apt autoremove --purge
diff <(echo "$before") <(listing) || fail "a purge leaves something, or takes too much"
echo "purged: nothing is left"
