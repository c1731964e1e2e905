package config

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// interpreters are programs that execute text of their command line.
var interpreters = []string{
	"sh", "bash", "dash", "zsh", "ksh", "fish", "ash", "pwsh", "python", "perl", "ruby", "php", "node", "bun", "deno", "lua", "osascript",
}

// codeFlag is an option behind which such text stands.
var codeFlag = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(-[a-z]*[ceErp]|--eval|--print|--command|-Command|eval)$`)
})

// noCode refuses an argument within text that a shell or another interpreter
// executes: there it would not stay one word, whatever is in it. It knows the
// usual ways to write that, not every one.
func noCode(t CommandTool, m member) error {
	interpreter := ""
	for i, word := range t.Command {
		name := strings.TrimRight(filepath.Base(word), "0123456789.")
		if interpreter == "" {
			if slices.Contains(interpreters, name) {
				interpreter = name
			}
			continue
		}
		if !codeFlag().MatchString(t.Command[i-1]) {
			continue
		}
		pieces, err := ParseWord(braced(word))
		if err != nil {
			return nil // told by who reads all words
		}
		for _, piece := range pieces {
			if piece.Value != nil && !piece.Value.HasText {
				return &placed{at: m.at, message: fmt.Sprintf("tools.%s.command: {%s} stands in text that %s executes, where it would not stay one word", m.name, piece.Value.Name, interpreter),
					hint: fmt.Sprintf(`hand it over as an argument: ["sh", "-c", "… \"$1\"", "sh", "{%s}"]`, piece.Value.Name)}
			}
		}
	}
	return nil
}
