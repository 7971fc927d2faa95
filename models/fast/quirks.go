package fast

type quirk uint32

var planted quirk
