#!/bin/sh
# Makes a base image from Debian's packages, for machines that reach a Debian mirror but
# no container registry.
#
#   base.sh NAME:TAG [SUITE]    makes the image with "docker import"
#   base.sh --tar [SUITE]       writes its file system as a tar to standard output instead
#
# SUITE is a release that debootstrap knows, by default bookworm (Debian 12). It takes about half a minute, needs root (debootstrap runs in a chroot) and installs
# debootstrap with apt-get where it is missing. PICKLOCK_DEBIAN_MIRROR names a mirror;
# without it debootstrap takes its own default. It says what it does on standard error,
# and removes its working directory however it ends.
set -eu

keyring=/usr/share/keyrings/debian-archive-keyring.gpg

say() { printf '%s\n' "base.sh: $*" >&2; }
die() { say "$*"; exit 1; }

{ [ $# -eq 1 ] || [ $# -eq 2 ]; } && [ -n "$1" ] || die "usage: base.sh NAME:TAG|--tar [SUITE]"
target=$1
suite=${2:-bookworm}
if [ "$target" != --tar ]; then
    command -v docker >/dev/null || die "the docker command is missing: use --tar and import its output"
fi

[ "$(id -u)" -eq 0 ] || die "must run as root: debootstrap needs a chroot. Run it with sudo, or pull debian:$suite-slim"
if ! command -v debootstrap >/dev/null || [ ! -e "$keyring" ]; then
    command -v apt-get >/dev/null || die "debootstrap or Debian's keyring is missing and so is apt-get: install debootstrap and debian-archive-keyring"
    say "installing debootstrap"
    { apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
        debootstrap debian-archive-keyring; } >&2 || die "cannot install debootstrap"
fi

work=$(mktemp -d "${TMPDIR:-/var/tmp}/picklock-base.XXXXXX")
cleanup() {
    # An interrupted debootstrap leaves its mounts behind: never delete through one.
    for m in proc/sys/fs/binfmt_misc proc sys dev/pts dev; do
        umount "$work/root/$m" 2>/dev/null || :
    done
    rm -rf --one-file-system "$work"
}
trap cleanup EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

say "making a base of Debian $suite from ${PICKLOCK_DEBIAN_MIRROR:-debootstrap's default mirror}"
mkdir "$work/root"
debootstrap --variant=minbase --force-check-gpg --keyring="$keyring" "$suite" "$work/root" \
    ${PICKLOCK_DEBIAN_MIRROR:+"$PICKLOCK_DEBIAN_MIRROR"} >"$work/log" 2>&1 || {
    tail -n 20 "$work/log" >&2
    [ ! -e "$work/root/debootstrap/debootstrap.log" ] || tail -n 5 "$work/root/debootstrap/debootstrap.log" >&2
    die "debootstrap failed (set PICKLOCK_DEBIAN_MIRROR to a mirror that can be reached)"
}

# What an image has no use for: package caches, documents, translations, host identity.
rm -rf "$work/root"/var/cache/apt/archives/*.deb "$work/root"/var/lib/apt/lists/* \
    "$work/root"/usr/share/doc/* "$work/root"/usr/share/man/* "$work/root"/usr/share/locale/* \
    "$work/root"/var/log/*.log
: >"$work/root/etc/hostname"
: >"$work/root/etc/resolv.conf"

if [ "$target" = --tar ]; then
    say "writing the file system"
    tar -C "$work/root" --numeric-owner --one-file-system -cf - .
else
    say "importing $target"
    # Not a pipe: sh would report only the status of its last command.
    tar -C "$work/root" --numeric-owner --one-file-system -cf "$work/root.tar" .
    docker import --change 'CMD ["bash"]' "$work/root.tar" "$target" >&2
fi
