package cli

import "github.com/spf13/cobra"

func (a *app) doctorCommand() *cobra.Command { return &cobra.Command{Use: "doctor"} }
func (a *app) initCommand() *cobra.Command   { return &cobra.Command{Use: "init"} }
