package cases

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"tenon/daemon/internal/api"
)

// TestEveryRouteIsRefusedToWebPages holds the case of R-48 against the table of
// routes: each is asked without token, from a foreign origin and for a foreign
// host.
func TestEveryRouteIsRefusedToWebPages(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join(caseDir, "web-pages-do-not-reach-the-daemon.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	hole := regexp.MustCompile(`\\{[a-z]+(\\\.\\\.\\\.)?\\}`) // as QuoteMeta leaves it
	for _, r := range api.Routes() {
		path := hole.ReplaceAllString(regexp.QuoteMeta(r.Path), `[a-z/]+`)
		asked := regexp.MustCompile(`(?m)^exits 401 http `+r.Method+` `+path+` .*$`).FindAllString(string(raw), -1)
		var bare, origin, host int
		for _, line := range asked {
			switch {
			case strings.Contains(line, "Origin:https://evil"):
				origin++
			case strings.Contains(line, "host=evil"):
				host++
			default:
				bare++
			}
		}
		if bare == 0 || origin == 0 || host == 0 {
			t.Errorf("%s %s: asked %d times without token, %d from a foreign origin, %d for a foreign host", r.Method, r.Path, bare, origin, host)
		}
	}
}
