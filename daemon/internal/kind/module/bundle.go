package module

import (
	"crypto/sha256"
	_ "embed" // the ways of calling a module
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	esbuild "github.com/evanw/esbuild/pkg/api"

	"tenon/daemon/internal/config"
	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/script"
)

var (
	//go:embed entry_call.js
	entryCall string
	//go:embed entry_loop.js
	entryLoop string
	//go:embed calls.js
	calls string
)

// The places of what a bundle is made of, in esbuild's words.
const (
	ownSpace     = "tenon"
	runtimeSpace = "runtime"
)

// maxFile bounds one file of a module, in bytes.
const maxFile = 4 << 20

// bundle is a module with its imports as one program.
type bundle struct {
	code  string
	where *script.Map
	files map[string]string // every file that was read or looked for: its digest, empty when it was not there
}

// bundler makes bundles of one entry of the configuration.
type bundler struct {
	spec *config.KindSpec
}

func (b bundler) embedded() bool { return b.spec.Module.Engine == "embedded" }

// build bundles the module as it is now. The error is a ParseError whose message
// begins with file, line and column. The files are told in either case.
func (b bundler) build() (*bundle, map[string]string, error) {
	r := &reading{bundler: b, files: map[string]string{}}
	r.sum(b.spec.Module.File)
	o := esbuild.BuildOptions{
		Stdin: &esbuild.StdinOptions{
			Contents: map[bool]string{true: entryCall, false: entryLoop}[b.embedded()], ResolveDir: filepath.Dir(b.spec.Module.File), Sourcefile: "tenon",
		},
		Bundle: true, Write: false, Format: esbuild.FormatESModule, Platform: esbuild.PlatformNode, Target: esbuild.ES2024,
		Supported: map[string]bool{"top-level-await": true}, Charset: esbuild.CharsetUTF8, LogLevel: esbuild.LogLevelSilent,
		LegalComments: esbuild.LegalCommentsNone, Sourcemap: esbuild.SourceMapExternal, SourcesContent: esbuild.SourcesContentExclude,
		Outfile: filepath.Join(filepath.Dir(b.spec.Module.File), "tenon.bundle.js"), AbsWorkingDir: filepath.Dir(b.spec.Module.File),
		// What a tsconfig.json says is not part of the module.
		TsconfigRaw: "{}",
		Plugins:     []esbuild.Plugin{{Name: "tenon", Setup: r.plug}},
	}
	if b.embedded() { // packages that have a form without a platform
		o.MainFields, o.Conditions = []string{"module", "main"}, []string{"import", "default"}
	}
	result := esbuild.Build(o)
	if len(result.Errors) > 0 {
		return nil, r.files, b.fault(result.Errors[0])
	}
	out := &bundle{files: r.files}
	for _, f := range result.OutputFiles {
		if strings.HasSuffix(f.Path, ".map") {
			where, err := script.ReadMap(f.Contents)
			if err != nil {
				return nil, r.files, fault.New(fault.InternalError, "source map: %w", err)
			}
			out.where = where
		} else {
			out.code = string(f.Contents)
		}
	}
	return out, r.files, nil
}

// fault is esbuild's message with its place.
func (b bundler) fault(m esbuild.Message) *fault.Error {
	text := m.Text
	if m.Location != nil {
		text = fmt.Sprintf("%s:%d:%d: %s", b.short(m.Location.File), m.Location.Line, m.Location.Column+1, m.Text)
	}
	e := fault.New(fault.ParseError, "%s", text)
	for _, n := range m.Notes {
		if strings.HasPrefix(n.Text, hintMark) {
			return e.WithHint("%s", strings.TrimPrefix(n.Text, hintMark))
		}
	}
	if m.Location != nil {
		if line := strings.TrimSpace(m.Location.LineText); line != "" && len(line) <= 120 {
			return e.WithHint("in: %s", line)
		}
	}
	return e
}

// short is a path as messages have it: from the module's directory when it lies
// below.
func (b bundler) short(path string) string {
	dir := filepath.Dir(b.spec.Module.File)
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	if rel, err := filepath.Rel(dir, path); err == nil && !strings.HasPrefix(rel, "..") {
		return rel
	}
	return path
}

const hintMark = "hint: "

// reading is one build's view of the file system. esbuild asks from several
// goroutines at once.
type reading struct {
	bundler

	mu    sync.Mutex // guards files
	files map[string]string
}

func (r *reading) plug(p esbuild.PluginBuild) {
	p.OnResolve(esbuild.OnResolveOptions{Filter: ".*"}, func(a esbuild.OnResolveArgs) (esbuild.OnResolveResult, error) {
		if a.PluginData == passed {
			return esbuild.OnResolveResult{}, nil
		}
		return r.resolve(p, a), nil
	})
	p.OnLoad(esbuild.OnLoadOptions{Filter: ".*", Namespace: ownSpace}, func(a esbuild.OnLoadArgs) (esbuild.OnLoadResult, error) {
		return esbuild.OnLoadResult{Contents: &calls, Loader: esbuild.LoaderJS}, nil
	})
	p.OnLoad(esbuild.OnLoadOptions{Filter: ".*", Namespace: runtimeSpace}, func(a esbuild.OnLoadArgs) (esbuild.OnLoadResult, error) {
		name, err := json.Marshal(a.Path)
		code := "module.exports = globalThis.require(" + string(name) + ")"
		return esbuild.OnLoadResult{Contents: &code, Loader: esbuild.LoaderJS}, err
	})
	p.OnLoad(esbuild.OnLoadOptions{Filter: ".*", Namespace: "file"}, func(a esbuild.OnLoadArgs) (esbuild.OnLoadResult, error) {
		return r.load(a.Path)
	})
}

