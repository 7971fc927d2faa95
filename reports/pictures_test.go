package reports_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"picklock/models"
	"picklock/reports"
)

// naive is a mutex whose states and metadata say what they are told, hostile or not.
func naive(word string) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return "" },
		Step: func(state, input, _ any) (bool, any) {
			if input == "acquire" {
				return state == "", "held"
			}
			return state == "held", ""
		},
		DescribeOperation:         func(input, _ any) string { return fmt.Sprint(input) },
		DescribeState:             func(state any) string { return word + fmt.Sprint(state) },
		DescribeOperationMetadata: func(any) string { return word },
	}
}

func TestPorcupinePictures(t *testing.T) {
	const evil = `<img src=x onerror=alert(3)>`
	p := usual()
	h := p.record(t)
	r := result(t, p, h)
	m := naive(evil)
	_, info := porcupine.CheckOperationsVerbose(m, []porcupine.Operation{
		{ClientId: 0, Input: "acquire", Call: second(1), Return: second(2)},
		{ClientId: 1, Input: "acquire", Call: second(3), Return: second(4)},
	}, time.Second)
	j := &models.Judgement{Verdict: models.Violated, Count: 1, Pictures: []models.Picture{
		{Object: "../../lock:sku 0", Model: m, Info: info}, {Object: "../../lock:sku 0", Model: m, Info: info}}}
	r.Properties[models.LinearizableLock] = j
	dir := t.TempDir()
	if err := reports.Write(dir, r, h); err != nil {
		t.Fatal(err)
	}
	report, err := os.ReadFile(filepath.Join(dir, reports.ReportFile))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"porcupine-linearizable-lock-lock-sku-0.html", "porcupine-linearizable-lock-lock-sku-0-2.html"} {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatalf("the picture is not in the folder under a safe name: %v", err)
		}
		if !strings.Contains(string(report), `href="`+name+`"`) {
			t.Errorf("the report has no link to %s", name)
		}
		for _, want := range []string{`"Tag":"F1 pause-client"`, `"Tag":"F2 kill-client"`, `"Tag":"death 1"`, "process 4711 is in state T"} {
			if !strings.Contains(string(b), want) {
				t.Errorf("%s lacks %s: faults and deaths explain a picture", name, want)
			}
		}
		// Porcupine's page puts states and metadata into its tooltips as HTML; JSON writes < as \u003c.
		if strings.Contains(string(b), `\u003cimg`) || !strings.Contains(string(b), `\u0026lt;img`) {
			t.Errorf("%s: hostile states are not escaped for the tooltips", name)
		}
	}
}

// TestPictureThatPanics: porcupine panics where a model is not a function of its input. The report is written all the same.
func TestPictureThatPanics(t *testing.T) {
	p := usual()
	h := p.record(t)
	r := result(t, p, h)
	_, info := porcupine.CheckOperationsVerbose(naive(""), []porcupine.Operation{
		{ClientId: 0, Input: "acquire", Call: 1, Return: 2}, {ClientId: 0, Input: "release", Call: 3, Return: 4}}, time.Second)
	never := naive("")
	never.Step = func(state, _, _ any) (bool, any) { return false, state }
	r.Properties[models.LinearizableLock] = &models.Judgement{Verdict: models.Violated, Count: 1,
		Pictures: []models.Picture{{Object: "lock", Model: never, Info: info}}}
	dir := t.TempDir()
	if err := reports.Write(dir, r, h); err == nil || !strings.Contains(err.Error(), "lock") {
		t.Errorf("Write: %v, want it to say which picture is missing", err)
	}
	report, err := os.ReadFile(filepath.Join(dir, reports.ReportFile))
	if err != nil || !strings.Contains(string(report), "Violated:") {
		t.Errorf("no report although only a picture failed: %v", err)
	}
	left, _ := filepath.Glob(filepath.Join(dir, "porcupine-*"))
	if len(left) > 0 || strings.Contains(string(report), "porcupine-linearizable-lock") {
		t.Errorf("a picture that failed is left or linked: %v", left)
	}
}
