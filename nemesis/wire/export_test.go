package wire

// ErrProtocol and ErrUnasked are what a connection is given up for.
var (
	ErrProtocol = errProtocol
	ErrUnasked  = errUnasked
	ErrUpset    = errUpset
)

// The bounds of the parser.
const (
	MaxDepth   = maxDepth
	MaxBulk    = maxBulk
	MaxInline  = maxInline
	MaxWaiting = maxWaiting
)

// Scanned is what a scanner made of bytes.
type Scanned struct {
	Frames [][]byte
	Rest   []byte
	Err    error
}

// Scan feeds a scanner with the pieces of a stream.
func Scan(requests bool, pieces [][]byte) (s Scanned) {
	scan := scanner{requests: requests}
	for _, piece := range pieces {
		for len(piece) > 0 && s.Err == nil {
			n, ended, err := scan.scan(piece)
			s.Rest = append(s.Rest, piece[:n]...)
			piece = piece[n:]
			if s.Err = err; ended {
				s.Frames = append(s.Frames, s.Rest)
				s.Rest = nil
			}
		}
		s.Rest = append(s.Rest, piece...)
	}
	return s
}

// ReadRequest reads name, script and key from a request.
func ReadRequest(raw []byte) (c Command, key string, known bool) {
	var r request
	known = r.read(raw)
	return r.Command, r.key, known
}

// Label is what a reply was called.
type Label struct {
	Name, Script, Key string
	Push              bool
}

// Pairing pairs requests and replies.
type Pairing struct{ p pairing }

// Request notes a request.
func (p *Pairing) Request(raw []byte) {
	var r request
	r.read(raw)
	p.p.request(&r)
}

// Reply labels a reply.
func (p *Pairing) Reply(raw []byte) (Label, error) {
	l, err := p.p.reply(raw)
	return Label{l.Name, l.Script, l.key, l.push}, err
}

// End is one end of a connection.
type End = end

// Carry carries a connection of client 0 to "node" until both of its ends have ended.
func (p *Proxy) Carry(near, far End) {
	c := newConn(p, near, 0, "node")
	c.far = far
	c.carry()
	c.close()
}
