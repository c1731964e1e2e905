package embedded

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"
)

// CODE-01: the version that is told is the one that runs.
func TestTheVersionIsThatOfTheEngineAndOfThePinnedPackage(t *testing.T) {
	err := inNewRealm(func(r *realm) error {
		at := r.mod.Xqjs_get_quickjs_version()
		text, _, _ := bytes.Cut(r.mem()[uint32(at):], []byte{0})
		if string(text) != quickjsVersion {
			t.Errorf("the engine is %s, told is %s", text, quickjsVersion)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile("gen/package-lock.json")
	if err != nil {
		t.Fatal(err)
	}
	var lock struct {
		Packages map[string]struct{ Version string }
	}
	if err := json.Unmarshal(raw, &lock); err != nil {
		t.Fatal(err)
	}
	if got := lock.Packages["node_modules/quickjs-wasi"].Version; got != packageVersion {
		t.Errorf("the lock file pins quickjs-wasi %s, told is %s", got, packageVersion)
	}
}
