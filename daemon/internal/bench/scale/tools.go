package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"tenon/proto"
)

// configure writes the configuration of the rows by sessions and by runs.
func (l *lab) configure(address string) error {
	config := fmt.Sprintf(`{"servers": {
		"all": {"command": ["fake"]},
		"own": {"url": %q, "scope": "session", "maxInstances": 2000}
	}}`, address)
	return os.WriteFile(filepath.Join(l.dir, "config", "tenon", "config.jsonc"), []byte(config), 0o600)
}

// perServer is how many tools one server has.
const perServer = 50

// nouns make tools that differ, as those of real servers do.
var nouns = []string{"issue", "branch", "page", "invoice", "customer", "pipeline", "message", "calendar", "file", "dashboard"}

// toolList writes the answer to tools/list of one server: n tools, echo first.
func toolList(path string, server, n int) error {
	type schema struct {
		Type       string         `json:"type"`
		Properties map[string]any `json:"properties"`
		Required   []string       `json:"required"`
	}
	type tool struct {
		Name        string `json:"name"`
		Description string `json:"description"`
		InputSchema schema `json:"inputSchema"`
	}
	text := map[string]any{"type": "string", "description": "what to look for"}
	list := []tool{{"echo", "gives back text", schema{"object", map[string]any{"text": text}, []string{"text"}}}}
	for i := len(list); i < n; i++ {
		noun := nouns[i%len(nouns)]
		list = append(list, tool{
			Name:        fmt.Sprintf("list_%ss_%d_%d", noun, server, i),
			Description: fmt.Sprintf("Lists every %s of the account that matches a query, newest first, %d of them at most.", noun, i),
			InputSchema: schema{"object", map[string]any{
				"query": text, "limit": map[string]any{"type": "integer", "minimum": 1},
				"state": map[string]any{"type": "string", "enum": []string{"open", "closed", "all"}},
			}, []string{"query"}},
		})
	}
	raw, err := json.Marshal(list)
	if err != nil {
		return err
	}
	return os.WriteFile(path, raw, 0o600)
}

var toolTable = newTable("tools", "servers", "call p50", "run of one call p50", "run p99", "search p50", "catalogue unchanged p50", "whole catalogue p50", "its bytes", "all types", "daemon")

// byTools measures with a number of tools, in servers of fifty.
func byTools(ctx context.Context, tenon string, n, samples int) error {
	var servers []string
	prepare := func(work string) error {
		for left, i := n, 0; left > 0; left, i = left-perServer, i+1 {
			file := filepath.Join(work, fmt.Sprintf("tools%d.json", i))
			if err := toolList(file, i, min(left, perServer)); err != nil {
				return err
			}
			servers = append(servers, fmt.Sprintf(`"s%d": {"command": ["fake", "--tools", "$WORK/tools%d.json"]}`, i, i))
		}
		return nil
	}
	l, err := newLab(tenon, "", prepare)
	if err != nil {
		return err
	}
	defer l.close()
	config := strings.ReplaceAll(`{"servers": {`+strings.Join(servers, ",")+`}}`, "$WORK", l.dir)
	if err := os.WriteFile(filepath.Join(l.dir, "config", "tenon", "config.jsonc"), []byte(config), 0o600); err != nil {
		return err
	}
	if err := l.attach(0); err != nil {
		return err
	}
	for i := range servers { // lists are learned from running servers
		if err := l.call(0, fmt.Sprintf("s%d", i), "echo", echo); err != nil {
			return err
		}
	}
	var errs [6]error
	var took6 [6][]time.Duration
	var whole proto.Catalog
	get := func(path string, out any) error { return l.api.Get(ctx, l.dir, path, out) }
	if err := get("/v1/catalog", &whole); err != nil {
		return err
	}
	took6[0], errs[0] = times(samples, func(int) error { return l.call(0, "s0", "echo", echo) })
	took6[1], errs[1] = times(samples, func(int) error { return l.run(0, `await tools.s0.echo(`+echo+`)`) })
	took6[2], errs[2] = times(samples, func(i int) error {
		return get("/v1/search?query="+url.QueryEscape("list "+nouns[i%len(nouns)]+" newest"), new(any))
	})
	took6[3], errs[3] = times(samples, func(int) error {
		return failed(l.host.Request(proto.MethodCatalogGet, proto.CatalogQuery{Session: session(0), Directory: l.dir, Since: whole.Fingerprint}, 0))
	})
	took6[4], errs[4] = times(samples/4, func(int) error { return get("/v1/catalog", new(any)) })
	took6[5], errs[5] = times(4, func(int) error { return get("/v1/types", new(any)) })
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	rss, err := l.resident()
	if err != nil {
		return err
	}
	toolTable.row(fmt.Sprint(n), fmt.Sprint(len(servers)), p50(took6[0]), p50(took6[1]), p99(took6[1]), p50(took6[2]), p50(took6[3]), p50(took6[4]), fmt.Sprint(len(whole.Text)), p50(took6[5]), mib(rss))
	if n == toolCounts[len(toolCounts)-1] {
		return toolTable.print()
	}
	return nil
}

// table is printed when it is whole.
type table struct{ rows [][]string }

func newTable(head ...string) *table { return &table{[][]string{head}} }
func (t *table) row(cells ...string) { t.rows = append(t.rows, cells) }
func took(d time.Duration) string    { return fmt.Sprintf("%.2f ms", float64(d.Microseconds())/1000) }
func mib(n float64) string           { return fmt.Sprintf("%.1f MiB", n) }
func p50(all []time.Duration) string { return took(rank(all, 0.5)) }
func p99(all []time.Duration) string { return took(rank(all, 0.99)) }
func rank(all []time.Duration, q float64) time.Duration {
	sorted := slices.Sorted(slices.Values(all))
	return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))]
}

func (t *table) print() error {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	for _, cells := range t.rows {
		fmt.Fprintln(w, strings.Join(cells, "\t"))
	}
	fmt.Fprintln(w)
	return w.Flush()
}
