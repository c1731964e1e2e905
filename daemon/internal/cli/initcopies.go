package cli

import (
	"context"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"tenon/daemon/internal/cli/opencode"
	"tenon/daemon/internal/config"
	"tenon/daemon/internal/config/jsonc"
	"tenon/daemon/internal/local"
)

// switchedOff is the file that remembers what was switched off in opencode.
func switchedOff(p local.Paths) opencode.Disabled {
	return opencode.Disabled(filepath.Join(p.State, "opencode-copies.json"))
}

// switchOffCopies offers to end that a server runs in opencode as well: tenon
// gets an entry of its own for each, since an import would follow the "enabled":
// false that opencode's gets.
func (o *initOptions) switchOffCopies(ctx context.Context, doc *initDocument, view *config.View) error {
	if !slices.Contains(o.hosts, "opencode") {
		return nil
	}
	p, err := o.app.paths()
	if err != nil {
		return err
	}
	copies := opencode.Running(opencode.UserFiles(filepath.Join(filepath.Dir(p.Config), "opencode"), p.Home), func(name string) bool {
		s := view.Servers[name]
		return s != nil && s.Enabled && !s.Untrusted && s.Problem == "" &&
			(s.Origin.File == doc.Config || s.Origin.Format == config.FormatOpencode && !s.Origin.Project)
	})
	for _, c := range copies {
		if !slices.Contains(doc.Twice, c.Name) {
			doc.Twice = append(doc.Twice, c.Name)
		}
	}
	if len(copies) == 0 {
		return nil
	}
	if !o.disable {
		if !o.app.canAsk() {
			return nil
		}
		o.app.note("opencode starts these itself, so they would run twice: %s", strings.Join(doc.Twice, ", "))
		yes, err := o.app.confirm(ctx, "give tenon its own entries and set \"enabled\": false in opencode's?")
		if err != nil || !yes {
			return err
		}
	}
	if _, err := o.edit(doc.Config, func(text []byte) ([]byte, error) {
		for _, name := range doc.Twice {
			if s := view.Servers[name]; s.Origin.File != doc.Config {
				if text, err = jsonc.Set(text, []string{"servers", name}, ownEntry(s)); err != nil {
					return nil, err
				}
			}
		}
		return text, nil
	}); err != nil {
		return err
	}
	if err := switchedOff(p).Switch(copies); err != nil {
		return err
	}
	doc.Disabled, doc.Twice = doc.Twice, []string{}
	return nil
}

// ownEntry writes an imported server as one of tenon's own file, where relative
// paths would be meant from another directory.
func ownEntry(s *config.Server) map[string]any {
	from := func(text string) string {
		return fileValue().ReplaceAllString(text, "{file:"+filepath.Dir(s.Origin.File)+"/$1}")
	}
	entry := map[string]any{}
	put := func(key, text string) {
		if text != "" {
			entry[key] = from(text)
		}
	}
	putAll := func(key string, texts map[string]string) {
		all := map[string]any{}
		for name, text := range texts {
			all[name] = from(text)
		}
		if len(all) > 0 {
			entry[key] = all
		}
	}
	if len(s.Command) > 0 {
		words := make([]any, len(s.Command))
		for i, word := range s.Command {
			words[i] = from(word)
		}
		if first := s.Command[0]; strings.Contains(first, "/") {
			words[0] = from(absolute(first, s.Origin.Base))
		}
		entry["command"] = words
	}
	put("url", s.URL)
	if s.Cwd != "" {
		put("cwd", absolute(s.Cwd, s.Origin.Base))
	}
	putAll("env", s.Env)
	putAll("headers", s.Headers)
	if s.Kind == "sse" {
		entry["type"] = s.Kind
	}
	if s.CallTimeout != time.Minute { // the default
		entry["callTimeout"] = s.CallTimeout.String()
	}
	return entry
}

// fileValue is a {file:path} whose path is relative to the file it stands in.
var fileValue = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\{file:([^/~}][^}]*)\}`) })

// absolute makes a path absolute; one that begins with a placeholder or ~ is
// left alone.
func absolute(path, base string) string {
	if filepath.IsAbs(path) || strings.HasPrefix(path, "~") || strings.HasPrefix(path, "$") || strings.HasPrefix(path, "{") {
		return path
	}
	return filepath.Join(base, path)
}
