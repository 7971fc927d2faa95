package fast

import "flag"

var histories = flag.Int("histories", 20000, "random histories per model in the differential tests")
