package typecheck

import (
	"crypto/sha256"
	_ "embed"
	"fmt"
	"path/filepath"
	"strings"

	"tenon/daemon/internal/script"
)

// Names of the files of a check. Declarations are .d.ts files, in which a
// checker reports nothing: a mistake in a server's schema is not the program's.
const (
	toolTypes  = "tools.d.ts"
	hostTypes  = "host.d.ts"
	stem       = "program"
	head       = "async function __main() {\n"
	foot       = "\n}\n"
	tsSettings = "tsconfig.json"
	dnSettings = "deno.json"
)

// embeddedTypes is what a program finds in the embedded engine beside what
// tenon declares.
//
//go:embed embedded.d.ts
var embeddedTypes string

// fetchTypes is what it finds besides where fetch is.
//
//go:embed fetch.d.ts
var fetchTypes string

// processTypes is what process engines have besides: without the runtime's own
// declarations, which may not be here, the most that can be said is that it exists.
const processTypes = `
declare module "*";
declare const process: any, Buffer: any, global: any, require: any, module: any, exports: any, Deno: any, Bun: any;
declare const fetch: any, Request: any, Response: any, Headers: any, FormData: any, Blob: any, File: any, WebSocket: any, Worker: any;
declare const ReadableStream: any, WritableStream: any, TransformStream: any, navigator: any, WebAssembly: any;
interface ImportMeta { [name: string]: any }
`

// program is the files of one check.
type program struct {
	name  string // of the program's own file
	text  string
	above int // lines of ours before the author's first
	types string
	host  string
}

// programOf makes the files: a program that is no module becomes the body of an
// async function, as for its execution, so that await and return are right at
// top level and every line but the first stays in its place.
func programOf(r Request) *program {
	p := &program{name: stem + ".ts", types: r.Types, host: embeddedTypes}
	switch filepath.Ext(r.Name) {
	case ".js", ".mjs", ".cjs":
		p.name = stem + ".js"
	}
	switch {
	case r.Fetch && !r.Process:
		p.host += fetchTypes
	case r.Process:
		p.host += processTypes
	}
	source := script.Plain(r.Source)
	if r.Module {
		p.text = source
		return p
	}
	p.text, p.above = head+source+foot, strings.Count(head, "\n")
	return p
}

// files are what lies in the directory of a check by t.
func (p *program) files(t *tool) map[string]string {
	out := map[string]string{p.name: p.text, toolTypes: p.types, hostTypes: p.host}
	if t.kind == "deno" {
		out[dnSettings] = denoSettings
	} else {
		out[tsSettings] = fmt.Sprintf(tscSettings, p.name, toolTypes, hostTypes)
	}
	return out
}

// The files of a check are all that there is: what a program imports or refers to
// could be any file that a checker may read, and its content would come back in
// the checker's words. tsc has a setting for it; deno is led to a directory that
// does not exist.
//
// What is checked: how values are used, null and undefined among it. Types that
// the author left out are no mistake, since plain JavaScript is a program too.
// No library of a browser is taken in: its hundreds of globals (name, status,
// open, …) would hide misspelt names and stand against servers' names.
const (
	strictness = `"strict": true, "noImplicitAny": false, "noImplicitThis": false, "useUnknownInCatchVariables": false,
    "strictPropertyInitialization": false, "checkJs": true`
	denoSettings = `{
  "lock": false,
  "imports": { "file:///": "./.none/" },
  "compilerOptions": {
    "lib": ["esnext"], "types": [],
    ` + strictness + `
  }
}
`
	tscSettings = `{
  "compilerOptions": {
    "target": "ESNext", "lib": ["ESNext"], "types": [],
    "module": "ESNext", "moduleResolution": "bundler", "moduleDetection": "force",
    "noResolve": true, "resolveJsonModule": false, "allowJs": true, "noEmit": true, "skipLibCheck": true,
    ` + strictness + `
  },
  "files": ["%s", "%s", "%s"]
}
`
)

// arguments are the checker's own, for a check in its working directory.
func (p *program) arguments(t *tool) []string {
	if t.kind == "deno" {
		// Nothing is fetched: what the program imports is there or is unknown.
		return []string{"check", "--quiet", "--config", dnSettings, "--no-remote", "--no-npm", p.name, toolTypes, hostTypes}
	}
	return []string{"--pretty", "false", "--project", tsSettings}
}

// cacheKey is the sum of program, declarations and checker.
type cacheKey [sha256.Size]byte

// key names the check: the same files and checker give the same report.
func (p *program) key(t *tool) cacheKey {
	h := sha256.New()
	for _, part := range []string{t.kind, t.path, t.version, t.stamp, p.name, p.text, p.types, p.host} {
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	return cacheKey(h.Sum(nil))
}
