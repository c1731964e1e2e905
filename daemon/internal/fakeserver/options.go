package fakeserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

const usage = `usage: tenon fake-server [flags]

One scripted MCP server that misbehaves as told. Without flags it is honest:
stdio, one JSON message a line, protocol 2025-06-18.

WHEN is start, initialize, initialized, list, call or read; "call:2" means the second
time only, without a number every time. BYTES may use \n, \r, \t and \\.

  --name NAME               server name (fake)
  --version V               protocol version answered to initialize; from 2026-07-28 on to
                            server/discover, with questions as input_required results
  --instructions TEXT       instructions answered to initialize
  --tools FILE              answer tools/list with FILE: an array of tools or a result
  --more N                  add N generated tools, t1 to tN
  --material                offer resources, prompts and completions as well
  --resources N             N resources more, demo://r/1 to demo://r/N
  --prompts N               N prompts more, p1 to pN
  --pages N                 N entries on a page of a list
  --cursor repeat|endless   a cursor that never ends: the same again, or a new one each time
  --refuse-list N           answer the Nth tools/list with an error
  --ignore LIST             eof, term, cancel, roots (comma separated, repeatable)
  --delay WHEN MS           wait before answering initialize, list, call or read
  --exit WHEN CODE          exit with CODE instead of answering (start: at once)
  --say WHEN BYTES          write BYTES raw to stdout
  --stderr N                write N bytes of lines to stderr at start
  --child N                 start N grandchildren that sleep and keep stdout open
  --journal FILE            append every message received, with its time
  --lock FILE               hold FILE as a browser holds its profile; in use: exit 21
  --ping MS                 ping the client after initialized, then every MS
  --answer-ping CODE        answer the client's ping with this error code
  --ask WHEN                ask roots/list at initialize or call, and wait for the answer
  --question form|url|sampling
                            ask that at every call, and wait for the answer

over HTTP:
  --http ADDR               streamable HTTP at http://ADDR/mcp, SSE at http://ADDR/sse;
                            the first line of stdout is the address of /mcp
  --respond json|sse        how a request is answered (sse)
  --expire N                a session is forgotten after N calls (answers 404)
  --drop N                  a call's stream is closed after N bytes, while the tool works on
  --resume                  streams carry event ids and can be resumed after a drop
  --token T                 demand "Authorization: Bearer T"
  --token-rotates           each new session needs the next token: T, T.1, T.2 …
  --login ISSUER            demand a token that ISSUER vouches for (RFC 7662), and say so in metadata
  --login-client ID:SECRET  whom ISSUER knows this server as
  --login-scope S           the scope that a token needs
  --login-call-scope S      the scope that a call needs besides

tools:
`

// times is WHEN with an optional number: zero is every time.
type times struct {
	when string
	nth  int
}

type options struct {
	name         string
	version      string
	instructions string
	toolsFile    string
	more         int
	material     bool
	resources    int
	prompts      int
	pages        int
	cursor       string
	refuseList   int
	ignore       map[string]bool
	delay        map[string]time.Duration
	exit         map[times]int
	say          map[times]string
	stderr       int
	children     int
	journal      string
	lock         string
	ping         time.Duration
	answerPing   int
	ask          map[string]bool
	question     string
	http         string
	respond      string
	expire       int
	drop         int
	resume       bool
	token        string
	tokenRotates bool
	login        login
	help         bool
}

