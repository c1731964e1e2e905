package config

import (
	"strings"

	"tenon/daemon/internal/fault"
)

// IsBatch reports whether a program that Lookup found on windows is a batch
// file, which only cmd.exe can run.
func IsBatch(file string) bool {
	lower := strings.ToLower(file)
	return strings.HasSuffix(lower, ".cmd") || strings.HasSuffix(lower, ".bat")
}

// BatchLine is the command line by which cmd.exe runs a batch file so that each
// argument arrives as it is given. cmd.exe reads the line before the program
// does, by rules of its own: outside of quotes &, |, <, > and ^ mean something,
// and %NAME% does everywhere. So every argument is quoted, a quote is doubled
// (which keeps cmd.exe inside the quotes, and the program reads one), and each %
// is followed by a variable's empty slice, %cd:~,%, which leaves the % alone.
//
// What no quoting can carry is refused with a ConfigError: a line break ends the
// command, a NUL the string, and a file's name cannot have a quote.
func BatchLine(file string, args []string) (string, error) {
	if strings.ContainsAny(file, "\"\r\n\x00") || strings.HasSuffix(file, `\`) {
		return "", fault.New(fault.ConfigError, "%q cannot be the name of a batch file", file)
	}
	var line strings.Builder
	// /e:ON has the slices of variables, /v:OFF no second kind of them (!NAME!),
	// /d no commands of the registry before ours; the outer quotes of /c go away.
	line.WriteString(`cmd.exe /e:ON /v:OFF /d /c ""` + strings.ReplaceAll(file, "%", emptied) + `"`)
	for i, arg := range args {
		if strings.ContainsAny(arg, "\r\n\x00") {
			return "", fault.New(fault.ConfigError, "argument %d of the batch file %s holds a line break or a NUL, which cmd.exe cannot pass on", i+1, file).
				WithHint("start the program behind it directly, without the batch file")
		}
		line.WriteByte(' ')
		quoteBatch(&line, arg)
	}
	line.WriteByte('"')
	return line.String(), nil
}

// emptied is a % that no variable's name can follow.
const emptied = "%%cd:~,%"

// quoteBatch writes one argument. Backslashes count only before a quote, where
// the program halves them.
func quoteBatch(line *strings.Builder, arg string) {
	line.WriteByte('"')
	backslashes := 0
	for _, r := range arg {
		switch r {
		case '\\':
			backslashes++
			line.WriteByte('\\')
			continue
		case '"':
			line.WriteString(strings.Repeat(`\`, backslashes) + `""`)
		case '%':
			line.WriteString(emptied)
		default:
			line.WriteRune(r)
		}
		backslashes = 0
	}
	line.WriteString(strings.Repeat(`\`, backslashes) + `"`)
}
