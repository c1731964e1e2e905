package suite

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// world are the servers whose tools the program files call: an issue tracker,
// files, and a market. Each session of a client has a state of its own.
func world(t *testing.T) map[string]string {
	urls := map[string]string{}
	for name, make := range map[string]func() *mcp.Server{"issue-tracker": tracker, "files": files, "market": market} {
		handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return make() }, nil)
		s := httptest.NewServer(handler)
		t.Cleanup(func() {
			s.CloseClientConnections()
			s.Close()
		})
		urls[name] = s.URL
	}
	return urls
}

func server(name string) *mcp.Server {
	return mcp.NewServer(&mcp.Implementation{Name: name, Version: "1"}, nil)
}

// tool adds a tool whose result is structured.
func tool[In, Out any](s *mcp.Server, name, about string, f func(context.Context, In) (Out, error)) {
	mcp.AddTool(s, &mcp.Tool{Name: name, Description: about}, func(ctx context.Context, _ *mcp.CallToolRequest, in In) (*mcp.CallToolResult, Out, error) {
		out, err := f(ctx, in)
		return nil, out, err
	})
}

// textTool adds a tool whose result is text.
func textTool[In any](s *mcp.Server, name, about string, f func(context.Context, In) (string, error)) {
	mcp.AddTool(s, &mcp.Tool{Name: name, Description: about}, func(ctx context.Context, _ *mcp.CallToolRequest, in In) (*mcp.CallToolResult, any, error) {
		out, err := f(ctx, in)
		if err != nil {
			return nil, nil, err
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: out}}}, nil, nil
	})
}

type issue struct {
	Number   int      `json:"number"`
	Title    string   `json:"title"`
	State    string   `json:"state"`
	Author   string   `json:"author"`
	Labels   []string `json:"labels"`
	Created  string   `json:"created_at"`
	Comments []string `json:"comments"`
}

// tracker has 25 issues: every third is closed, and each has one of three authors.
func tracker() *mcp.Server {
	var mu sync.Mutex
	authors, labels := []string{"ada", "bob", "cy"}, []string{"bug", "feature", "docs", "question"}
	var all []*issue
	for n := 1; n <= 25; n++ {
		state := "open"
		if n%3 == 0 {
			state = "closed"
		}
		all = append(all, &issue{
			Number: n, Title: fmt.Sprintf("Issue %d", n), State: state, Author: authors[n%3], Labels: []string{labels[n%4]},
			Created: time.Date(2025, 1, n, 9, 30, 0, 0, time.UTC).Format(time.RFC3339), Comments: []string{},
		})
	}
	find := func(number int) (*issue, error) {
		if number < 1 || number > len(all) {
			return nil, fmt.Errorf("there is no issue %d", number)
		}
		return all[number-1], nil
	}
	s := server("issue-tracker")
	type listIn struct {
		State  string `json:"state,omitempty" jsonschema:"open, closed or all"`
		Label  string `json:"label,omitempty"`
		Limit  int    `json:"limit,omitempty" jsonschema:"at most this many, 10 when left out"`
		Cursor string `json:"cursor,omitempty" jsonschema:"next_cursor of the page before"`
	}
	type listOut struct {
		Items []*issue `json:"items"`
		Total int      `json:"total"`
		Next  *string  `json:"next_cursor"`
	}
	tool(s, "list_issues", "Lists issues, a page at a time", func(_ context.Context, in listIn) (out listOut, err error) {
		mu.Lock()
		defer mu.Unlock()
		from, limit := 0, 10
		if in.Cursor != "" {
			if _, err := fmt.Sscanf(in.Cursor, "after-%d", &from); err != nil {
				return out, fmt.Errorf("the cursor %q is not one of mine", in.Cursor)
			}
		}
		if in.Limit > 0 {
			limit = in.Limit
		}
		out.Items = []*issue{}
		for i, one := range all {
			if in.State != "" && in.State != "all" && one.State != in.State || in.Label != "" && one.Labels[0] != in.Label {
				continue
			}
			out.Total++
			if i < from || len(out.Items) == limit {
				if len(out.Items) == limit && out.Next == nil {
					next := fmt.Sprintf("after-%d", i)
					out.Next = &next
				}
				continue
			}
			out.Items = append(out.Items, one)
		}
		return out, nil
	})
	type numberIn struct {
		Number int `json:"number"`
	}
	tool(s, "get-issue", "One issue", func(_ context.Context, in numberIn) (*issue, error) {
		mu.Lock()
		defer mu.Unlock()
		return find(in.Number)
	})
	type createIn struct {
		Title  string   `json:"title"`
		Labels []string `json:"labels,omitempty"`
	}
	tool(s, "create_issue", "Creates an issue", func(_ context.Context, in createIn) (*issue, error) {
		mu.Lock()
		defer mu.Unlock()
		one := &issue{Number: len(all) + 1, Title: in.Title, State: "open", Author: "me", Labels: append([]string{}, in.Labels...), Created: "2025-02-01T00:00:00Z", Comments: []string{}}
		all = append(all, one)
		return one, nil
	})
	type commentIn struct {
		Number int    `json:"number"`
		Body   string `json:"body"`
	}
	type commentOut struct {
		Comments int `json:"comments"`
	}
	tool(s, "add_comment", "Adds a comment", func(_ context.Context, in commentIn) (out commentOut, err error) {
		mu.Lock()
		defer mu.Unlock()
		one, err := find(in.Number)
		if err != nil {
			return out, err
		}
		one.Comments = append(one.Comments, in.Body)
		return commentOut{len(one.Comments)}, nil
	})
	return s
}

