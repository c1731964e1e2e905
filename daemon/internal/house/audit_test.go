package house

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestTheAuditTellsSilenceFromGoodNews runs test/audit with sources that answer
// as they are told to.
func TestTheAuditTellsSilenceFromGoodNews(t *testing.T) {
	if _, err := exec.LookPath("node"); err != nil {
		t.Skipf("not tested here: %v", err)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go":  "#!/bin/sh\n[ \"$SAID\" = unreachable ] && { echo 'dial tcp: no such host' >&2; exit 1; }\nprintf '#!/bin/sh\\n[ \"$SAID\" = known ] && { echo GO-1; exit 3; }\\nexit 0\\n' > \"$GOBIN/govulncheck\"; chmod +x \"$GOBIN/govulncheck\"",
		"npm": "#!/bin/sh\ncase $SAID in\nnothing) echo '{\"vulnerabilities\":{},\"metadata\":{\"vulnerabilities\":{\"total\":0}}}' ;;\nknown) echo '{\"vulnerabilities\":{\"left-pad\":{\"range\":\"<1\",\"severity\":\"high\",\"via\":[{\"title\":\"pads too much\",\"url\":\"u\"}]}},\"metadata\":{\"vulnerabilities\":{\"total\":1}}}'; exit 1 ;;\n*) echo '{\"message\":\"registry is away\"}'; exit 1 ;;\nesac",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for said, want := range map[string]struct {
		code  int
		has   []string
		lacks []string
	}{
		"nothing":     {0, []string{"Go vulnerability database: nothing is known", "npm advisories for .: nothing is known"}, []string{"could not", "audit:"}},
		"known":       {1, []string{"GO-1", "left-pad <1, high: pads too much (u)", "sources know something"}, []string{"could not", "nothing is known"}},
		"unreachable": {0, []string{"database: could not be asked: dial tcp: no such host", "could not be asked: registry is away", "sources could not be asked"}, []string{": nothing is known\n"}},
	} {
		cmd := exec.Command(filepath.Join(top(t), "test", "audit"))
		cmd.Env = append(os.Environ(), "SAID="+said, "GO="+filepath.Join(dir, "go"), "NPM="+filepath.Join(dir, "npm"), "LIMIT=60")
		out, err := cmd.CombinedOutput()
		if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != want.code {
			t.Errorf("%s: %v\n%s", said, err, out)
		}
		for _, part := range want.has {
			if !strings.Contains(string(out), part) {
				t.Errorf("%s: %q is missing:\n%s", said, part, out)
			}
		}
		for _, part := range want.lacks {
			if strings.Contains(string(out), part) {
				t.Errorf("%s: says %q:\n%s", said, part, out)
			}
		}
	}
}
