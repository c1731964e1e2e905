package config

import (
	"path/filepath"
	"slices"
	"sort"
	"strings"
)

// builder makes one view. It runs with the store locked.
type builder struct {
	store  *Store
	probes *probes
	env    Env
	home   string
	owner  bool // the --config file counts as the user's own
	held   bool

	notes []Note
	files []string
}

// parts are the layers a view is merged from, each list lowest first.
type parts struct {
	user, project         *layer
	userHosts, projHosts  []*layer
	projectFile, userFile string
	userImports           []string
}

func (b *builder) build(dir, file string) (*View, error) {
	pr := b.probes.surroundings(dir)
	p, err := b.read(pr, file)
	if err != nil {
		return nil, err
	}
	items := trustItems(p.project, p.projHosts)
	trusted := b.store.trust.covers(pr.top, items)
	v := &View{Dir: dir, Workspace: pr.top, Servers: map[string]*Server{}, Untrusted: !trusted, Trusted: trusted && len(items) > 0, home: b.home, fallback: b.store.o.Environ}
	v.places = kindPlaces{executable: b.store.o.Executable, hidden: b.store.hiddenPlaces()}
	if runtime := b.store.o.RuntimeDir; runtime != "" {
		v.places.dir = filepath.Join(runtime, KindDir)
	}

	var maps []map[string]any
	if p.user != nil {
		maps = append(maps, settingsOf(p.user.doc))
		if file != "" && file != b.store.userFile(b.probes) {
			b.restrict(p.user, maps[0], "a --config file")
		}
	}
	if p.project != nil && trusted {
		m := settingsOf(p.project.doc)
		b.restrict(p.project, m, "a project's file")
		maps = append(maps, m)
	}
	s, err := mergeSettings(maps...)
	if err != nil {
		return nil, err
	}
	v.Script, v.Daemon = s.script(), s.daemon()
	if v.Daemon.ListenToken, err = b.expandToken(v.Daemon.ListenToken); err != nil {
		b.notes = append(b.notes, Note{File: p.userFile, Message: "listen.token: " + err.Error(), Error: true})
	} else if err := v.Daemon.Listens(); err != nil {
		b.notes = append(b.notes, Note{File: p.userFile, Message: err.Error() + "; the next daemon would not start", Error: true})
	}
	v.Permissions = b.permissions(p, file, trusted)
	v.Permissions.AskTimeout, v.Permissions.Net.MaxResponse = s.Permissions.AskTimeout, int64(s.Net.MaxResponse)
	b.scripts(v, p, file, items, trusted)
	b.servers(v, p, trusted)
	if !trusted {
		b.notes = append(b.notes, Note{File: firstFile(p), Message: "the project's configuration is not trusted: nothing of it is started; see its commands with tenon ls, then run tenon trust"})
	}
	for i := range b.notes { // names in them come from files that anybody may have written
		b.notes[i].Message = visible(b.notes[i].Message)
	}
	v.Notes, v.Files, v.Held = b.notes, b.files, b.held
	v.Hash = hashOf(v)
	return v, nil
}

func firstFile(p *parts) string {
	if p.project != nil {
		return p.projectFile
	}
	for _, l := range p.projHosts {
		return l.source.file
	}
	return ""
}

// read loads every layer. Imports of an untrusted project count for the
// project's own files only: they are shown, and the user's hosts stay out.
func (b *builder) read(pr project, file string) (*parts, error) {
	p := &parts{}
	var clash error
	p.userFile = file
	if file == "" {
		p.userFile, clash = b.store.findUserFile(b.probes)
	}
	if p.userFile != "" {
		var err error
		if p.user, err = b.must(source{file: p.userFile, format: FormatTenon}, clash); err != nil {
			return nil, err
		}
	}
	p.projectFile, clash = b.probes.projectFile(pr)
	if p.projectFile != "" && p.projectFile != p.userFile {
		p.project = b.pinned(b.may(source{file: p.projectFile, format: FormatTenon, project: true}, clash))
		b.watchHooks(p.project)
	}
	if p.user != nil {
		p.userImports = p.user.imports
	}
	imports := slices.Clone(p.userImports)
	if p.project != nil {
		for _, host := range p.project.imports {
			if !slices.Contains(imports, host) {
				imports = append(imports, host)
			}
		}
	}
	// The host named first wins, so it is read last.
	for _, host := range slices.Backward(imports) {
		user, projects := b.probes.hostFiles(host, pr, b.env, b.home)
		for _, src := range user {
			l := b.may(src, nil)
			if l == nil {
				continue
			}
			p.userHosts = append(p.userHosts, l)
			for _, d := range slices.Backward(pr.dirs) {
				if section := l.sections[d]; section != nil {
					p.userHosts = append(p.userHosts, section)
					b.notes = append(b.notes, section.notes...)
				}
			}
		}
		for _, src := range projects {
			if l := b.may(src, nil); l != nil {
				p.projHosts = append(p.projHosts, l)
			}
		}
	}
	return p, nil
}

