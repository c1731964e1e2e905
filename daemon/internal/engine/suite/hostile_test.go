package suite

import "testing"

// hostile is one program, since a runtime takes its time to start. Results, names
// and errors that would reach into a program's own objects, or leave them with its
// value, are data on every engine.
var hostile = expect{
	source: `const out: Record<string, unknown> = {};
const r = await gh.get(JSON.parse('{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":2}},"a":{"__proto__":{"polluted":3}}}'));
out.polluted = [({}).polluted, [].polluted, (() => 1).polluted, r.polluted, r.a.polluted, ({}).name].every(x => x === undefined);
out.keys = [Object.getPrototypeOf(r) === Object.prototype, Object.keys(r), Object.hasOwn(r, '__proto__')];

const p = await gh.get({ then: { call: 1 }, toJSON: {}, valueOf: 1, toString: 2, length: 1e9, catch: 'x' });
out.promise = [p.then.call, JSON.stringify(p.toJSON), p.length];

const names = ['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'valueOf', '__defineGetter__', 'prototype'];
out.names = true;
for (const name of names) out.names &&= (await call('gh', name, { name })).name === name;
out.thenable = [typeof tools.then, typeof tools.gh.then];

try { await gh.deep({}) } catch (e) { out.deep = e.kind }

// What a program does to its own objects changes nothing of what the host gets.
Object.prototype.server = 'other';
Object.prototype.tool = 'delete';
Array.prototype.toJSON = () => ['replaced'];
try { await gh.get({ last: 1 }) } finally { delete Object.prototype.server; delete Object.prototype.tool; delete Array.prototype.toJSON }

out.whole = await gh.get(JSON.parse('{"__proto__":{"polluted":1},"toJSON":"x","then":"y","a":[{"__proto__":null}]}'));
out`,
	value: `{"polluted":true,"keys":[true,["__proto__","constructor","a"],true],"promise":[1,"{}",1000000000],"names":true,
"thenable":["undefined","undefined"],"deep":"InvalidToolOutput","whole":{"__proto__":{"polluted":1},"toJSON":"x","then":"y","a":[{"__proto__":null}]}}`,
	seen: []string{
		`git-hub.get {"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":2}},"a":{"__proto__":{"polluted":3}}}`,
		`git-hub.get {"then":{"call":1},"toJSON":{},"valueOf":1,"toString":2,"length":1000000000,"catch":"x"}`,
		`git-hub.__proto__ {"name":"__proto__"}`, `git-hub.constructor {"name":"constructor"}`, `git-hub.toString {"name":"toString"}`,
		`git-hub.hasOwnProperty {"name":"hasOwnProperty"}`, `git-hub.valueOf {"name":"valueOf"}`, `git-hub.__defineGetter__ {"name":"__defineGetter__"}`,
		`git-hub.prototype {"name":"prototype"}`, `git-hub.deep {}`, `git-hub.get {"last":1}`,
		`git-hub.get {"__proto__":{"polluted":1},"toJSON":"x","then":"y","a":[{"__proto__":null}]}`,
	},
}

func TestResultsCannotReachIntoAProgram(t *testing.T) {
	each(t, func(t *testing.T, r *rig) { hostile.check(t, r) })
}
