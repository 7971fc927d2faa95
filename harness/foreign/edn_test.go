package foreign_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"picklock/harness/foreign"
)

func read(t *testing.T, format foreign.Format, text string) *foreign.History {
	t.Helper()
	h, err := foreign.Read(strings.NewReader(text), "a file", format)
	if err != nil {
		t.Fatalf("read %s: %v", text, err)
	}
	return h
}

// show gives an operation in a line.
func show(h *foreign.History) string {
	var b strings.Builder
	for _, o := range h.Ops {
		fmt.Fprintf(&b, "%s %s %s>%s %s", o.Process, o.F, o.Invoked, o.Completed, o.Outcome)
		if o.Key != "" {
			fmt.Fprintf(&b, " key %s", o.Key)
		}
		if o.Error != "" {
			fmt.Fprintf(&b, " error %s", o.Error)
		}
		if o.Client != "" {
			fmt.Fprintf(&b, " client %s", o.Client)
		}
		fmt.Fprintf(&b, " lines %d-%d\n", o.Line, o.EndLine)
	}
	return b.String()
}

func TestReadEDN(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"a map a line": {`{:process 0, :type :invoke, :f :read, :value nil}
{:process 0, :type :ok, :f :read, :value 3}
`, "0 read nil>3 ok lines 1-2\n"},
		"a vector, an operation over several lines, comments, no commas": {`; a comment
[{:type :invoke :f :cas
  :value [0 1] ; {another}
  :process 7}
 #_{:type :what}
 {:type :fail, :f :cas, :process 7 #_ :value :value (0 1) :error [:no "}"]}]
; the end`, "7 cas [0 1]>[0 1] fail error [:no \"}\"] lines 2-6\n"},
		"a list":        {`({:process 1 :type :invoke :f :write :value 2})`, "1 write 2>nil info lines 1-0\n"},
		"tagged":        {"#jepsen.history.Op{:index 0, :time 5, :type :invoke, :process 1, :f :acquire, :value nil}\n#jepsen.history.Op {:index 1, :time 6, :type :info, :process 1, :f :acquire, :value nil, :error :timeout}", "1 acquire nil>nil info error :timeout lines 1-2\n"},
		"the nemesis":   {"{:process :nemesis, :type :info, :f :start, :value #object[x]}\n{:process 1 :type :invoke :f :read}", "1 read nil>nil info lines 2-0\n"},
		"values":        {`{:process 1 :type :invoke :f :write :value {:b #{3 1} , :a (1N "x\ty\u0041") :c #inst "2020"}}`, `1 write {:a [1 "x\tyA"] :b #{1 3} :c #inst "2020"}>nil info lines 1-0` + "\n"},
		"big numbers":   {`{:process 1 :type :invoke :f :write :value [123456789012345678901234567890 +5 -0 7N 1.50 true nil]}`, "1 write [123456789012345678901234567890 5 0 7 1.5 true nil]>nil info lines 1-0\n"},
		"a client":      {`{:process 1 :type :invoke :f :acquire :value "u"} {:process 1 :type :fail :f :acquire :value "u" :debug {:client "c" :uid "u"}}`, "1 acquire \"u\">\"u\" fail client \"c\" lines 1-1\n"},
		"not EDN there": {`{:process 1 :type :invoke :f :read :error #object[java.Foo 0x1f "x"] :more #"re.*"}`, "1 read nil>nil info lines 1-0\n"},
		"a message of a client": {`{:process 1 :type :info :f :crash} {:process 1 :type :invoke :f :read} {:process 1 :type :info :f :crash}`,
			"1 read nil>nil info lines 1-1\n"},
		"a key":               {`{:process 1, :type :invoke, :f :put, :key "3", :value "x"}`, "1 put \"x\">nil info key \"3\" lines 1-0\n"},
		"a process again":     {`{:process 1 :type :invoke :f :read} {:process 1 :type :info :f :read} {:process 1 :type :invoke :f :read}`, "1 read nil>nil info lines 1-1\n1 read nil>nil info lines 1-0\n"},
		"a byte order mark":   {"\xEF\xBB\xBF{:process 1 :type :invoke :f :read}", "1 read nil>nil info lines 1-0\n"},
		"nothing":             {"", ""},
		"nothing in brackets": {" [ ; empty\n]", ""},
	} {
		h, err := foreign.Read(strings.NewReader(c.text), "a file", foreign.EDN)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := show(h); got != c.want {
			t.Errorf("%s: got\n%swant\n%s", name, got, c.want)
		}
	}
}

