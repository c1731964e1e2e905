package catalog

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"sort"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"tenon/daemon/internal/config"
)

// reserved are words that cannot be an identifier everywhere in a program, or
// that mean something else on every object: a namespace whose tool is called
// "then" would be taken for a promise.
var reserved = words(`
	await break case catch class const continue debugger default delete do else
	enum export extends false finally for function if import in instanceof new
	null return super switch this throw true try typeof var void while with yield
	implements interface let package private protected public static
	eval arguments async of get set undefined NaN Infinity
	then constructor prototype toString toLocaleString toJSON valueOf
	hasOwnProperty isPrototypeOf propertyIsEnumerable
	__proto__ __defineGetter__ __defineSetter__ __lookupGetter__ __lookupSetter__`)

// scriptGlobals are the globals of a program that tenon itself gives; no
// namespace may have such a name, so that one server can never break scripting.
var scriptGlobals = words(`
	tools call search describe resources prompts emit log console artifact args
	input stdin run step sleep session raw ToolError`)

// hostGlobals are the globals that every JavaScript program has, and those that
// only some engines have. A namespace may have such a name under tools, but is
// then no bare global.
var hostGlobals = words(`
	globalThis global window self process module exports require fetch Bun Deno
	Object Function Array Number Boolean String Symbol BigInt Math Date JSON
	RegExp Map Set WeakMap WeakSet WeakRef FinalizationRegistry Promise Proxy
	Reflect Iterator AsyncIterator Intl Temporal Atomics DataView ArrayBuffer
	SharedArrayBuffer Int8Array Uint8Array Uint8ClampedArray Int16Array
	Uint16Array Int32Array Uint32Array Float16Array Float32Array Float64Array
	BigInt64Array BigUint64Array Error EvalError RangeError ReferenceError
	SyntaxError TypeError URIError AggregateError SuppressedError DisposableStack
	AsyncDisposableStack parseInt parseFloat isNaN isFinite decodeURI
	decodeURIComponent encodeURI encodeURIComponent escape unescape setTimeout
	clearTimeout setInterval clearInterval setImmediate queueMicrotask
	structuredClone performance crypto navigator atob btoa URL URLSearchParams
	TextEncoder TextDecoder AbortController AbortSignal Event EventTarget Blob
	File FormData Headers Request Response WebSocket Buffer __main`)

// words is a set of words, made when first asked for: importing this package
// must cost a command nothing.
func words(list string) func(string) bool {
	set := sync.OnceValue(func() map[string]bool {
		m := map[string]bool{}
		for _, w := range strings.Fields(list) {
			m[w] = true
		}
		return m
	})
	return func(w string) bool { return set()[w] }
}

// Ident is the identifier of a name, whatever else there is: characters that no
// identifier has become "_", a leading digit gets a "_" before it, a reserved
// word a "_" behind it. Letters are composed (NFC), as keyboards and models
// write them: two identifiers never look the same and differ. A long name is
// cut, and ends in twelve hexadecimal digits of its digest.
func Ident(name string) string {
	ident := identOf(name)
	if utf8.RuneCountInString(ident) <= identLimit {
		return ident
	}
	tail := "_" + digest(name, 12)
	return string([]rune(ident)[:identLimit-len(tail)]) + tail
}

// identLimit is the longest identifier, in characters: a longer one fills the
// catalogue and is never written without a mistake.
const identLimit = 128

func identOf(name string) string {
	var b strings.Builder
	for i, r := range norm.NFC.String(name) {
		switch {
		case r == '_' || r == '$' || unicode.IsLetter(r) && r != verticalTilde:
			b.WriteRune(r)
		case unicode.Is(unicode.Nd, r) || i > 0 && unicode.In(r, unicode.Mn, unicode.Mc):
			if i == 0 {
				b.WriteByte('_')
			}
			b.WriteRune(r)
		default:
			b.WriteByte('_')
		}
	}
	ident := b.String()
	if ident == "" {
		return "_"
	}
	if reserved(ident) {
		return ident + "_"
	}
	return ident
}

