package main

import "github.com/spf13/cobra"

func generateCommand(streams) *cobra.Command {
	return &cobra.Command{Use: "generate", Hidden: true}
}
