#!/bin/sh
# Entrypoint of a node: runs the given command under the clock shim. The state file is
# made anew at each start, so that a restarted node shows the true time again.
set -eu
PICKLOCK_CLOCK=${PICKLOCK_CLOCK:-/run/picklock/clock}
picklock-clock "$PICKLOCK_CLOCK" reset
export PICKLOCK_CLOCK
# env sets the preload for the server alone: this shell and tools run by "docker exec"
# keep the true clock.
exec env LD_PRELOAD=/usr/local/lib/picklock/clock.so "$@"
