package openapi

import (
	"net/http"
	"strings"
	"testing"

	"tenon/daemon/internal/config"
)

// metadata is where machines of most providers ask about themselves.
const metadata = "http://169.254.169.254"

func TestADocumentThatIsFetchedLeadsNowhereNear(t *testing.T) {
	document := func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/openapi.json" {
			http.Redirect(w, r, metadata+"/latest/", http.StatusFound)
			return
		}
		_, _ = w.Write([]byte(`{"openapi":"3.1.0","info":{"title":"t","version":"1"},"paths":{
			"/here":{"get":{"operationId":"here","responses":{"200":{"description":"ok"}}}},
			"/there":{"servers":[{"url":"` + metadata + `"}],"get":{"operationId":"there","responses":{"200":{"description":"ok"}}}}}}`))
	}
	r := newRig(t, "shop.yaml", document, func(s *config.KindSpec) {
		s.OpenAPI.BaseURL = ""
	})
	r.Source.spec.Document = r.server.URL + "/openapi.json"
	r.Source.guard.Name(r.Source.spec.Document)
	for _, tool := range []string{"here", "there"} {
		if got := says(r.call(tool, `{}`)); !strings.HasPrefix(got, "error: ") || !strings.Contains(got, "169.254.169.254") || !strings.Contains(got, "baseUrl") {
			t.Errorf("%s: %s", tool, got)
		}
	}
}
