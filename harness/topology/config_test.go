package topology

import (
	"strings"
	"testing"
	"time"
)

func TestConfigOf(t *testing.T) {
	p := Plan{
		Run: "run", DownAfter: 500 * time.Millisecond, FailoverTimeout: 3 * time.Second,
		Nodes: Failover(2, "lock", PersistEverysec),
	}
	p.Nodes[0].Args = []string{"--maxmemory", "64mb", "--client-output-buffer-limit", "normal", "0", "0", "0", "--masterauth", `say "\`}
	sites := map[string]site{}
	for i, n := range p.Nodes {
		ip := "127.0.0." + string(rune('1'+i))
		sites[n.Name] = site{bind: ip, ip: ip, from: ip, port: "6379", dir: "/data/" + n.Name}
	}
	common := func(ip, name string) string {
		return strings.NewReplacer("IP", ip, "NAME", name).Replace(`bind "IP"
port "6379"
dir "/data/NAME"
protected-mode "no"
daemonize "no"
set-proc-title "no"
bind-source-addr "IP"
`)
	}
	for name, want := range map[string]string{
		"lock-1": common("127.0.0.1", "lock-1") + `save ""
appendonly "yes"
appendfsync "everysec"
repl-diskless-sync-delay "0"
maxmemory "64mb"
client-output-buffer-limit "normal" "0" "0" "0"
masterauth "say \"\\"
`,
		"lock-3": common("127.0.0.3", "lock-3") + `save ""
appendonly "yes"
appendfsync "everysec"
repl-diskless-sync-delay "0"
replicaof "127.0.0.1" "6379"
`,
		"sentinel-2": common("127.0.0.5", "sentinel-2") + `sentinel myid "ID2"
sentinel announce-ip "127.0.0.5"
sentinel announce-port "6379"
sentinel monitor "picklock" "127.0.0.1" "6379" "2"
sentinel down-after-milliseconds "picklock" "500"
sentinel failover-timeout "picklock" "3000"
sentinel parallel-syncs "picklock" "2"
sentinel known-replica "picklock" "127.0.0.2" "6379"
sentinel known-replica "picklock" "127.0.0.3" "6379"
sentinel known-sentinel "picklock" "127.0.0.4" "6379" "ID1"
sentinel known-sentinel "picklock" "127.0.0.6" "6379" "ID3"
`,
	} {
		spec, _ := p.spec(name)
		for i, id := range []string{"ID1", "ID2", "ID3"} {
			s, _ := p.spec("sentinel-" + string(rune('1'+i)))
			want = strings.ReplaceAll(want, id, sentinelID(p, s))
		}
		if got := configOf(p, spec, sites); got != want {
			t.Errorf("configuration of %s: got\n%s\nwant\n%s", name, got, want)
		}
	}
}
