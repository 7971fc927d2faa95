#!/bin/sh
# Compiles the shim into the folder OUT: picklock.so, to be preloaded into a server, and
# picklock-clock, which moves its clock.
#
#   build.sh OUT
set -eu
[ $# -eq 1 ] || { echo "usage: build.sh OUT" >&2; exit 2; }
src=$(dirname "$0")
mkdir -p "$1"
cc -std=gnu11 -O2 -Wall -Wextra -fPIC -shared -o "$1/picklock.so" "$src/clock.c" "$src/sync.c"
cc -std=gnu11 -O2 -Wall -Wextra -o "$1/picklock-clock" "$src/clockset.c"