// must loads a file whose first content has to be good.
func (b *builder) must(src source, clash error) (*layer, error) {
	l, bad := b.load(src, clash)
	if bad != nil && l == nil {
		return nil, bad.fault()
	}
	if l == nil {
		return nil, (&BadFile{File: src.file, Message: "file does not exist"}).fault()
	}
	b.took(l, bad)
	return l, nil
}

// may loads a file that the view can do without.
func (b *builder) may(src source, clash error) *layer {
	l, bad := b.load(src, clash)
	if l != nil || bad != nil {
		b.took(l, bad)
	}
	return l
}

// load is Store.load, except that two files where one should be (clash) are
// like a bad edit: what was in use before either of them stays.
func (b *builder) load(src source, clash error) (*layer, *BadFile) {
	if clash == nil {
		return b.store.load(src, b.probes.look(src.file, false))
	}
	for _, ext := range extensions {
		src.file = strings.TrimSuffix(src.file, filepath.Ext(src.file)) + ext
		if f := b.store.files[src]; f != nil && f.good != nil {
			return f.good, badFile(src.file, clash)
		}
	}
	return nil, badFile(src.file, clash)
}

func (b *builder) took(l *layer, bad *BadFile) {
	if bad != nil {
		message := bad.Message
		if l != nil {
			message += "; the last good configuration of this file stays in use"
		} else {
			message += "; the file is skipped"
		}
		if bad.Hint != "" {
			message += " (" + bad.Hint + ")"
		}
		b.notes = append(b.notes, Note{File: bad.File, Line: bad.Line, Column: bad.Column, Message: message, Error: true})
	}
	if l != nil {
		b.files = append(b.files, l.source.file)
		b.notes = append(b.notes, l.notes...)
	}
}

// restrict drops what only the user's file may set, with a note each.
func (b *builder) restrict(l *layer, m map[string]any, what string) {
	owner := b.owner && !l.source.project
	for _, name := range sections {
		key, _ := keyAt(name)
		n := l.doc.get(name)
		if n == nil || key.Place == Everywhere || owner && (name == "permissions" || name == "net") {
			continue
		}
		if key.Place == UserOnly {
			delete(m, name)
			b.notes = append(b.notes, Note{File: l.source.file, Line: n.at.line, Column: n.at.column, Message: name + " is ignored: " + what + " cannot set it, only the user's own file"})
			continue
		}
		delete(m, name)
		for _, only := range []string{"askTimeout", "presets"} {
			if v := n.get(only); v != nil {
				b.notes = append(b.notes, Note{File: l.source.file, Line: v.at.line, Column: v.at.column, Message: "permissions." + only + " is ignored: " + what + " cannot set it, only the user's own file"})
			}
		}
	}
	if n := l.doc.get("script").get("runtimes"); n != nil && !owner { // a program of somebody else's choice
		script, _ := m["script"].(map[string]any)
		delete(script, "runtimes")
		b.notes = append(b.notes, Note{File: l.source.file, Line: n.at.line, Column: n.at.column, Message: "script.runtimes is ignored: " + what + " cannot set it, only the user's own file"})
	}
	for _, r := range l.rules {
		if r.Action == "allow" && !owner {
			b.notes = append(b.notes, Note{File: l.source.file, Line: r.Origin.Line, Message: "rule " + r.Pattern + " is ignored: " + what + " may only tighten permissions"})
		}
	}
}