// verticalTilde is the one letter of Unicode that no identifier may have: it is
// syntax as well (UAX #31).
const verticalTilde = '\u2e2f'

// Idents gives each of the names of one list its identifier. Where two names
// become the same one, the name that needed no change keeps it and the others
// get a digest of the name behind it. The result depends on nothing but names.
func Idents(names []string) []string {
	return distinct(names, names, Ident)
}

// NamespaceNames gives each server of one view its namespace. A wanted name
// (Server.Namespace) comes before the server's own.
func NamespaceNames(names []string) []string { return distinctPairs(names, names) }

// distinctPairs names servers by what is wanted; where two collide, the digest
// is of the server's own name, which no two share.
func distinctPairs(wanted, servers []string) []string {
	return distinct(wanted, servers, func(name string) string {
		ident := Ident(name)
		if scriptGlobals(ident) {
			return ident + "_"
		}
		return ident
	})
}

// Bare reports whether a namespace may also be a bare global.
func Bare(namespace string) bool {
	return !hostGlobals(namespace) && !scriptGlobals(namespace) && !reserved(namespace)
}

// distinct gives each name its identifier; identities are what the digests of
// colliding ones are made of.
func distinct(names, identities []string, ident func(string) string) []string {
	out := make([]string, len(names))
	count := make(map[string]int, len(names))
	exact := make(map[string]int, len(names))
	for i, name := range names {
		out[i] = ident(name)
		count[out[i]]++
		if out[i] == name {
			exact[name]++
		}
	}
	keeps := func(i int) bool { return count[out[i]] == 1 || out[i] == names[i] && exact[names[i]] == 1 }
	// A name may be written to look like one that got a digest: it has what it
	// says, and the other a longer digest.
	for n := 6; ; n *= 2 {
		taken := make(map[string]bool, len(names))
		full := slices.Clone(out)
		for i := range names {
			if !keeps(i) {
				full[i] += "_" + digest(identities[i], min(n, 2*sha256.Size))
			}
			taken[full[i]] = true
		}
		if len(taken) == len(names) || n > 2*sha256.Size {
			return full
		}
	}
}

// FlatName is the name of a tool where all tools of all servers stand in one
// list for a model: server and tool joined by "_". Where characters had to be
// replaced, or the name is longer than 64, twelve hexadecimal digits of the
// pair's digest end it, so that it is distinct whoever else is there.
func FlatName(server, tool string) string {
	joined := server + "_" + tool
	var b strings.Builder
	for _, r := range joined {
		if r < 0x80 && (unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' || r == '-') {
			b.WriteRune(r)
		} else {
			b.WriteByte('_')
		}
	}
	name := b.String()
	if name == joined && len(name) <= flatLimit {
		return name
	}
	return withDigest(name, server, tool)
}

// FlatNameDigest is FlatName with the digest in any case: for pairs whose joined
// names are the same.
func FlatNameDigest(server, tool string) string {
	name := FlatName(server, tool)
	if name != server+"_"+tool {
		return name // it has one
	}
	return withDigest(name, server, tool)
}

// flatLimit is the longest name of a tool that every host takes.
const flatLimit = 64

func withDigest(name, server, tool string) string {
	tail := "_" + digest(server+"\x00"+tool, 12)
	return name[:min(len(name), flatLimit-len(tail))] + tail
}

func digest(s string, n int) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])[:n]
}

// Named is one server of a view with its namespace.
type Named struct {
	Server    string
	Namespace string
}

// Namespaces names every server of a view, ordered by server name. Disabled
// servers count as well, so that switching one on renames nothing.
func Namespaces(v *config.View) []Named {
	servers := make([]string, 0, len(v.Servers))
	for name := range v.Servers {
		servers = append(servers, name)
	}
	sort.Strings(servers)
	wanted := make([]string, len(servers))
	for i, name := range servers {
		wanted[i] = name
		if ns := v.Servers[name].Namespace; ns != "" {
			wanted[i] = ns
		}
	}
	out := make([]Named, len(servers))
	for i, ns := range distinctPairs(wanted, servers) {
		out[i] = Named{Server: servers[i], Namespace: ns}
	}
	return out
}
