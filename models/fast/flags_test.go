package fast

import "flag"

var histories = flag.Int("histories", 20000, "how many random histories each checker is compared with porcupine on")
