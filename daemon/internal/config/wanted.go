package config

import (
	"bytes"
	"os"
	"regexp"
	"sort"
	"sync"
)

// placeholderName finds every variable a text could ask for. It looks at the
// text of whole files: a name too many costs nothing, one too few a server.
var placeholderName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-|\})|\{env:([^}\s"']+)\}`)
})

// maxWanted bounds what a client sends along with its hello.
const maxWanted = 256

// Wanted lists the environment variables that the config files for dir name
// in placeholders: what a client has to send to the daemon besides the
// allow-listed ones. file stands in for the user's file when not empty. It is
// meant for clients, reads each file once, and never fails: a file that cannot
// be read asks for nothing.
func Wanted(dir, file string) []string {
	env := EnvFrom(os.Environ())
	home, err := os.UserHomeDir()
	if err != nil {
		return nil
	}
	p := newProbes()
	pr := p.surroundings(resolveDir(dir))
	own := []source{}
	if file == "" {
		file, _ = p.configIn(ConfigDir(env, home))
	}
	if file != "" {
		own = append(own, source{file: file, format: FormatTenon})
	}
	if project, _ := p.projectFile(pr); project != "" {
		own = append(own, source{file: project, format: FormatTenon, project: true})
	}
	names := map[string]bool{}
	imports := map[string]bool{}
	for _, src := range own {
		doc, err := readCapped(src.file, maxFileBytes)
		if err != nil {
			continue
		}
		namesIn(doc, names)
		if l, err := readLayer(src, doc); err == nil {
			for _, host := range l.imports {
				imports[host] = true
			}
		}
	}
	for host := range imports {
		user, projects := p.hostFiles(host, pr, env, home)
		for _, src := range append(user, projects...) {
			if doc, err := readCapped(src.file, maxFileBytes); err == nil {
				namesIn(doc, names)
			}
		}
	}
	out := make([]string, 0, len(names))
	for name := range names {
		if !neverPassed(name) && name != "workspace" && name != "sessionDir" && name != "workspaceFolder" && name != "userHome" {
			out = append(out, name)
		}
	}
	sort.Strings(out)
	return out[:min(len(out), maxWanted)]
}

func namesIn(doc []byte, names map[string]bool) {
	if !bytes.Contains(doc, []byte("${")) && !bytes.Contains(doc, []byte("{env:")) {
		return // most files: spares every command the pattern
	}
	for _, m := range placeholderName().FindAllSubmatch(doc, -1) {
		for _, group := range m[1:] {
			if len(group) > 0 {
				names[string(group)] = true
			}
		}
	}
}
