package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"tenon/daemon/internal/fault"
	"tenon/proto"
)

func (a *app) presetCommand() *cobra.Command {
	list := &cobra.Command{Use: "list", Short: "Show the presets, the one in effect, and the last switches", Args: args(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error { return presetList(cmd.Context(), a) }}
	show := &cobra.Command{Use: "show [NAME]", Short: "Show one preset, or what is in effect", Args: args(0, 1),
		RunE: func(cmd *cobra.Command, words []string) error {
			return presetShow(cmd.Context(), a, strings.Join(words, ""))
		}}
	use := &cobra.Command{Use: "use NAME", Short: "Write a preset into your configuration", Args: args(1, 1),
		Example: "  tenon preset use yolo",
		RunE:    func(cmd *cobra.Command, words []string) error { return presetUse(cmd.Context(), a, words[0]) }}
	c := group("preset", "Switch the sandbox and approval settings by name", list, show, use)
	c.Long = "A preset is a name for two settings: permissions.sandbox and permissions.approval.\n" +
		"use writes both into your own configuration and keeps everything else in the file.\n" +
		"Which preset is in effect is derived from the two settings; what no preset has is\n" +
		"custom. Your own are written under permissions.presets. While sessions are attached\n" +
		"a looser one waits for tenon trust --config. Every switch is recorded."
	holder := c.RunE
	c.RunE = func(cmd *cobra.Command, words []string) error {
		if len(words) == 0 {
			return presetList(cmd.Context(), a)
		}
		return holder(cmd, words)
	}
	return c
}

func (a *app) presets(ctx context.Context) (proto.Presets, error) {
	c, err := a.connect()
	if err != nil {
		return proto.Presets{}, err
	}
	p, err := c.Presets(ctx)
	return p, interrupted(ctx, err)
}

func presetList(ctx context.Context, a *app) error {
	p, err := a.presets(ctx)
	if err != nil {
		return err
	}
	if a.flags.json {
		return a.document(p)
	}
	rows := [][]string{{"", "PRESET", "SANDBOX", "APPROVAL", "FROM"}}
	for _, known := range p.Presets {
		from := "tenon"
		if known.Own {
			from = "your configuration"
		}
		rows = append(rows, []string{mark(known.Name == p.Current), known.Name, known.Sandbox, known.Approval, from})
	}
	if p.Current == "custom" {
		rows = append(rows, []string{mark(true), p.Current, p.Sandbox, p.Approval, "the settings themselves"})
	}
	if err := a.table(rows); err != nil {
		return err
	}
	for _, s := range p.Switches {
		if err := a.text(fmt.Sprintf("%s %s: %s", ago(s.Time), s.Actor, s.Detail)); err != nil {
			return err
		}
	}
	a.sayWaiting(p)
	return nil
}

func mark(current bool) string {
	if current {
		return "*"
	}
	return ""
}

// sayWaiting names a looser preset that is written and not in effect yet.
func (a *app) sayWaiting(p proto.Presets) {
	if p.Waiting != "" {
		a.say("%s is written in %s and waits, since sessions are attached: tenon trust --config", p.Waiting, p.File)
	}
}

func presetShow(ctx context.Context, a *app, name string) error {
	p, err := a.presets(ctx)
	if err != nil {
		return err
	}
	shown := proto.Preset{Name: p.Current, Sandbox: p.Sandbox, Approval: p.Approval}
	found := name == "" || name == p.Current
	var names []string
	for _, known := range p.Presets {
		names = append(names, known.Name)
		if known.Name == name || name == "" && known.Name == p.Current {
			shown, found = known, true
		}
	}
	if !found {
		return fault.New(fault.NotFound, "there is no preset %q", name).WithHint("there are: %s", strings.Join(names, ", "))
	}
	if a.flags.json {
		return a.document(shown)
	}
	return a.text(fmt.Sprintf("%s: sandbox %s, approval %s", shown.Name, shown.Sandbox, shown.Approval))
}

func presetUse(ctx context.Context, a *app, name string) error {
	c, err := a.connect()
	if err != nil {
		return err
	}
	used, err := c.UsePreset(ctx, proto.PresetUse{Name: name})
	if err != nil {
		return interrupted(ctx, err)
	}
	if a.flags.json {
		return a.document(used)
	}
	switch {
	case !used.Changed:
		a.say("nothing to do: %s asks for %s already", used.Presets.File, name)
	case used.Presets.Waiting == "":
		a.say("%s: sandbox %s, approval %s, in effect from the next call", used.Presets.Current, used.Presets.Sandbox, used.Presets.Approval)
	}
	if used.Backup != "" {
		a.say("the file as it was: %s", used.Backup)
	}
	a.sayWaiting(used.Presets)
	return nil
}