// What is malformed is told in one line that names file, line and reason.
func TestReadRefuses(t *testing.T) {
	invoke := "{:process 0, :type :invoke, :f :read, :value nil}\n"
	log := "INFO  jepsen.util - 0\t:invoke\t:read\tnil\n"
	object := `{"process":0,"type":"invoke","f":"read"}` + "\n"
	for name, c := range map[string]struct {
		format foreign.Format
		text   string
		line   int
		reason string
	}{
		"a completion of nobody":       {foreign.EDN, invoke + "{:process 1, :type :ok, :f :read, :value 3}", 2, "did not invoke"},
		"an info of nobody":            {foreign.EDN, invoke + "{:process 1, :type :info, :f :read, :value 3}", 2, "did not invoke"},
		"a completion twice":           {foreign.EDN, invoke + "{:process 0, :type :ok, :f :read, :value 3}\n{:process 0, :type :ok, :f :read, :value 3}", 3, "did not invoke"},
		"two under way":                {foreign.EDN, invoke + "\n" + invoke, 3, "has not ended"},
		"another operation completes":  {foreign.EDN, invoke + "{:process 0, :type :ok, :f :write, :value 3}", 2, "but invoked read on line 1"},
		"an unknown type":              {foreign.EDN, "{:process 0, :type :done, :f :read}", 1, "unknown :type done"},
		"no type":                      {foreign.EDN, "{:process 0, :f :read}", 1, "no :type"},
		"no process":                   {foreign.EDN, "{:type :ok, :f :read}", 1, "no :process"},
		"no f":                         {foreign.EDN, "{:process 1 :type :ok}", 1, "no :f"},
		"a type that is no keyword":    {foreign.EDN, `{:process 1 :type "ok"}`, 1, "not a keyword"},
		"a process that is none":       {foreign.EDN, "{:process :foo :type :invoke :f :read}", 1, "neither a number"},
		"a fraction of a process":      {foreign.EDN, "{:process 1.5 :type :invoke :f :read}", 1, "neither a number"},
		"a key twice":                  {foreign.EDN, "{:process 1 :type :invoke :type :ok :f :read}", 1, "twice"},
		"a key without a value":        {foreign.EDN, "{:process 1 :type :invoke :f}", 1, "no value"},
		"a map that has a key twice":   {foreign.EDN, "{:process 1 :type :invoke :f :write :value {1 2 1N 3}}", 1, "twice"},
		"an octal number":              {foreign.EDN, "{:process 1 :type :invoke :f :write :value 007}", 1, "not EDN"},
		"no EDN":                       {foreign.EDN, "{:process 1 :type :invoke :f :write :value 1/2}", 1, "not EDN"},
		"indices go back":              {foreign.EDN, "{:index 4 :process 1 :type :invoke :f :read}\n{:index 3 :process 1 :type :ok :f :read}", 2, "not in their order"},
		"a torn last line":             {foreign.EDN, invoke + "{:process 0, :type :o", 2, "it was cut"},
		"a torn string":                {foreign.EDN, invoke + "{:process 0, :type :ok :value \"a}\n", 2, "it was cut"},
		"a torn tag":                   {foreign.EDN, invoke + "#jepsen.hist", 2, "it was cut"},
		"a torn vector":                {foreign.EDN, "[" + invoke, 2, "within the vector of line 1"},
		"something behind the vector":  {foreign.EDN, "[]\n{:a 1}", 2, "follows the end"},
		"brackets that do not match":   {foreign.EDN, invoke + "{:process 0, :type :ok :value [1 2}", 2, "do not match"},
		"no map":                       {foreign.EDN, "INFO", 1, "wanted an operation"},
		"a set":                        {foreign.EDN, "#{1 2}", 1, "not a map"},
		"JSON":                         {foreign.EDN, `{"process":0,"type":"invoke","f":"read"}`, 1, "no :process"},
		"deep":                         {foreign.EDN, "{:process 1 :type :invoke :f :write :value " + strings.Repeat("[", 5000), 1, "nest deeper"},
		"deep tags":                    {foreign.EDN, strings.Repeat("#a ", 5000) + "{}", 1, "nest deeper"},
		"deep discards":                {foreign.EDN, "{" + strings.Repeat("#_", 5000) + "}", 1, "nest deeper"},
		"long":                         {foreign.EDN, "{:a \"" + strings.Repeat("x", 1<<21), 1, "longer than 1 MiB"},
		"a log's unknown f":            {foreign.Porcupine, log + "INFO  jepsen.util - 1\t:invoke\t:add\t1\n", 2, "unknown :f add"},
		"a log's unknown type":         {foreign.Porcupine, log + "INFO  jepsen.util - 1\t:start\t:read\tnil\n", 2, "unknown :type start"},
		"a log's other line":           {foreign.Porcupine, log + "WARN  jepsen.core - oh\n", 2, "no line of Jepsen's log"},
		"a log's torn line":            {foreign.Porcupine, log + "INFO  jepsen.util - 1\t:inv", 2, "it was cut"},
		"a log's line without its end": {foreign.Porcupine, log + "INFO  jepsen.util - 0\t:ok\t:read\t1", 2, "may be cut"},
		"a log's value":                {foreign.Porcupine, log + "INFO  jepsen.util - 1\t:invoke\t:cas\t[1 2\n", 2, "within a value"},
		"a log's two values":           {foreign.Porcupine, log + "INFO  jepsen.util - 1\t:invoke\t:cas\t1 2\n", 2, "something follows"},
		"a log's completion":           {foreign.Porcupine, "INFO  jepsen.util - 1\t:ok\t:read\t1\n", 1, "did not invoke"},
		"another key":                  {foreign.Porcupine, "{:process 0, :type :invoke, :f :get, :key \"4\", :value nil}\n{:process 0, :type :ok, :f :get, :key \"5\", :value \"\"}\n", 2, "of key \"5\""},
		"a torn line of JSON":          {foreign.JSONL, object + `{"process":0,"ty`, 2, "it was cut"},
		"a line that is no JSON":       {foreign.JSONL, object + "what\n", 2, "not a line of JSON"},
		"two objects in a line":        {foreign.JSONL, object + "{} {}\n", 2, "something follows"},
		"a misspelt field":             {foreign.JSONL, `{"proces":0}` + "\n", 1, "unknown field"},
		"JSON's unknown type":          {foreign.JSONL, `{"process":0,"type":"begin","f":"read"}`, 1, "unknown :type begin"},
		"JSON's completion":            {foreign.JSONL, object + `{"process":1,"type":"ok","f":"read"}`, 2, "did not invoke"},
		"JSON's deep value":            {foreign.JSONL, `{"process":1,"type":"invoke","f":"write","value":` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + "}", 1, "nest deeper"},
	} {
		_, err := foreign.Read(strings.NewReader(c.text), "a file", c.format)
		var e *foreign.Error
		if !errors.As(err, &e) {
			t.Errorf("%s: got error %v, want one that names file and line", name, err)
			continue
		}
		if e.File != "a file" || e.Line != c.line || !strings.Contains(e.Reason, c.reason) || strings.Contains(e.Error(), "\n") {
			t.Errorf("%s: got %q, want line %d and %q", name, e, c.line, c.reason)
		}
	}
}

