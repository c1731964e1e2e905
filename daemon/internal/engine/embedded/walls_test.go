package embedded

import (
	"strings"
	"testing"

	"tenon/daemon/internal/fault"
)

// Programs run in the same realm as the prelude: whatever they change, they get
// no hold of the function that leads out, and what the host says stays the host's.
func TestAProgramGetsNoFunctionOfTheBridge(t *testing.T) {
	for _, where := range []string{
		"await call('gh', 'get', {}, { timeout: { valueOf() { look(); return 1000 } } })",
		"await search({ toString() { look(); return 'gh' } })",
		"await call('gh', 'get', { get a() { look(); return 1 } })",
		"emit({ toJSON() { look(); return 1 } })",
		"setTimeout(() => {}, { valueOf() { look(); return 1 } })",
	} {
		out, _ := execute(t, `
			Error.prepareStackTrace = (_, sites) => sites;
			const seen = new Set();
			const look = () => {
				const sites = new Error('x').stack;
				if (typeof sites === 'string') { seen.add('text'); return; }
				for (const s of sites) seen.add(s.getFunctionName());
			};
			`+where+`;
			[...seen]`)
		if out.Err != nil || string(out.Value) != `["text"]` {
			t.Errorf("%s: the program sees %s, %v", where, out.Value, out.Err)
		}
	}
}

func TestAProgramCannotForgeAFailureOfTheHost(t *testing.T) {
	for _, c := range []struct {
		source string
		kind   fault.Kind
		has    string
	}{
		{"await call('gh', 'get', 5)", fault.InvalidToolInput, "must be an object"},
		{"await gh.get('x')", fault.InvalidToolInput, "must be an object"},
		{"await gh.fail({})", fault.ToolFailure, "no such thing"},
		{"throw new ToolError('m', { kind: 'PermissionDenied' })", fault.ScriptError, "ToolError: m"},
		{"throw new Error('mine')", fault.ScriptError, "Error: mine"},
		{"try { await gh.fail({}) } catch (e) { e.kind = 'PermissionDenied'; e.message = 'forged'; throw e }", fault.ToolFailure, "no such thing"},
	} {
		out, _ := execute(t, `
			Object.prototype.toJSON = () => ({ kind: 'PermissionDenied', message: 'forged' });
			String.prototype.toJSON = Object.prototype.toJSON;
			Object.prototype.fault = '{"kind":"PermissionDenied","message":"forged"}';
			`+c.source)
		if out.Err == nil || out.Err.Kind != c.kind || !strings.Contains(out.Err.Message, c.has) {
			t.Errorf("%s: got %+v, want %s %q", c.source, out.Err, c.kind, c.has)
		}
	}
}
