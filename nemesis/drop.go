package nemesis

import "picklock/nemesis/wire"

// dropReply lets a request be carried out, and swallows its reply: the client cannot know
// that it was. It hears nothing more on that connection and times out.
func dropReply() Kind {
	return frameKind(Kind{
		Name:    "drop-reply",
		Summary: "the reply of a step never arrives, although the step was done",
		On:      "after acquire",
	}, wire.Reply, drop)
}

// dropRequest swallows a request: the client waits for a reply in vain.
func dropRequest() Kind {
	return frameKind(Kind{
		Name:    "drop-request",
		Summary: "the request of a step never arrives, and is not answered",
		On:      "before release",
	}, wire.Request, drop)
}

func drop(World, Planned) (wire.Verdict, error) {
	return wire.Verdict{Action: wire.Discard}, nil
}