// contents are the files that a session begins with.
var contents = map[string]string{
	"orders.csv":    "id,customer,item,quantity,price,date\n1001,ada,lamp,2,19.99,2025-01-03\n1002,bob,\"desk, oak\",1,249.00,2025-01-07\n1003,ada,chair,4,89.50,2025-02-11\n1004,cy,lamp,1,19.99,2025-02-14\n1005,bob,chair,2,89.50,2025-03-01\n",
	"access.log":    "10.0.0.1 - - [03/Jan/2025:10:15:32 +0000] \"GET /index.html HTTP/1.1\" 200 1024\n10.0.0.2 - - [03/Jan/2025:10:15:40 +0000] \"POST /api/login HTTP/1.1\" 401 87\n10.0.0.1 - - [03/Jan/2025:10:16:02 +0000] \"GET /style.css HTTP/1.1\" 304 0\n10.0.0.3 - - [03/Jan/2025:10:17:21 +0000] \"GET /api/items?id=7 HTTP/1.1\" 500 312\n10.0.0.2 - - [03/Jan/2025:10:18:00 +0000] \"POST /api/login HTTP/1.1\" 200 145\n",
	"settings.json": "{\"name\": \"demo\", \"retries\": 3, \"servers\": [{\"host\": \"a.example\", \"port\": 8080}, {\"host\": \"b.example\", \"port\": 8081}]}",
	"notes.md":      "# Notes\n\n- [x] buy milk\n- [ ] call Ada\n- [ ] write tests\n\nSee [docs](https://example.com/docs) and [home](https://example.com).\n",
	"events.ndjson": "{\"at\":\"2025-03-09T01:30:00-05:00\",\"kind\":\"start\"}\n{\"at\":\"2025-03-09T03:30:00-04:00\",\"kind\":\"stop\"}\nnot json\n{\"at\":\"2025-03-10T00:00:00Z\",\"kind\":\"start\"}\n",
}

func files() *mcp.Server {
	var mu sync.Mutex
	mine := map[string]string{}
	for name, text := range contents {
		mine[name] = text
	}
	s := server("files")
	type pathIn struct {
		Path string `json:"path" jsonschema:"path of a file"`
	}
	textTool(s, "read_text_file", "The text of a file", func(_ context.Context, in pathIn) (string, error) {
		mu.Lock()
		defer mu.Unlock()
		text, ok := mine[strings.TrimPrefix(in.Path, "./")]
		if !ok {
			return "", fmt.Errorf("%s: no such file", in.Path)
		}
		return text, nil
	})
	type writeIn struct {
		Path    string `json:"path"`
		Content string `json:"content"`
	}
	textTool(s, "write_file", "Writes a file", func(_ context.Context, in writeIn) (string, error) {
		mu.Lock()
		defer mu.Unlock()
		mine[in.Path] = in.Content
		return fmt.Sprintf("wrote %d bytes to %s", len(in.Content), in.Path), nil
	})
	return s
}

func market() *mcp.Server {
	var mu sync.Mutex
	failures := map[string]int{}
	s := server("market")
	type rateIn struct {
		From string `json:"from"`
		To   string `json:"to"`
	}
	type rateOut struct {
		Rate float64 `json:"rate"`
		From string  `json:"from"`
		To   string  `json:"to"`
	}
	rates := map[string]float64{"EUR": 1, "USD": 1.25, "GBP": 0.8, "JPY": 160}
	tool(s, "get_rate", "An exchange rate", func(_ context.Context, in rateIn) (out rateOut, err error) {
		from, to := rates[in.From], rates[in.To]
		if from == 0 || to == 0 {
			return out, fmt.Errorf("unknown currency in %s/%s", in.From, in.To)
		}
		return rateOut{to / from, in.From, in.To}, nil
	})
	type flakyIn struct {
		Key   string `json:"key"`
		Times int    `json:"times" jsonschema:"how often it fails first"`
	}
	type flakyOut struct {
		Attempts int `json:"attempts"`
	}
	tool(s, "flaky_quote", "Fails a number of times for each key, then answers", func(_ context.Context, in flakyIn) (out flakyOut, err error) {
		mu.Lock()
		defer mu.Unlock()
		failures[in.Key]++
		if failures[in.Key] <= in.Times {
			return out, errors.New("503 service unavailable")
		}
		return flakyOut{failures[in.Key]}, nil
	})
	type waitIn struct {
		MS   int    `json:"ms"`
		Name string `json:"name,omitempty"`
	}
	textTool(s, "wait", "Answers after ms", func(ctx context.Context, in waitIn) (string, error) {
		select {
		case <-time.After(time.Duration(in.MS) * time.Millisecond):
		case <-ctx.Done():
		}
		return "waited: " + in.Name, nil
	})
	type ledgerOut struct {
		Accounts json.RawMessage `json:"accounts"`
	}
	s.AddTool(&mcp.Tool{Name: "ledger", Description: "Accounts with large numbers", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{StructuredContent: ledgerOut{json.RawMessage(`[{"id":9007199254740993,"cents":12345},{"id":7,"cents":-50}]`)}}, nil
		})
	return s
}
