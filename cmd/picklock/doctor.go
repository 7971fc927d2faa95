package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"picklock/docker"
	"picklock/harness"
	"picklock/harness/topology"
)

func newDoctor(status *int) *cobra.Command {
	var image string
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Say what works on this machine, and the cure for what does not",
		Long: `Look at what picklock can use here: Docker, the image of the nodes, redis-server, and the
permissions that they take. Exit status 0 if a test can run in at least one runtime, else 2.`,
		Args: exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if image == "" {
				image = docker.Tag()
			}
			checks, p := topology.Doctor(cmd.Context(), image), paragraphs{s: newScreen(cmd, false)}
			for _, c := range checks {
				mark := "ok  "
				if !c.OK {
					mark = "no  "
				}
				p.labelled(mark, c.Name+": "+c.Detail)
				if !c.OK && c.Cure != "" {
					p.labelled("      cure: ", c.Cure)
				}
			}
			rt, why, err := topology.Select(cmd.Context(), "auto", topology.DockerOptions{Image: image, Reach: "auto"})
			if err != nil {
				*status = 2
				p.say("", "no test can run here: "+oneLine(err))
				return p.err
			}
			p.say("", fmt.Sprintf("picklock run would use the %s runtime: %s", rt.Name(), why))
			return p.err
		},
	}
	cmd.Flags().StringVar(&image, "image", "", "look for this image (default: picklock's own)")
	return cmd
}

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "picklock %s\nnode image %s\n", harness.Version(), docker.Tag())
			return err
		},
	}
}
