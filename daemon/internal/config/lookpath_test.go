package config

import (
	"slices"
	"strings"
	"testing"

	"tenon/daemon/internal/fault"
)

// windows is a lookup over files of that system, by their paths.
func windows(pathExt string, files ...string) Lookup {
	return Lookup{OS: "windows", PathExt: pathExt, Why: func(file string) string {
		if slices.ContainsFunc(files, func(f string) bool { return strings.EqualFold(f, file) }) {
			return ""
		}
		return "does not exist"
	}}
}

// vercel/ai#19157.
func TestOnWindowsTheBatchFileIsChosenAndNotTheScriptBesideIt(t *testing.T) {
	files := []string{`C:\node\npx`, `C:\node\npx.cmd`, `C:\node\npx.js`, `C:\node\node.exe`, `D:\own\npx.exe`, `D:\slashes/npx.cmd`, `C:\a;b\tool.bat`, `C:\repo\tools\run.cmd`, `C:\odd\x.y.exe`}
	for _, c := range []struct{ pathExt, name, path, want string }{
		{"", "npx", `C:\node`, `C:\node\npx.cmd`},
		{".COM;.EXE;.BAT;.CMD;.VBS;.JS", "npx", `C:\node`, `C:\node\npx.cmd`},
		{".JS;.CMD", "npx", `C:\node`, `C:\node\npx.cmd`}, // a process cannot be started from .js
		{".EXE", "npx", `C:\node;D:\own`, `D:\own\npx.exe`},
		{"", "npx", `D:\own;C:\node`, `D:\own\npx.exe`}, // the folder's order decides
		{"", "npx.cmd", `D:\own;C:\node`, `C:\node\npx.cmd`},
		{"", "NPX.CMD", `C:\node`, `C:\node\NPX.CMD`},
		{"", "node", `.;node;\node;C:node;C:\node\`, `C:\node\node.exe`}, // relative folders are skipped
		{"", "tool", `C:\node;"C:\a;b"`, `C:\a;b\tool.bat`},
		{"", "x.y", `C:\odd`, `C:\odd\x.y.exe`},
		{"", `.\tools\run`, ``, `C:\repo\tools\run.cmd`},
		{"", `./tools/run`, ``, `C:\repo\tools\run.cmd`},
		{"", `D:\slashes/npx`, ``, `D:\slashes/npx.cmd`},
	} {
		got, err := windows(c.pathExt, files...).Find(c.name, c.path, `C:\repo`)
		if err != nil || got != c.want {
			t.Errorf("%s in %s: got %q, %v, want %q", c.name, c.path, got, err, c.want)
		}
	}
	_, err := windows("", `C:\node\npx`).Find("npx", `C:\node;relative;D:\own`, `C:\repo`)
	if fault.KindOf(err) != fault.ConfigError || !strings.Contains(err.Error(), `looked in C:\node, D:\own`) {
		t.Errorf("a script without an extension is no program there: %v", err)
	}
}

func TestOtherSystemsKnowNoExtensions(t *testing.T) {
	l := Lookup{OS: "linux", PathExt: ".CMD", Why: func(file string) string {
		return map[string]string{"/b/npx": "", "/a/npx": "is not executable", "/repo/tools/run": ""}[file] + map[bool]string{true: "does not exist"}[!slices.Contains([]string{"/a/npx", "/b/npx", "/repo/tools/run"}, file)]
	}}
	if got, err := l.Find("npx", "relative:/a:/b", "/repo"); err != nil || got != "/b/npx" {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := l.Find("./tools/run", "", "/repo"); err != nil || got != "/repo/tools/run" {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := l.Find("npx.cmd", "/a:/b", "/repo"); err == nil || !strings.Contains(err.Error(), "looked in /a, /b") {
		t.Errorf("%v", err)
	}
	if _, err := l.Find("npx", "", "/repo"); err == nil || !strings.Contains(err.Error(), "names no folder") {
		t.Errorf("%v", err)
	}
}

// the line is read twice, by cmd.exe and by the program behind the batch
// file; both readings are played here.
func TestArgumentsOfABatchFileArriveUnchanged(t *testing.T) {
	args := []string{
		"plain", "two words", "", `a"b`, `"`, `""`, "a&b", "a & calc.exe", `" & calc.exe & "`, "|<>^()!", "^&", "%PATH%", "100%", "%%", "%cd%",
		`C:\dir\`, `C:\dir with blanks\`, `\\server\share`, `back\"slash`, `\\"`, `trailing\\`, "-y", "@scope/package@1.0", "tab\there", "ümläut", "a=b;c,d", "!VAR!", "'single'", "`x`", "{\"a\": [1, \"&\"]}",
	}
	line, err := BatchLine(`C:\Program Files\100% node\npx.cmd`, args)
	if err != nil {
		t.Fatal(err)
	}
	got := readByProgram(t, readByCmd(t, line))
	if len(got) == 0 || got[0] != `C:\Program Files\100% node\npx.cmd` {
		t.Fatalf("the batch file: %q", got)
	}
	if !slices.Equal(got[1:], args) {
		for i, arg := range args {
			if i+1 >= len(got) || got[i+1] != arg {
				t.Errorf("argument %d: %q", i, arg)
			}
		}
		t.Errorf("got %q", got[1:])
	}
}

func TestWhatNoQuotingCanCarryIsRefused(t *testing.T) {
	for _, c := range [][]string{{"a\nb"}, {"ok", "a\rb"}, {"a\x00b"}} {
		if _, err := BatchLine(`C:\x.cmd`, c); fault.KindOf(err) != fault.ConfigError || fault.From(err).Hint == "" {
			t.Errorf("%q: %v", c, err)
		}
	}
	if _, err := BatchLine("C:\\x\" & calc.cmd", nil); fault.KindOf(err) != fault.ConfigError {
		t.Errorf("%v", err)
	}
	for file, want := range map[string]bool{`C:\npx.cmd`: true, `C:\x.BAT`: true, `C:\x.exe`: false, `C:\npx`: false} {
		if IsBatch(file) != want {
			t.Errorf("%s: batch %v", file, !want)
		}
	}
}

// readByCmd is what cmd.exe /c makes of a line: the outer quotes go away, then
// variables are put in, then what stands outside of quotes is looked at.
func readByCmd(t *testing.T, line string) string {
	t.Helper()
	_, line, ok := strings.Cut(line, ` /d /c "`)
	if !ok || !strings.HasSuffix(line, `"`) {
		t.Fatalf("no /c with quotes around: %s", line)
	}
	line = line[:len(line)-1]
	vars := map[string]string{"PATH": `C:\secret`, "cd": `C:\here`, "VAR": "expanded"}
	var out strings.Builder
	for i := 0; i < len(line); i++ {
		end := strings.IndexByte(line[i+1:], '%')
		if line[i] != '%' || end <= 0 { // no second one, or %%: it stays
			out.WriteByte(line[i])
			continue
		}
		name, slice, sliced := strings.Cut(line[i+1:i+1+end], ":")
		value, known := vars[name]
		switch {
		case known && sliced && slice == "~,": // from 0, of length 0
		case known && !sliced:
			out.WriteString(value)
		default:
			out.WriteByte('%')
			continue
		}
		i += end + 1
	}
	quoted := false
	for _, r := range out.String() {
		if r == '"' {
			quoted = !quoted
		}
		if !quoted && strings.ContainsRune("&|<>^\n", r) {
			t.Errorf("cmd.exe sees %q outside of quotes: %s", r, out.String())
		}
	}
	return out.String()
}

// readByProgram splits a line as the C runtime of windows does.
func readByProgram(t *testing.T, line string) []string {
	t.Helper()
	var args []string
	var arg strings.Builder
	quoted, begun, backslashes := false, false, 0
	flush := func() { arg.WriteString(strings.Repeat(`\`, backslashes)); backslashes = 0 }
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == '\\':
			backslashes++
			begun = true
		case c == '"':
			arg.WriteString(strings.Repeat(`\`, backslashes/2))
			escaped := backslashes%2 == 1
			backslashes = 0
			switch {
			case escaped:
				arg.WriteByte('"')
			case quoted && i+1 < len(line) && line[i+1] == '"':
				arg.WriteByte('"')
				i++
			default:
				quoted = !quoted
			}
			begun = true
		case (c == ' ' || c == '\t') && !quoted:
			flush()
			if begun {
				args = append(args, arg.String())
			}
			arg.Reset()
			begun = false
		default:
			flush()
			arg.WriteByte(c)
			begun = true
		}
	}
	flush()
	if quoted {
		t.Errorf("a quote is open at the end: %s", line)
	}
	if begun {
		args = append(args, arg.String())
	}
	return args
}
