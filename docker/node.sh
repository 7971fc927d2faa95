#!/bin/sh
# Entrypoint of a node: runs the given command under the shim. The state of the clock is
# made anew at each start, so that a restarted node shows the true time again. The record
# of what was synced goes on: a restart syncs nothing.
set -eu
PICKLOCK_CLOCK=${PICKLOCK_CLOCK:-/run/picklock/clock}
PICKLOCK_SYNCED=${PICKLOCK_SYNCED:-/run/picklock/synced}
picklock-clock "$PICKLOCK_CLOCK" reset
export PICKLOCK_CLOCK PICKLOCK_SYNCED
# env sets the preload for the server alone: this shell and tools run by "docker exec"
# keep the true clock.
exec env LD_PRELOAD=/usr/local/lib/picklock/picklock.so "$@"
