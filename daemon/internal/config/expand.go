package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
)

// maxFileValue caps what {file:path} may bring in.
const maxFileValue = 64 << 10

// maxDefaults caps how deeply defaults may hold placeholders with defaults.
const maxDefaults = 8

// maxExpanded caps one expanded field, so that nested defaults cannot explode.
const maxExpanded = 1 << 20

// expander replaces placeholders in the fields of one server:
//
//	${NAME}  ${NAME:-default}  {env:NAME}  {file:path}  ${workspace}  ${sessionDir}
//
// and, as editors write them, ${env:NAME}, ${workspaceFolder}, ${userHome}.
// "$${" is a literal "${"; every other "$" stands for itself. A default is
// used when the variable is unset or empty, and may hold placeholders.
type expander struct {
	env, fallback Env
	home          string
	dir           string // of the file that names the placeholders
	workspace     string
	sessionDir    func() (string, error)

	depth    int             // of the default being expanded
	personal bool            // a caller placeholder was used
	secrets  map[string]bool // values that came from a secret place
}

// missing is a placeholder without a value. It never holds a value.
type missing struct{ what, hint string }

func (m *missing) Error() string { return m.what }

var variableName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
})

// expand replaces the placeholders of s. sensitive says that every variable
// used here is a secret, whatever its name.
func (x *expander) expand(s string, sensitive bool) (string, error) {
	if !strings.ContainsAny(s, "${") {
		return s, nil
	}
	if x.depth++; x.depth > maxDefaults {
		return "", &missing{what: fmt.Sprintf("defaults are nested deeper than %d levels", maxDefaults)}
	}
	defer func() { x.depth-- }()
	var out strings.Builder
	for i := 0; i < len(s); {
		rest := s[i:]
		switch {
		case strings.HasPrefix(rest, "$${"):
			out.WriteString("${")
			i += 3
		case strings.HasPrefix(rest, "${"):
			end := closing(rest)
			if end < 0 {
				return "", &missing{what: `"${" has no "}"`, hint: `write $${ for a literal ${`}
			}
			value, err := x.dollar(rest[2:end], sensitive)
			if err != nil {
				return "", err
			}
			out.WriteString(value)
			i += end + 1
		case strings.HasPrefix(rest, "{env:"), strings.HasPrefix(rest, "{file:"):
			end := strings.IndexByte(rest, '}')
			if end < 0 {
				return "", &missing{what: `"{" of a placeholder has no "}"`}
			}
			kind, what, _ := strings.Cut(rest[1:end], ":")
			value, err := x.brace(kind, what, sensitive)
			if err != nil {
				return "", err
			}
			out.WriteString(value)
			i += end + 1
		default:
			out.WriteByte(s[i])
			i++
		}
		if out.Len() > maxExpanded {
			return "", &missing{what: fmt.Sprintf("the value grows beyond %d bytes", maxExpanded)}
		}
	}
	return out.String(), nil
}

// closing returns the offset of the "}" that ends the "${" at the start of s.
func closing(s string) int {
	depth := 0
	for i := 0; i < len(s); i++ {
		switch {
		case strings.HasPrefix(s[i:], "${"):
			depth++
			i++
		case s[i] == '{' && (strings.HasPrefix(s[i:], "{env:") || strings.HasPrefix(s[i:], "{file:")):
			depth++
		case s[i] == '}':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

func (x *expander) dollar(body string, sensitive bool) (string, error) {
	switch body {
	case "workspace", "workspaceFolder":
		x.personal = true
		if x.workspace == "" {
			return "", &missing{what: "${" + body + "} has no value: the caller has no directory"}
		}
		return x.workspace, nil
	case "sessionDir":
		x.personal = true
		if x.sessionDir == nil {
			return "", &missing{what: "${sessionDir} has no value here: there is no session"}
		}
		return x.sessionDir()
	case "userHome":
		return x.home, nil
	}
	if name, ok := strings.CutPrefix(body, "env:"); ok {
		return x.variable(name, sensitive)
	}
	name, fallback, hasDefault := strings.Cut(body, ":-")
	if !variableName().MatchString(name) {
		return "", &missing{what: fmt.Sprintf("${%s} is not a placeholder", body), hint: "write $${ for a literal ${"}
	}
	if !hasDefault {
		return x.variable(name, sensitive)
	}
	if value, ok := x.lookup(name); ok && value != "" {
		return x.remember(name, value, sensitive), nil
	}
	return x.expand(fallback, sensitive)
}

func (x *expander) brace(kind, what string, sensitive bool) (string, error) {
	if kind == "env" {
		return x.variable(what, sensitive)
	}
	return x.file(what)
}

func (x *expander) variable(name string, sensitive bool) (string, error) {
	value, ok := x.lookup(name)
	if !ok {
		return "", &missing{what: "variable " + name + " is not set", hint: "set " + name + " where you start your agent or shell, or write ${" + name + ":-default}"}
	}
	return x.remember(name, value, sensitive), nil
}

func (x *expander) lookup(name string) (string, bool) {
	if neverPassed(name) {
		return "", false
	}
	if value, ok := x.env[name]; ok {
		return value, true
	}
	value, ok := x.fallback[name]
	return value, ok
}

// remember notes a secret. Variables that every server gets anyway (HOME,
// PATH …) are no secrets: masking them would garble every message.
func (x *expander) remember(name, value string, sensitive bool) string {
	if (sensitive || looksSecret(name)) && !inBase(name) {
		x.secret(value)
	}
	return value
}

// minSecret is the shortest value that is masked: shorter ones ("1", "yes")
// would be found everywhere.
const minSecret = 4

func (x *expander) secret(value string) {
	if len(value) < minSecret {
		return
	}
	if x.secrets == nil {
		x.secrets = map[string]bool{}
	}
	x.secrets[value] = true
}

func (x *expander) file(path string) (string, error) {
	file := expandHome(path, x.home)
	if !filepath.IsAbs(file) {
		file = filepath.Join(x.dir, file)
	}
	doc, err := readCapped(file, maxFileValue)
	if err != nil {
		if os.IsNotExist(err) {
			return "", &missing{what: "file " + file + " does not exist"}
		}
		return "", &missing{what: "file " + file + " cannot be read: " + reason(err)}
	}
	value := strings.TrimSuffix(strings.TrimSuffix(string(doc), "\n"), "\r")
	if strings.ContainsRune(value, 0) {
		return "", &missing{what: "file " + file + " is not text"}
	}
	x.secret(value)
	return value, nil
}

// reason is an error's text without the path that the message has already.
func reason(err error) string {
	var p *os.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}
