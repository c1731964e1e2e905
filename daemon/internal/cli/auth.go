package cli

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tenon/daemon/internal/catalog"
	"tenon/daemon/internal/fault"
	"tenon/proto"
)

type authOptions struct {
	app       *app
	device    bool
	noBrowser bool
}

func (a *app) authCommand() *cobra.Command {
	login := func(use, short string) *cobra.Command {
		o := &authOptions{app: a}
		c := &cobra.Command{Use: use, Short: short, Args: args(1, 1),
			RunE: func(cmd *cobra.Command, words []string) error { return authLogin(cmd.Context(), o, words[0]) }}
		c.Flags().BoolVar(&o.device, "device", false, "type a code on a page of any machine, in place of a browser here")
		c.Flags().BoolVar(&o.noBrowser, "no-browser", false, "print the address, and open no browser")
		return c
	}
	status := &cobra.Command{Use: "status", Aliases: []string{"ls"}, Short: "Show how the logins stand", Args: args(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error { return authStatus(cmd.Context(), a) }}
	logout := &cobra.Command{Use: "logout SERVER", Short: "Log out of a server, also one that is not configured any more, and forget its tokens", Args: args(1, 1),
		RunE: func(cmd *cobra.Command, words []string) error { return authLogout(cmd.Context(), a, words[0]) }}
	c := login("auth SERVER", "Log in to a remote server")
	c.Args = func(cmd *cobra.Command, words []string) error {
		if len(words) > 1 { // a server stands alone, so the first is a command that is none
			return unknownCommand(cmd, words[0])
		}
		return args(1, 1)(cmd, words)
	}
	c.Long = "Logs in to a remote server that wants OAuth: a page opens in your browser, and all sessions\n" +
		"use the login from then on. Tokens are refreshed by the daemon, and kept for you alone. Where\n" +
		"there is no browser, a code is typed on a page of any machine, if the server's authorization\n" +
		"server offers that; else the address is printed. An agent cannot log in, only you can.\n" +
		"tenon auth login SERVER is the same, for a server that is called status, ls, login or logout."
	c.AddCommand(login("login SERVER", "Log in to a remote server"), status, logout)
	return c
}

func authLogin(ctx context.Context, o *authOptions, server string) error {
	if o.device && o.noBrowser {
		return fault.New(fault.UsageError, "--device and --no-browser do not go together").
			WithHint("the device flow opens no browser here")
	}
	c, err := o.app.connect()
	if err != nil {
		return err
	}
	open := browserHere(o.app.env)
	flow := "browser"
	switch {
	case o.device:
		flow = "device"
	case o.noBrowser:
		open = nil
	case open == nil || !o.app.errTerminal:
		flow, open = "any", nil
	}
	login, err := c.Login(ctx, server, proto.LoginStart{Flow: flow}, func(p proto.LoginPrompt) { o.prompt(ctx, p, open) })
	if err != nil {
		return interrupted(ctx, err)
	}
	if o.app.flags.json {
		return o.app.document(login)
	}
	o.app.say("logged in to %s at %s%s", login.Server, login.Issuer, enduring(login))
	return nil
}

// prompt tells the user what to do. That is said in spite of -q: without it
// nothing could go on.
func (o *authOptions) prompt(ctx context.Context, p proto.LoginPrompt, open func(context.Context, string) error) {
	if p.Flow == "device" {
		o.app.note("open %s and type the code %s", p.URL, p.Code)
		if p.Complete != "" {
			o.app.note("or open %s", p.Complete)
		}
		return
	}
	if open != nil {
		if err := open(ctx, p.URL); err == nil {
			o.app.note("a page has opened in your browser; if not, open %s", p.URL)
			return
		}
	}
	o.app.note("open %s", p.URL)
}

// enduring says until when a login holds.
func enduring(l *proto.Login) string {
	switch {
	case l.Refreshes:
		return "; its token is refreshed by itself"
	case l.Expires != "":
		return ", until " + l.Expires
	}
	return ""
}

func authStatus(ctx context.Context, a *app) error {
	c, err := a.connect()
	if err != nil {
		return err
	}
	logins, err := c.Logins(ctx)
	if err != nil {
		return interrupted(ctx, err)
	}
	err = rows(a, logins, "no remote servers here: tenon ls lists all", []string{"SERVER", "LOGIN", "TOKEN", "SCOPES", "ISSUER"},
		func(l proto.Login) []string {
			return []string{l.Server, loginState(l), tokenUntil(l, time.Now()), strings.Join(l.Scopes, " "), l.Issuer}
		})
	if err != nil || a.flags.json {
		return err
	}
	for _, l := range logins {
		switch {
		case l.State == "unconfigured":
			a.say("%s: %s; forget it with: tenon auth logout %s", l.Server, l.Detail, operand(l.Server))
		case l.State == "needed" || l.State == "limited":
			a.say("%s: %s; log in with: tenon auth %s", l.Server, l.Detail, operand(l.Server))
		case l.Detail != "":
			a.say("%s: %s", l.Server, l.Detail)
		}
	}
	return nil
}

// operand is a name as a shell's command line has it, which no command takes for a flag.
func operand(name string) string {
	if strings.HasPrefix(name, "-") {
		return "-- " + catalog.ShellWord(name)
	}
	return catalog.ShellWord(name)
}

// loginState is the state as a person reads it.
func loginState(l proto.Login) string {
	if l.State == "unconfigured" {
		return "not configured"
	}
	return l.State
}

// tokenUntil says how long a token lives, and whether another follows.
func tokenUntil(l proto.Login, now time.Time) string {
	text := ""
	if at, err := time.Parse(time.RFC3339, l.Expires); err == nil {
		if left := at.Sub(now).Round(time.Second); left > 0 {
			text = "for " + left.String()
		} else {
			text = "expired"
		}
	}
	if l.Refreshes {
		text = strings.TrimPrefix(text+", refreshed", ", ")
	}
	return text
}

func authLogout(ctx context.Context, a *app, server string) error {
	c, err := a.connect()
	if err != nil {
		return err
	}
	ended, err := c.Logout(ctx, server)
	if err != nil {
		return interrupted(ctx, err)
	}
	if a.flags.json {
		return a.document(ended)
	}
	if !ended.Ended {
		a.say("nothing to do: there is no login to %s", ended.Login.Server)
		return nil
	}
	a.say("logged out of %s", ended.Login.Server)
	return nil
}
