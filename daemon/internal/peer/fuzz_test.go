package peer

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"tenon/daemon/internal/fault"
	"tenon/proto"
)

// FuzzEnvironment: what a header says of the environment is an object of strings or
// a UsageError that shows none of it, and is the same when the connection repeats it.
func FuzzEnvironment(f *testing.F) {
	for _, s := range []string{"e30", "eyJBIjoiMSJ9", "eyJBIjoxfQ==", "bnVsbA", "====", "W10", "\x00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c := &conn{}
		env, err := c.environment(text)
		if err != nil {
			if fault.KindOf(err) != fault.UsageError || len(text) > 40 && strings.Contains(err.Error(), text) {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		if again, err := c.environment(text); err != nil || !maps.Equal(again, env) {
			t.Fatalf("%v, then %v, %v", env, again, err)
		}
		raw, err := json.Marshal(env)
		if err != nil {
			t.Fatal(err)
		}
		back, err := (&conn{}).environment(base64.RawURLEncoding.EncodeToString(raw))
		if err != nil || !maps.Equal(back, env) {
			t.Fatalf("%v came back as %v, %v", env, back, err)
		}
	})
}

// FuzzPlace: a header goes before a parameter, and either is taken as it was sent.
func FuzzPlace(f *testing.F) {
	f.Add("", "/a b")
	f.Add("/h", "")
	f.Add("", "%zz&dir=/x;")
	f.Fuzz(func(t *testing.T, header, query string) {
		r := httptest.NewRequest("GET", "/v1/status", nil)
		r.URL.RawQuery = url.Values{"dir": {query}}.Encode()
		r.Header.Set(proto.HeaderDir, header)
		want := query
		if header != "" {
			want = header
		}
		if got := given(r, proto.HeaderDir, "dir"); got != want {
			t.Fatalf("%q and %q are %q", header, query, got)
		}
		r.URL.RawQuery = query // as it may arrive
		given(r, proto.HeaderDir, "dir")
	})
}