// A file that was cut anywhere but between two lines is never read as if it were whole.
func TestCutFilesAreNoticed(t *testing.T) {
	text := map[foreign.Format]string{
		foreign.EDN:       "{:process 0, :type :invoke, :f :write, :value 12}\n{:process 0, :type :ok, :f :write, :value 12}\n",
		foreign.JSONL:     `{"process":0,"type":"invoke","f":"write","value":12}` + "\n" + `{"process":0,"type":"ok","f":"write","value":12}` + "\n",
		foreign.Porcupine: "INFO  jepsen.util - 0\t:invoke\t:write\t12\nINFO  jepsen.util - 0\t:ok\t:write\t12\n",
	}
	for format, whole := range text {
		for n := range len(whole) {
			_, err := foreign.Read(strings.NewReader(whole[:n]), "a file", format)
			lines := whole[:n] == "" || strings.HasSuffix(whole[:n], "}") || strings.HasSuffix(whole[:n], "\n")
			if lines != (err == nil) {
				t.Errorf("%s, cut to %q: got error %v", format, whole[:n], err)
			}
		}
	}
}

func TestReadOthers(t *testing.T) {
	for name, c := range map[string]struct {
		format     foreign.Format
		text, want string
	}{
		"etcd": {foreign.Porcupine, "INFO  jepsen.util - 3\t:invoke\t:cas\t[1 2]\nINFO  jepsen.util - 10 :invoke :read   nil\n" +
			"INFO  jepsen.util - :nemesis\t:info\t:start\tnil\r\nINFO  jepsen.util - 3\t:info\t:cas\t:timed-out\nINFO  jepsen.util - 10 :fail   :read   :timed-out\n",
			"3 cas [1 2]>nil info error :timed-out lines 1-4\n10 read nil>nil fail error :timed-out lines 2-5\n"},
		"key-value": {foreign.Porcupine, "{:process 0, :type :invoke, :f :append, :key \"0\", :value \"x 0 0 y\"}\n{:process 0, :type :ok, :f :append, :key \"0\", :value \"x 0 0 y\"}\n",
			"0 append \"x 0 0 y\">\"x 0 0 y\" ok key \"0\" lines 1-2\n"},
		"jsonl": {foreign.JSONL, `{"process":"a","type":"invoke","f":"acquire","key":"k","time":1.5,"note":"x","index":3}

{"process":"nemesis","type":"info","f":"kill"}
{"process":"a","type":"ok","f":"acquire","key":"k","value":{"fence":7,"client":"é\n"},"client":[1,1.5,null,true]}`,
			`"a" acquire nil>{:client "é\n" :fence 7} ok key "k" client [1 1.5 nil true] lines 1-4` + "\n"},
	} {
		if got := show(read(t, c.format, c.text)); got != c.want {
			t.Errorf("%s: got\n%swant\n%s", name, got, c.want)
		}
	}
	if _, err := foreign.Read(strings.NewReader(""), "a file", "xml"); err == nil {
		t.Error("an unknown format was read")
	}
}