// passed marks a resolution that is esbuild's own business.
const passed = "passed"

func (r *reading) resolve(p esbuild.PluginBuild, a esbuild.OnResolveArgs) esbuild.OnResolveResult {
	refuse := func(hint, format string, args ...any) esbuild.OnResolveResult {
		return esbuild.OnResolveResult{Errors: []esbuild.Message{{Text: fmt.Sprintf(format, args...), Notes: []esbuild.Note{{Text: hintMark + hint}}}}}
	}
	switch a.Path {
	case "tenon:module":
		return esbuild.OnResolveResult{Path: r.spec.Module.File, Namespace: "file"}
	case "tenon:calls":
		return esbuild.OnResolveResult{Path: a.Path, Namespace: ownSpace}
	}
	if local(a.Path) {
		path := a.Path
		if !filepath.IsAbs(path) {
			path = filepath.Join(a.ResolveDir, path)
		}
		for _, file := range config.ImportCandidates(path) {
			if r.sum(file) != "" {
				return esbuild.OnResolveResult{Path: file, Namespace: "file"}
			}
		}
		return refuse("an import is meant from the file that it stands in", "no file is found for %q", a.Path)
	}
	if builtin(a.Path) {
		if r.embedded() {
			return refuse(`"engine": "node" (or deno, bun) has the runtime's own modules`, "the embedded engine has no module %q", a.Path)
		}
		return esbuild.OnResolveResult{Path: a.Path, Namespace: runtimeSpace}
	}
	if r.spec.Pins != nil {
		return refuse("copy what is needed into a file of the project", "a project's module imports no packages, as %q is: nobody has agreed to what is in it", a.Path)
	}
	found := p.Resolve(a.Path, esbuild.ResolveOptions{Importer: a.Importer, Namespace: a.Namespace, ResolveDir: a.ResolveDir, Kind: a.Kind, PluginData: passed})
	if len(found.Errors) > 0 {
		return refuse("install it beside the module, or import a file", "the package %q is not found", a.Path)
	}
	return esbuild.OnResolveResult{Path: found.Path, Namespace: found.Namespace, External: found.External}
}

func local(path string) bool {
	return strings.HasPrefix(path, "./") || strings.HasPrefix(path, "../") || path == "." || path == ".." || filepath.IsAbs(path)
}

// builtins are the runtimes' own modules that have a name without node: before it.
var builtins = strings.Fields("assert async_hooks buffer child_process crypto dns events fs http http2 https module net os path perf_hooks process querystring readline stream string_decoder timers tls tty url util v8 vm worker_threads zlib")

func builtin(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return strings.HasPrefix(path, "node:") || strings.HasPrefix(path, "bun:") || path == "bun" || slices.Contains(builtins, first)
}

// sum notes a file with its digest; empty when it cannot be read.
func (r *reading) sum(file string) string {
	r.mu.Lock()
	sum, known := r.files[file]
	r.mu.Unlock()
	if known {
		return sum
	}
	sum, _ = digest(file)
	r.note(file, sum)
	return sum
}

func (r *reading) note(file, sum string) {
	r.mu.Lock()
	r.files[file] = sum
	r.mu.Unlock()
}

func digest(file string) (string, []byte) {
	info, err := os.Stat(file)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxFile {
		return "", nil
	}
	doc, err := os.ReadFile(file)
	if err != nil {
		return "", nil
	}
	sum := sha256.Sum256(doc)
	return hex.EncodeToString(sum[:]), doc
}

// load reads a file, which has to be one that was agreed to.
func (r *reading) load(file string) (esbuild.OnLoadResult, error) {
	sum, doc := digest(file)
	r.note(file, sum)
	refuse := func(hint, format string, args ...any) (esbuild.OnLoadResult, error) {
		return esbuild.OnLoadResult{Errors: []esbuild.Message{{Text: fmt.Sprintf(format, args...), Notes: []esbuild.Note{{Text: hintMark + hint}}}}}, nil
	}
	switch {
	case sum == "":
		return refuse(fmt.Sprintf("a file of a module is at most %d MiB", maxFile>>20), "%s cannot be read", r.short(file))
	case r.spec.Pins != nil && r.spec.Pins[file] == "":
		return refuse("write the import as a plain text: import … from \"./file\"", "%s is not among the files that were trusted", r.short(file))
	case r.spec.Pins != nil && r.spec.Pins[file] != sum:
		return refuse("look at it, then run tenon trust", "%s changed since it was trusted", r.short(file))
	}
	text := string(doc)
	return esbuild.OnLoadResult{Contents: &text, Loader: loader(file), ResolveDir: filepath.Dir(file)}, nil
}

func loader(file string) esbuild.Loader {
	switch filepath.Ext(file) {
	case ".tsx":
		return esbuild.LoaderTSX
	case ".jsx":
		return esbuild.LoaderJSX
	case ".json":
		return esbuild.LoaderJSON
	case ".js", ".mjs", ".cjs":
		return esbuild.LoaderJS
	case ".txt", ".md":
		return esbuild.LoaderText
	}
	return esbuild.LoaderTS
}
