package harness

// StepOf names the steps of messages on the wire.
var StepOf = stepOf
