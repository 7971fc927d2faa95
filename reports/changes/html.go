package changes

import (
	"bytes"
	_ "embed" // the style of the pages
	"fmt"
	"html/template"
	"io"

	"picklock/harness/compare"
)

//go:embed page.css
var style string

// frame is what all pages have around what they show.
const frame = `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8"/>
<meta name="viewport" content="width=device-width, initial-scale=1"/>
<meta name="color-scheme" content="light dark"/>
<title>{{.Title}}</title>
<style>{{.Style}}</style>
</head>
<body>
<main>
{{template "shown" .}}</main>
</body>
</html>
`

const differencePage = `<header class="exit{{.D.Exit}}">
<h1>{{.Word}}</h1>
<p>{{.Rest}}</p>
<p class="muted">{{.Compared}}</p>
</header>
{{with .D.About}}<section><h2>Not the same on both sides</h2><ul>{{range .}}<li>{{plain .}}</li>{{end}}</ul></section>
{{end}}{{range .Kinds}}<section class="{{.Severity}}">
<h2>{{.Symbol}} {{.Kind}} <span class="muted">{{len .Items}}{{if .More}} of {{more .}}{{end}}</span></h2>
<table>
<thead><tr><th>cell</th><th>about</th><th>what</th></tr></thead>
<tbody>
{{range .Items}}<tr><td>{{if .Cell}}{{plain .Cell}}{{else}}the matrix{{end}}</td><td>{{about .}}</td><td>{{plain .Says}}{{if evidence .}}
<details><summary>{{with .Seed}}seed {{.}}{{else}}a run that shows it{{end}}</summary>
{{with .Story}}<ol>{{range .}}<li>{{plain .}}</li>{{end}}</ol>{{end}}{{with .Dir}}<p class="muted">in the store: {{plain .}}</p>{{end}}{{with .Rerun}}<pre>{{plain .}}</pre>{{end}}
</details>{{end}}</td></tr>
{{end}}</tbody>
</table>
</section>
{{end}}{{with .D.Machine}}<section><h2>All cells together</h2><ul>{{range .}}<li>{{shift .}}</li>{{end}}</ul><p class="muted">{{$.Wholesale}}</p></section>
{{end}}{{with .D.Notes}}<section><h2>To know</h2><ul>{{range .}}<li>{{plain .}}</li>{{end}}</ul></section>
{{end}}`

// HTML writes a difference as one page that needs no other file and runs no script.
func HTML(w io.Writer, d *compare.Difference) error {
	word, rest := headline(d)
	return fill(w, "difference", differencePage, map[string]any{
		"Title": word + ": " + plain(d.B.Name), "Word": word, "Rest": rest, "Compared": compared(d), "D": d, "Kinds": kinds(d), "Wholesale": wholesale,
	})
}

// fill writes a page, what it shows within the frame, as a whole or not at all.
func fill(w io.Writer, name, shown string, data map[string]any) error {
	t, err := template.New(name).Funcs(template.FuncMap{
		"plain": func(v string) string { return plain(v) },
		"about": func(i compare.Item) string { return plain(about(&i)) },
		"more":  func(k kind) int { return len(k.Items) + k.More },
		"shift": shift,
		"evidence": func(i compare.Item) bool {
			return i.Severity != compare.Note && (len(i.Story) > 0 || i.Rerun != "" || i.Dir != "")
		},
	}).Parse(frame)
	if err == nil {
		_, err = t.New("shown").Parse(shown)
	}
	if err != nil {
		return fmt.Errorf("the page of the %s: %w", name, err)
	}
	data["Style"] = template.CSS(style) // a file of this package
	var page bytes.Buffer
	if err := t.Execute(&page, data); err != nil {
		return fmt.Errorf("the page of the %s: %w", name, err)
	}
	if _, err := page.WriteTo(w); err != nil {
		return fmt.Errorf("print the %s: %w", name, err)
	}
	return nil
}
