package config

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Scripts are the settings of saved scripts.
type Scripts struct {
	HostOnly bool // sessions save none
}

// Hook is a snippet that runs around each run: code, or the name of a saved
// script.
type Hook struct {
	Code   string
	Script string
	Origin Origin
	// Texts are digests of the texts of a project's script, and of what it
	// imports, that trust covers.
	Texts []string
}

// Covers reports whether a text may run in the hook, as its script or as what
// that imports: of a project's only what was trusted, wherever a script of that
// name is found, and although its file changes while the view is in use.
func (h Hook) Covers(text string) bool {
	return !h.Origin.Project || slices.Contains(h.Texts, digest(text))
}

// Hooks are the snippets of each point, in the order in which they run.
type Hooks struct {
	Before, OnSuccess, OnError, After []Hook
}

// Any reports whether there is a hook at all.
func (h Hooks) Any() bool {
	return len(h.Before)+len(h.OnSuccess)+len(h.OnError)+len(h.After) > 0
}

// hookPoints are the keys of the section hooks.
var hookPoints = []string{"before", "onSuccess", "onError", "after"}

// hookAt is the hook that a file has at a point; ok is false when it has none.
func (l *layer) hookAt(point string) (h Hook, ok bool) {
	if l == nil {
		return h, false
	}
	n := l.doc.get("hooks").get(point)
	if n == nil {
		return h, false
	}
	h.Origin = l.source.origin(n.at)
	if n.kind == stringNode {
		h.Code = n.text
	} else if script := n.get("script"); script != nil {
		h.Script = script.text
	}
	return h, h.Code != "" || h.Script != ""
}

// hooksOf joins the hooks of files, the user's own first. Those of the project
// stand within the user's: its before runs after the user's, everything else
// before.
func hooksOf(layers ...*layer) Hooks {
	var out Hooks
	for _, l := range layers {
		if h, ok := l.hookAt("before"); ok {
			out.Before = append(out.Before, h)
		}
		for point, list := range map[string]*[]Hook{"onSuccess": &out.OnSuccess, "onError": &out.OnError, "after": &out.After} {
			if h, ok := l.hookAt(point); ok {
				*list = append([]Hook{h}, *list...)
			}
		}
	}
	return out
}

// hostOnly reports whether a file sets scripts.hostOnly.
func (l *layer) hostOnly() bool {
	if l == nil {
		return false
	}
	n := l.doc.get("scripts").get("hostOnly")
	return n != nil && n.plain() == true
}

// scripts reads what the view has of scripts and hooks. Any file may set
// hostOnly, none but the user's own can unset it; hooks of the user's own file
// stay where another takes its place.
func (b *builder) scripts(v *View, p *parts, file string, items []TrustItem, trusted bool) {
	own := p.user
	if userFile := b.store.userFile(b.probes); file != "" && file != userFile && !b.owner {
		own = nil
		if userFile != "" {
			own, _ = b.store.load(source{file: userFile, format: FormatTenon}, b.probes.look(userFile, false)) // what is wrong with it, permissions tell
		}
	}
	layers := []*layer{own}
	if own != p.user {
		layers = append(layers, p.user)
	}
	if trusted {
		layers = append(layers, p.project)
	}
	for _, l := range layers {
		v.Scripts.HostOnly = v.Scripts.HostOnly || l.hostOnly()
	}
	v.Hooks = hooksOf(layers...)
	for point, list := range map[string][]Hook{"before": v.Hooks.Before, "onSuccess": v.Hooks.OnSuccess, "onError": v.Hooks.OnError, "after": v.Hooks.After} {
		for i := range list {
			for _, item := range items { // of the very read that trust was decided by
				if list[i].Origin.Project && item.Kind == "hook" && item.Name == "hooks."+point {
					list[i].Texts = item.texts
				}
			}
		}
	}
}

// hookItems are what a project's hooks need trust for: their code, and the
// content of the files that they name, with what those import.
func hookItems(l *layer) []TrustItem {
	var out []TrustItem
	for _, point := range hookPoints {
		h, ok := l.hookAt(point)
		if !ok {
			continue
		}
		shown, content := h.Code, ""
		var texts []string
		if h.Script != "" {
			shown = "the script " + h.Script
			hookTexts(h, exists, func(file, text string) {
				content += file + "\x00" + text + "\x00"
				texts = append(texts, digest(text))
			})
		}
		out = append(out, TrustItem{
			Kind: "hook", Name: "hooks." + point, File: h.Origin.File, Shown: visible(shown),
			digest: digest([]string{"hook", h.Origin.File, point, h.Code, h.Script, content}), texts: texts,
		})
	}
	return out
}

var scriptEndings = []string{".ts", ".mts", ".js", ".mjs"}

// hookFiles are the files that the script of a project's hook may be in.
func hookFiles(h Hook) []string {
	var out []string
	if !filepath.IsLocal(h.Script) {
		return nil
	}
	name := h.Script
	for _, ext := range scriptEndings { // the file of a script is also a name of it
		name = strings.TrimSuffix(name, ext)
	}
	for _, ext := range scriptEndings {
		out = append(out, filepath.Join(h.Origin.Base, ".tenon", "scripts", filepath.FromSlash(name)+ext))
	}
	return out
}

// hookTexts reads the files of a project's hook and those that they import, each
// once. exists is asked about every file that could be one.
func hookTexts(h Hook, exists func(file string) bool, found func(file, text string)) {
	queue, seen, left := hookFiles(h), map[string]bool{}, int64(maxPinnedSize)
	for ; len(queue) > 0 && len(seen) < maxPinned; queue = queue[1:] {
		file := queue[0]
		if seen[file] || !exists(file) {
			continue
		}
		text, err := readCapped(file, min(left, maxFileBytes))
		if err != nil {
			continue // it does not run either: nobody agreed to it
		}
		seen[file] = true
		left -= int64(len(text))
		found(file, string(text))
		queue = append(queue, imports(file, text, exists)...)
	}
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

// watchHooks makes the view depend on the files that a project's hooks consist of.
func (b *builder) watchHooks(l *layer) {
	look := func(file string) bool { return b.probes.look(file, false).exists }
	for _, point := range hookPoints {
		if h, ok := l.hookAt(point); ok && h.Script != "" {
			hookTexts(h, look, func(string, string) {})
		}
	}
}

// checkHook holds a hook: a text, or an object with the one member script.
func checkHook(n *node, key *Key, shown string) error {
	if n.kind == stringNode {
		return nil
	}
	if n.kind != objectNode {
		return wrongType(n, key, shown)
	}
	for _, m := range n.members {
		if m.name != "script" {
			return &placed{at: m.at, message: "unknown key " + joinKey(shown, m.name), hint: "a hook is code, or {script: NAME}"}
		}
		if m.value.kind != stringNode || m.value.text == "" {
			return badAt(m.value, "%s must be the name of a saved script", joinKey(shown, m.name))
		}
	}
	if len(n.members) == 0 {
		return wrongType(n, key, shown)
	}
	return nil
}
