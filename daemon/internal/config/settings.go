package config

import (
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/go-viper/mapstructure/v2"
	"github.com/spf13/viper"

	"tenon/daemon/internal/fault"
)

// settings is everything that is merged key by key. Servers and rules are not
// here: viper lower-cases keys, so their names would be lost; they are decoded
// from the parsed document instead. The delimiter cannot occur in a key, so a
// dot in one never splits it.
type settings struct {
	Script struct {
		Engine         string
		Runtimes       map[string]string
		Timeout        time.Duration
		CPU            time.Duration
		Memory         size
		MaxToolCalls   int
		Concurrency    int
		Typecheck      string
		Outputs        string
		MaxOutputBytes size
	}
	Permissions struct {
		Preset     string
		Sandbox    string
		Approval   string
		AskTimeout time.Duration
	}
	Net    struct{ MaxResponse size } // the rest of it goes with the permissions
	Daemon struct {
		IdleExit    time.Duration
		LogLevel    string
		MaxStarting int
	}
	Sessions struct{ Idle, Grace time.Duration }
	Tickets  struct{ TTL time.Duration }
	Listen   struct{ Address, Token string }
	History  struct {
		Retention                 time.Duration
		MaxDatabase, MaxArtifacts size
	}
	Catalog struct{ Learn bool }
}

// size is a number of bytes, so that the decoder can tell it from a count.
type size int64

const keyDelimiter = "\x00"

// sections are the top-level keys that settings holds.
var sections = []string{"script", "permissions", "net", "daemon", "sessions", "tickets", "listen", "history", "catalog"}

// mergeSettings merges layers, lowest precedence first, over the defaults of
// the reference. The layers are checked documents.
func mergeSettings(layers ...map[string]any) (*settings, error) {
	v := viper.NewWithOptions(viper.KeyDelimiter(keyDelimiter))
	for _, k := range reference {
		if k.Default != "" && !strings.Contains(k.Path, "*") {
			v.SetDefault(strings.ReplaceAll(k.Path, ".", keyDelimiter), k.Default)
		}
	}
	for _, l := range layers {
		if err := v.MergeConfigMap(l); err != nil {
			return nil, fmt.Errorf("merge settings: %w", err)
		}
	}
	var s settings
	if err := v.Unmarshal(&s, viper.DecodeHook(mapstructure.ComposeDecodeHookFunc(decodeUnits))); err != nil {
		return nil, fmt.Errorf("decode settings: %w", err)
	}
	return &s, nil
}

func decodeUnits(_ reflect.Type, to reflect.Type, data any) (any, error) {
	s, ok := data.(string)
	switch {
	case ok && to == reflect.TypeFor[time.Duration]():
		return ParseDuration(s)
	case ok && to == reflect.TypeFor[size]():
		n, err := ParseSize(s)
		return size(n), err
	}
	return data, nil
}

// settingsOf copies the merged sections out of a document: viper changes the
// maps it is given.
func settingsOf(doc *node) map[string]any {
	out := map[string]any{}
	for _, name := range sections {
		if n := doc.get(name); n != nil {
			m, _ := n.plain().(map[string]any)
			delete(m, "rules")
			delete(m, "presets")
			out[name] = m
		}
	}
	return out
}

func (s *settings) script() Script {
	return Script{
		Engine: s.Script.Engine, Runtimes: s.Script.Runtimes, Timeout: s.Script.Timeout, CPU: s.Script.CPU,
		Memory: int64(s.Script.Memory), MaxToolCalls: s.Script.MaxToolCalls,
		Concurrency: s.Script.Concurrency, Typecheck: s.Script.Typecheck, Outputs: s.Script.Outputs,
		MaxOutputBytes: int64(s.Script.MaxOutputBytes),
	}
}

func (s *settings) daemon() Daemon {
	return Daemon{
		IdleExit: s.Daemon.IdleExit, LogLevel: s.Daemon.LogLevel, MaxStarting: s.Daemon.MaxStarting,
		SessionIdle: s.Sessions.Idle, SessionGrace: s.Sessions.Grace,
		TicketTTL: s.Tickets.TTL, HistoryRetention: s.History.Retention,
		HistoryDatabase: int64(s.History.MaxDatabase), HistoryArtifacts: int64(s.History.MaxArtifacts), Learn: s.Catalog.Learn,
		ListenAddress: s.Listen.Address, ListenToken: s.Listen.Token,
	}
}

// MinToken is the shortest listen.token that is accepted, in characters.
const MinToken = 16

// Listens checks what TCP needs, a ConfigError: an address goes with a token
// that is long enough, since there is no open TCP. Without an address there is
// nothing to check.
func (d Daemon) Listens() error {
	switch {
	case d.ListenAddress == "":
		return nil
	case d.ListenToken == "":
		return fault.New(fault.ConfigError, "listen.address %s is set without listen.token: TCP is never open", d.ListenAddress).
			WithHint("set listen.token, for example to ${TENON_TOKEN}, or remove listen.address")
	case len(d.ListenToken) < MinToken:
		return fault.New(fault.ConfigError, "listen.token has %d characters; it needs at least %d", len(d.ListenToken), MinToken).
			WithHint("take a long random one, such as: openssl rand -hex 32")
	}
	return nil
}