// permissions merges the user's permissions with what may tighten them, and
// holds looser ones back while sessions are attached.
func (b *builder) permissions(p *parts, file string, trusted bool) Permissions {
	s := b.store
	userLayer, userFile := p.user, s.userFile(b.probes)
	if b.owner && file != userFile {
		now := permissionsOf(p.user).complete()
		if p.project != nil && trusted {
			now = now.tightened(permissionsOf(p.project))
		}
		return now
	}
	if file != "" && file != userFile {
		userLayer = nil
		if userFile != "" {
			userLayer = b.may(source{file: userFile, format: FormatTenon}, nil)
		}
	}
	now := permissionsOf(userLayer).complete()
	switch {
	case s.accepted == nil, !s.accepted.loosens(now), !s.attached():
		s.accepted = &now
	default:
		b.held = true
		b.notes = append(b.notes, Note{File: userFile, Message: "permissions became looser while sessions are attached: the stricter ones stay until tenon trust --config", Error: true})
		net, presets := s.accepted.Net.within(now.Net), now.Presets // names of presets alone allow nothing
		now = s.accepted.tightened(now)
		now.Net, now.Presets = net, presets
	}
	if file != "" && file != userFile {
		now = now.tightened(permissionsOf(p.user))
	}
	if p.project != nil && trusted {
		now = now.tightened(permissionsOf(p.project))
	}
	return now
}

// servers merges the servers, later layers over earlier ones, by name.
func (b *builder) servers(v *View, p *parts, trusted bool) {
	var importedByProject []string
	if p.project != nil && trusted {
		importedByProject = p.project.imports
	}
	for _, l := range p.userHosts {
		if slices.Contains(p.userImports, l.source.format) || slices.Contains(importedByProject, l.source.format) {
			b.merge(v, l, true, true)
		}
	}
	for _, l := range p.projHosts {
		b.merge(v, l, true, trusted)
	}
	if p.user != nil {
		b.merge(v, p.user, false, true)
	}
	if p.project != nil {
		b.merge(v, p.project, false, trusted)
	}
}

func (b *builder) merge(v *View, l *layer, imported, trusted bool) {
	for _, s := range l.servers {
		if s.Served == nil && leadsBack(s, v.Daemon.ListenAddress, b.store.o.Socket) {
			note := Note{File: l.source.file, Line: s.Origin.Line, Server: s.Name, Message: "server " + s.Name + " leads back to tenon itself: skipped", Error: !imported}
			b.notes = append(b.notes, note)
			continue
		}
		if have := v.Servers[s.Name]; have != nil && !trusted {
			if !have.Untrusted {
				b.notes = append(b.notes, Note{File: l.source.file, Line: s.Origin.Line, Server: s.Name, Message: "server " + s.Name + " of the untrusted project is ignored: the name is taken by " + have.Origin.File})
				continue
			}
		}
		if !trusted {
			c := *s
			c.Untrusted = true
			s = &c
		}
		v.Servers[s.Name] = s
	}
}

// UserFile is the path of the user's file, or "" when there is none.
func (s *Store) UserFile() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.userFile(newProbes())
}

// userFile is the path of the user's file, or "" when there is none.
func (s *Store) userFile(p *probes) string {
	file, _ := s.findUserFile(p)
	return file
}

func (s *Store) findUserFile(p *probes) (string, error) {
	if s.o.UserFile != "" {
		return s.o.UserFile, nil
	}
	dir := ConfigDir(s.o.Environ, s.o.Home)
	file, err := p.configIn(dir)
	if file != "" {
		file = filepath.Join(resolveDir(dir), filepath.Base(file))
	}
	return file, err
}

// Defaults is the view of a machine without any config file, for when the
// user's file cannot be read at all.
func Defaults() *View {
	v := &View{Servers: map[string]*Server{}, Permissions: Permissions{}.complete()}
	s, err := mergeSettings()
	if err != nil { // the table of keys is at fault; a test holds it
		panic("config: " + err.Error())
	}
	v.Script, v.Daemon = s.script(), s.daemon()
	v.Permissions.AskTimeout, v.Permissions.Net.MaxResponse = s.Permissions.AskTimeout, int64(s.Net.MaxResponse)
	v.Hash = hashOf(v)
	return v
}

// Names lists the view's servers in order.
func (v *View) Names() []string {
	names := make([]string, 0, len(v.Servers))
	for name := range v.Servers {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}

// Problems joins the view's errors for a one-line message, or is empty.
func (v *View) Problems() string {
	var lines []string
	for _, n := range v.Notes {
		if n.Error {
			lines = append(lines, (&BadFile{File: n.File, Line: n.Line, Column: n.Column, Message: n.Message}).Error())
		}
	}
	return strings.Join(lines, "; ")
}
