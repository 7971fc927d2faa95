package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"picklock/docker"
)

func newImage() *cobra.Command {
	return &cobra.Command{
		Use:   "image",
		Short: "Build the image of the nodes, if it is missing",
		Args:  exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			s := newScreen(cmd, false)
			tag, err := docker.Ensure(cmd.Context(), docker.Options{Report: func(line string) { s.say("%s", line) }})
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), tag)
			return err
		},
	}
}
