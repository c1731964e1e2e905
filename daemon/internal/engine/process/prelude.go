package process

import (
	_ "embed" // the inside of a process
	"strings"
	"sync"

	"tenon/daemon/internal/engine/guest"
)

//go:embed guest.js
var inside string

// source is the file that a runtime executes.
var source = sync.OnceValue(func() string {
	var b strings.Builder
	b.WriteString("import fs from 'node:fs';\nimport process from 'node:process';\nimport { createRequire } from 'node:module';\nconst core = ")
	b.WriteString(strings.TrimSpace(guest.Core))
	b.WriteString(";\nconst asks = ")
	b.WriteString(strings.TrimSpace(guest.Asks))
	b.WriteString(";\nconst consoles = ")
	b.WriteString(strings.TrimSpace(guest.Console))
	b.WriteString(";\n")
	b.WriteString(inside)
	return b.String()
})
