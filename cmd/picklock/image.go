package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"picklock/docker"
)

func newImage() *cobra.Command {
	var server string
	cmd := &cobra.Command{
		Use:   "image",
		Short: "Build the image of the nodes, if it is missing",
		Args:  exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			s := newScreen(cmd, false)
			tag, err := docker.EnsureFor(cmd.Context(), docker.Options{Report: func(line string) { s.say("%s", line) }}, server)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), tag)
			return err
		},
	}
	cmd.Flags().StringVar(&server, "server", "", "the server in it, such as redis:7.0 (see picklock list servers)")
	return cmd
}
