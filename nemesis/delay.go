package nemesis

import (
	"time"

	"picklock/nemesis/wire"
)

// delayReply lets a reply arrive late: after the TTL, a grant is over when its client
// learns of it.
func delayReply() Kind {
	return frameKind(Kind{
		Name:    "delay-reply",
		Summary: "the reply of a step arrives late (param by)",
		On:      "after acquire",
		Params:  []Param{delayBy()},
		Lasts:   delayLasts,
	}, wire.Reply, delay)
}

// delayRequest lets a request arrive late, also when its client has given up by then: it
// is carried out in a world in which nobody expects it.
func delayRequest() Kind {
	return frameKind(Kind{
		Name:    "delay-request",
		Summary: "the request of a step arrives late (param by), even if its client has given up by then",
		On:      "before acquire",
		Params:  []Param{delayBy()},
		Lasts:   delayLasts,
	}, wire.Request, delay)
}

func delayBy() Param {
	return Param{Name: "by", Default: "1.2ttl", Summary: "how late: 300ms, 1.5ttl", Check: isPause}
}

// delayLasts is the time in which a frame that was delayed by the default arrives.
func delayLasts(ttl time.Duration, _ float64) time.Duration { return ttl + ttl/4 }

func delay(w World, p Planned) (wire.Verdict, error) {
	by, err := readSpan(p.With["by"], w.TTL)
	return wire.Verdict{Delay: by}, err
}
