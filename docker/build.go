package docker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/moby/moby/api/types/build"
	"github.com/moby/moby/api/types/jsonstream"
	"github.com/moby/moby/client"
)

// tailLines is how much of a failed build's output stands in the error.
const tailLines = 12

// build makes the node image. The classic builder is asked for: it is in every engine,
// while BuildKit wants a session that only the docker command opens.
func (b *builder) build(ctx context.Context, tag string, from source) error {
	b.report("building " + tag + " from " + from.image)
	began := time.Now()
	files, err := buildContext()
	if err != nil {
		return err
	}
	res, err := b.client.ImageBuild(ctx, files, client.ImageBuildOptions{
		Tags:        []string{tag},
		BuildArgs:   map[string]*string{"BASE": &from.image, "PACKAGES": &from.packages},
		Remove:      true,
		ForceRemove: true,
		Version:     build.BuilderV1,
	})
	if err != nil {
		return fmt.Errorf("build %s: %w", tag, err)
	}
	defer res.Body.Close()
	if err := b.follow(res.Body); err != nil {
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return fmt.Errorf("build %s: %w", tag, err)
	}
	b.report(fmt.Sprintf("built %s in %.0f s", tag, time.Since(began).Seconds()))
	b.dropStage(ctx)
	return nil
}

// follow reads a build's or import's stream to its end, reports its steps and returns
// its error together with the last lines before it.
func (b *builder) follow(stream io.Reader) error {
	var tail []string
	for dec := json.NewDecoder(stream); ; {
		var m jsonstream.Message
		if err := dec.Decode(&m); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("read the engine's answer: %w", err)
		}
		for line := range strings.SplitSeq(strings.TrimSpace(m.Stream), "\n") {
			if strings.HasPrefix(line, "Step ") {
				b.report("image: " + shortened(line))
			}
			if line != "" {
				tail = append(tail, line)
			}
		}
		tail = tail[max(0, len(tail)-tailLines):]
		if m.Error != nil {
			return fmt.Errorf("%s; the last lines were:\n%s", m.Error.Message, strings.Join(tail, "\n"))
		}
	}
}

// shortened fits a step into one line of a terminal.
func shortened(step string) string {
	step = strings.Join(strings.Fields(step), " ")
	if r := []rune(step); len(r) > 90 {
		return string(r[:87]) + "..."
	}
	return step
}

// dropStage removes the compiler's stage, some 340 MB that nothing needs any more. A
// failure costs space and nothing else, so it is only reported.
func (b *builder) dropStage(ctx context.Context) {
	_, err := b.client.ImagePrune(ctx, client.ImagePruneOptions{
		Filters: make(client.Filters).Add("dangling", "true").Add("label", "picklock.stage=shim"),
	})
	if err != nil {
		b.report(fmt.Sprintf("the compiler's stage could not be removed: %v", err))
	}
}