var unescape = strings.NewReplacer(`\n`, "\n", `\r`, "\r", `\t`, "\t", `\\`, `\`)

var moments = []string{"start", "initialize", "initialized", "list", "call", "read"}

func parseTimes(s string) (times, error) {
	when, number, counted := strings.Cut(s, ":")
	t := times{when: when}
	if !slices.Contains(moments, when) {
		return t, fmt.Errorf("unknown WHEN %q; one of %s", when, strings.Join(moments, ", "))
	}
	if !counted {
		return t, nil
	}
	n, err := strconv.Atoi(number)
	if err != nil || n < 1 {
		return t, fmt.Errorf("WHEN %q needs a number from 1 after the colon", s)
	}
	t.nth = n
	return t, nil
}

// parse reads the command line. It is written by hand because several flags
// take two words, which package flag cannot express.
func parse(args []string) (*options, error) {
	o := &options{
		name: "fake", version: "2025-06-18", respond: "sse",
		ignore: map[string]bool{}, delay: map[string]time.Duration{},
		exit: map[times]int{}, say: map[times]string{}, ask: map[string]bool{},
	}
	p := &words{rest: args}
	for p.more() {
		name := p.next()
		if err := o.set(name, p); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if p.err != nil {
			return nil, fmt.Errorf("%s: %w", name, p.err)
		}
	}
	return o, nil
}

func (o *options) set(name string, p *words) error {
	switch name {
	case "--help", "-h":
		o.help = true
	case "--name":
		o.name = p.next()
	case "--version":
		o.version = p.next()
	case "--instructions":
		o.instructions = p.next()
	case "--tools":
		o.toolsFile = p.next()
	case "--more":
		o.more = p.number()
	case "--material":
		o.material = true
	case "--resources":
		o.resources = p.number()
	case "--prompts":
		o.prompts = p.number()
	case "--refuse-list":
		o.refuseList = p.number()
	case "--pages":
		o.pages = p.number()
	case "--cursor":
		o.cursor = p.oneOf("repeat", "endless")
	case "--ignore":
		for what := range strings.SplitSeq(p.next(), ",") {
			if !slices.Contains([]string{"eof", "term", "cancel", "roots"}, what) {
				return fmt.Errorf("cannot ignore %q", what)
			}
			o.ignore[what] = true
		}
	case "--delay":
		when := p.oneOf(moments...)
		o.delay[when] = time.Duration(p.number()) * time.Millisecond
	case "--exit":
		t, err := parseTimes(p.next())
		if err != nil {
			return err
		}
		o.exit[t] = p.number()
	case "--say":
		t, err := parseTimes(p.next())
		if err != nil {
			return err
		}
		o.say[t] = unescape.Replace(p.next())
	case "--ask":
		o.ask[p.oneOf("initialize", "call")] = true
	case "--question":
		o.question = p.oneOf("form", "url", "sampling")
	case "--stderr":
		o.stderr = p.number()
	case "--child":
		o.children = p.number()
	case "--journal":
		o.journal = p.next()
	case "--lock":
		o.lock = p.next()
	case "--ping":
		o.ping = time.Duration(p.number()) * time.Millisecond
	case "--answer-ping":
		o.answerPing = p.number()
	default:
		return o.setHTTP(name, p)
	}
	return nil
}

func (o *options) setHTTP(name string, p *words) error {
	switch name {
	case "--http":
		o.http = p.next()
	case "--respond":
		o.respond = p.oneOf("json", "sse")
	case "--expire":
		o.expire = p.number()
	case "--drop":
		o.drop = p.number()
	case "--resume":
		o.resume = true
	case "--token":
		o.token = p.next()
	case "--token-rotates":
		o.tokenRotates = true
	case "--login":
		o.login.issuer = p.next()
	case "--login-client":
		o.login.client, o.login.secret, _ = strings.Cut(p.next(), ":")
	case "--login-scope":
		o.login.scope = p.next()
	case "--login-call-scope":
		o.login.callScope = p.next()
	default:
		return fmt.Errorf("unknown flag; see --help")
	}
	return nil
}

// words hands out the command line's words and keeps the first mistake.
type words struct {
	rest []string
	err  error
}

func (w *words) more() bool { return len(w.rest) > 0 && w.err == nil }

func (w *words) next() string {
	if len(w.rest) == 0 {
		w.fail("needs another word")
		return ""
	}
	s := w.rest[0]
	w.rest = w.rest[1:]
	return s
}

func (w *words) number() int {
	s := w.next()
	n, err := strconv.Atoi(s)
	if err != nil {
		w.fail("%q is not a number", s)
	}
	return n
}

func (w *words) oneOf(allowed ...string) string {
	s := w.next()
	if !slices.Contains(allowed, s) {
		w.fail("%q is none of %s", s, strings.Join(allowed, ", "))
	}
	return s
}

func (w *words) fail(format string, args ...any) {
	if w.err == nil {
		w.err = fmt.Errorf(format, args...)
	}
}

// readTools reads the file of --tools: a bare array or a whole result. JSON is
// put on one line, since a message is one; anything else is sent as it is.
func readTools(path string) ([]byte, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var line bytes.Buffer
	if json.Compact(&line, data) == nil {
		data = line.Bytes()
	}
	if trimmed := strings.TrimSpace(string(data)); strings.HasPrefix(trimmed, "[") {
		return []byte(`{"tools":` + trimmed + `}`), nil
	}
	return data, nil
}
