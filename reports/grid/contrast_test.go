package grid_test

import (
	"fmt"
	"math"
	"os"
	"regexp"
	"strings"
	"testing"

	"picklock/reports"
)

// luminance of a colour "#rrggbb", as WCAG 2 defines it.
func luminance(t *testing.T, hex string) float64 {
	t.Helper()
	var c [3]int
	if _, err := fmt.Sscanf(hex, "#%02x%02x%02x", &c[0], &c[1], &c[2]); err != nil {
		t.Fatalf("%q is not a colour: %v", hex, err)
	}
	var l float64
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		v := float64(c[i]) / 255
		if v <= 0.04045 {
			v /= 12.92
		} else {
			v = math.Pow((v+0.055)/1.055, 2.4)
		}
		l += weight * v
	}
	return l
}

func contrast(t *testing.T, a, b string) float64 {
	t.Helper()
	x, y := luminance(t, a), luminance(t, b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

// enough is what WCAG 2 AA asks of text.
const enough = 4.5

// TestContrastOfThePage: every mark and every text is legible in light and in dark.
func TestContrastOfThePage(t *testing.T) {
	style, err := reports.Style()
	if err != nil {
		t.Fatal(err)
	}
	own, err := os.ReadFile("assets/matrix.css")
	if err != nil {
		t.Fatal(err)
	}
	variable := regexp.MustCompile(`--([a-z-]+): (#[0-9a-f]{6});`)
	root := regexp.MustCompile(`(?s)(@media \(prefers-color-scheme: dark\) \{\s*)?:root \{(.*?)\}`)
	light, dark := map[string]string{}, map[string]string{}
	for _, m := range root.FindAllStringSubmatch(style+string(own), -1) {
		for _, v := range variable.FindAllStringSubmatch(m[2], -1) {
			if m[1] == "" {
				light[v[1]] = v[2]
			} else {
				dark[v[1]] = v[2]
			}
		}
	}
	for name, colours := range map[string]map[string]string{"light": light, "dark": dark} {
		for _, pair := range []string{
			"good on good-card", "weak on weak-card", "doubt on doubt-card", "breach on breach-card", "on-breach on breach", "text on paper", "muted on paper",
			"link on paper", "weak on paper", "doubt on paper", "breach on paper", "text on card", "text on breach-card", "muted on breach-card", "muted on good-card",
			"muted on doubt-card",
		} {
			front, back, _ := strings.Cut(pair, " on ")
			if got := contrast(t, colours[front], colours[back]); got < enough {
				t.Errorf("%s: %s has a contrast of %.2f, want %v", name, pair, got, enough)
			}
		}
	}
}

// TestContrastOfThePicture: the same of the picture for READMEs.
func TestContrastOfThePicture(t *testing.T) {
	source := string(written(t, forms()[5], ladder()))
	_, source, _ = strings.Cut(source, "<style>")
	source, _, _ = strings.Cut(source, "</style>")
	light, dark, ok := strings.Cut(source, "@media (prefers-color-scheme: dark) {")
	if !ok {
		t.Fatal("there is no dark picture")
	}
	rule := regexp.MustCompile(`([.\w, -]+) \{[^}]*?fill: (#[0-9a-f]{6})`)
	for name, css := range map[string]string{"light": light, "dark": dark} {
		fill := map[string]string{}
		for _, m := range rule.FindAllStringSubmatch(css, -1) {
			for _, selector := range strings.Split(m[1], ",") {
				fill[strings.TrimSpace(selector)] = m[2]
			}
		}
		pairs := [][2]string{{"text", ".paper"}, {".quiet", ".paper"}}
		for _, class := range []string{"held", "weak", "vacuous", "unknown", "missed", "error", "bad"} {
			pairs = append(pairs, [2]string{".t-" + class, "." + class})
		}
		for _, p := range pairs {
			if got := contrast(t, fill[p[0]], fill[p[1]]); got < enough {
				t.Errorf("%s: %s on %s has a contrast of %.2f, want %v", name, p[0], p[1], got, enough)
			}
		}
	}
}
