package config

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// baseNames is the allow-list: the variables of a caller that servers, scripts
// and the daemon get without being named. docs/security.md prints it.
var baseNames = []string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TERM", "COLORTERM", "NO_COLOR",
	"TMPDIR", "TEMP", "TMP", "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "SSH_AUTH_SOCK", "DBUS_SESSION_BUS_ADDRESS",
	"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "no_proxy", "all_proxy",
	"SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS",
}

// basePrefixes are families of variables on the allow-list.
var basePrefixes = []string{"LC_", "XDG_"}

// BaseNames lists the allow-list for the docs: names, then prefixes with *.
func BaseNames() []string {
	out := slices.Clone(baseNames)
	for _, p := range basePrefixes {
		out = append(out, p+"*")
	}
	return out
}

func inBase(name string) bool {
	if slices.Contains(baseNames, name) {
		return true
	}
	return slices.ContainsFunc(basePrefixes, func(p string) bool { return strings.HasPrefix(name, p) })
}

// neverPassed names the proofs of a session, and the mark by which a server's
// processes are told (proctree.Marker): no server and no placeholder gets
// them, even where a config file asks.
func neverPassed(name string) bool {
	return name == "TENON_TICKET" || name == "TENON_SESSION_ID" || name == "TENON_GROUP"
}

// BaseEnv picks the allow-listed variables out of KEY=value lines.
func BaseEnv(environ []string) Env { return BaseOf(EnvFrom(environ)) }

// BaseOf picks the allow-listed variables out of env.
func BaseOf(env Env) Env {
	out := Env{}
	for name, value := range env {
		if inBase(name) && !neverPassed(name) {
			out[name] = value
		}
	}
	return out
}

// Pick adds to the allow-listed variables those that names lists (see Wanted):
// what a client sends to the daemon.
func Pick(environ []string, names []string) Env {
	all := EnvFrom(environ)
	out := BaseOf(all)
	for _, name := range names {
		if value, ok := all[name]; ok && !neverPassed(name) {
			out[name] = value
		}
	}
	return out
}

var secretName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)token|secret|passw|passphrase|credential|api[-_]?key|private|auth|bearer|cookie|signature|(^|[-_])(key|pat|pwd|pin|sig)($|[-_])|[a-z]Key$`)
})

// looksSecret reports whether a variable, header or parameter of this name
// usually holds a secret.
func looksSecret(name string) bool { return secretName().MatchString(name) }
