// Package threats holds what docs/security.md claims of the whole daemon against
// a daemon that runs: other users, web pages, sessions that reach for what is not
// theirs. It has nothing but tests; claims about one room are tested there.
package threats
