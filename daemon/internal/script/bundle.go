package script

import (
	"encoding/json"
	"path"
	"strings"

	esbuild "github.com/evanw/esbuild/pkg/api"

	"tenon/daemon/internal/fault"
)

// space is the namespace of all files of a bundle: esbuild reads none of the
// file system's, since every path is resolved and loaded by us.
const space = "program"

// extensions are tried behind the path of an import that has none, in this order.
var extensions = []string{"", ".ts", ".mts", ".js", ".mjs", "/index.ts", "/index.js"}

// Imports lists what the path of an import, as written in the file from, may
// lead to among a folder's files, in order; none: it is not relative.
func Imports(from, written string) []string {
	if !strings.HasPrefix(written, "./") && !strings.HasPrefix(written, "../") && written != "." && written != ".." {
		return nil
	}
	at := path.Join(path.Dir(from), written)
	var out []string
	for _, ext := range extensions {
		out = append(out, at+ext)
	}
	// TypeScript's own habit: ./lib.js is written for ./lib.ts.
	if stem, ok := strings.CutSuffix(at, ".js"); ok {
		out = append(out, stem+".ts")
	}
	if stem, ok := strings.CutSuffix(at, ".mjs"); ok {
		out = append(out, stem+".mts")
	}
	return out
}

// bundle compiles a source and the modules that it imports into one text.
func (p *Program) bundle(s Source, target Target) (*tail, error) {
	t := target.options()
	entry := Plain(s.Text)
	r := esbuild.Build(esbuild.BuildOptions{
		EntryPoints: []string{s.Path}, Outfile: "/out.js", AbsWorkingDir: "/", Bundle: true, Write: false,
		Format: esbuild.FormatESModule, Platform: esbuild.PlatformNeutral, TreeShaking: esbuild.TreeShakingFalse,
		Target: t.Target, Supported: t.Supported, Charset: t.Charset, LogLevel: t.LogLevel, LegalComments: t.LegalComments,
		Sourcemap: t.Sourcemap, SourcesContent: t.SourcesContent, TsconfigRaw: `{}`,
		Plugins: []esbuild.Plugin{{Name: space, Setup: func(b esbuild.PluginBuild) {
			b.OnResolve(esbuild.OnResolveOptions{Filter: ".*"}, func(a esbuild.OnResolveArgs) (esbuild.OnResolveResult, error) {
				return s.resolve(a), nil
			})
			b.OnLoad(esbuild.OnLoadOptions{Filter: ".*", Namespace: space}, func(a esbuild.OnLoadArgs) (esbuild.OnLoadResult, error) {
				text := s.Modules[a.Path]
				if a.Path == s.Path {
					text = entry
				}
				return esbuild.OnLoadResult{Contents: &text, Loader: loader(a.Path)}, nil
			})
		}}},
	})
	if len(r.Errors) > 0 {
		return nil, s.bundleError(r.Errors[0])
	}
	var code, sourceMap []byte
	for _, f := range r.OutputFiles {
		if strings.HasSuffix(f.Path, ".map") {
			sourceMap = f.Contents
		} else {
			code = f.Contents
		}
	}
	var m struct {
		Mappings string   `json:"mappings"`
		Sources  []string `json:"sources"`
	}
	if err := json.Unmarshal(sourceMap, &m); err != nil {
		return nil, fault.New(fault.InternalError, "source map: %w", err)
	}
	p.Mappings = m.Mappings
	for _, source := range m.Sources {
		p.Sources = append(p.Sources, s.file(source))
	}
	out := &tail{code: string(code)}
	var ok bool
	if out.tokens, ok = scan(out.code); !ok {
		return nil, fault.New(fault.InternalError, "the compiled program cannot be read")
	}
	return out, nil
}

// resolve finds an import among the modules. What is not relative is left to the
// engine where it is asked for at run time, and refused at the top.
func (s Source) resolve(a esbuild.OnResolveArgs) esbuild.OnResolveResult {
	if a.Kind == esbuild.ResolveEntryPoint {
		return esbuild.OnResolveResult{Path: s.Path, Namespace: space}
	}
	paths := Imports(a.Importer, a.Path)
	for _, at := range paths {
		if _, ok := s.Modules[at]; ok || at == s.Path {
			return esbuild.OnResolveResult{Path: at, Namespace: space}
		}
	}
	late := a.Kind == esbuild.ResolveJSDynamicImport || a.Kind == esbuild.ResolveJSRequireCall || a.Kind == esbuild.ResolveJSRequireResolve
	if late && len(paths) == 0 {
		return esbuild.OnResolveResult{Path: a.Path, External: true}
	}
	text := unresolved + a.Path
	if len(paths) == 0 {
		text = foreign + a.Path
	}
	return esbuild.OnResolveResult{Errors: []esbuild.Message{{Text: text}}}
}

// What the messages of resolve begin with; the rest is the import's path.
const (
	unresolved = "unresolved "
	foreign    = "foreign "
)

// bundleError is esbuild's message as a fault.
func (s Source) bundleError(m esbuild.Message) error {
	text, file := s.Text, ""
	if m.Location != nil {
		if file = s.file(m.Location.File); file != "" {
			text = s.Modules[strings.TrimPrefix(m.Location.File, space+":")]
		}
	}
	e := parseError(Plain(text), m, 0)
	if e.Position != nil {
		e.Position.File = file
	}
	if name, ok := strings.CutPrefix(m.Text, unresolved); ok {
		e.Message = "the module " + quote(name) + " is not among the saved scripts"
		e.Hint = "a script imports files of its own scripts folder, by a path that begins with ./ or ../"
	}
	if name, ok := strings.CutPrefix(m.Text, foreign); ok {
		e.Message, e.Hint = "the module "+quote(name)+" cannot be imported", ImportHint
	}
	return e
}

// file is the name of a module in positions: empty for the program itself.
func (s Source) file(name string) string {
	name = strings.TrimPrefix(name, space+":")
	if name == s.Path {
		return ""
	}
	return name
}

func quote(name string) string {
	text, _ := json.Marshal(clip(name, 80)) // a string always marshals
	return string(text)
}

func loader(name string) esbuild.Loader {
	switch path.Ext(name) {
	case ".json":
		return esbuild.LoaderJSON
	case ".js", ".mjs":
		return esbuild.LoaderJS
	}
	return esbuild.LoaderTS
}
