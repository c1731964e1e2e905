package embedded

import "testing"

// urlCases are sources and values; an empty value is an invalid URL.
var urlCases = [][2]string{
	{"new URL('https://user:pa%20ss@Example.COM:443/a/../b/./c%20d?q=1&q=2#frag').href", `"https://user:pa%20ss@example.com/b/c%20d?q=1&q=2#frag"`},
	{"const u = new URL('http://h:8080/p?x=1#y'); [u.protocol, u.host, u.hostname, u.port, u.pathname, u.search, u.hash, u.origin]", `["http:","h:8080","h","8080","/p","?x=1","#y","http://h:8080"]`},
	{"new URL('../x?y#z', 'https://a.b/c/d/e').href", `"https://a.b/c/x?y#z"`},
	{"new URL('//other/x', 'https://a.b/c').href", `"https://other/x"`},
	{"new URL('/abs', 'https://a.b/c?d').href", `"https://a.b/abs"`},
	{"new URL('?q', 'https://a.b/c?d#e').href", `"https://a.b/c?q"`},
	{"new URL('#f', 'https://a.b/c?d#e').href", `"https://a.b/c?d#f"`},
	{"new URL('', 'https://a.b/c?d#e').href", `"https://a.b/c?d"`},
	{"new URL('https:\\\\\\\\a\\\\b').href", `"https://a/b"`},
	{"new URL('  https://a/\\tb ').href", `"https://a/b"`},
	{"new URL('http://a b').href", ``},
	{"new URL('mailto:a@b.c').pathname", `"a@b.c"`},
	{"new URL('file:///c:/x/../y').href", `"file:///c:/y"`},
	{"new URL('http://192.168.0.257').href", ``},
	{"new URL('http://0x7f.1/').hostname", `"127.0.0.1"`},
	{"new URL('http://[2001:DB8:0:0:0:0:0:1]/').host", `"[2001:db8::1]"`},
	{"new URL('http://münchen.de/ä').href", `"http://xn--mnchen-3ya.de/%C3%A4"`},
	{"new URL('http://日本語.jp').hostname", `"xn--wgv71a119e.jp"`},
	{"new URL('data:text/plain,hi there').href", `"data:text/plain,hi there"`},
	{"new URL('foo://h/p').href", `"foo://h/p"`},
	{"[URL.canParse('nope'), URL.canParse('x:y'), URL.parse('nope')]", `[false,true,null]`},
	{"try { new URL('nope') } catch (e: any) { [e.name, e.message] }", `["TypeError","invalid URL: nope"]`},
	{"const u = new URL('https://a/'); u.searchParams.append('k', 'a b&c'); u.searchParams.set('z', 'ü'); u.href", `"https://a/?k=a+b%26c&z=%C3%BC"`},
	{"const u = new URL('https://a/?x=1'); const p = u.searchParams; u.search = '?y=2'; [p.get('y'), p.has('x')]", `["2",false]`},
	{"const u = new URL('https://a:1/b'); u.host = 'c:2'; u.pathname = '/d e'; u.hash = 'f'; u.protocol = 'http'; u.port = '80'; u.href", `"http://c/d%20e#f"`},
	{"const p = new URLSearchParams('?a=1&b=2&a=3'); [p.getAll('a'), [...p.keys()], p.size, String(p), Object.fromEntries(p)]", `[["1","3"],["a","b","a"],3,"a=1&b=2&a=3",{"a":"3","b":"2"}]`},
	{"const p = new URLSearchParams({ q: 'x y', n: '1' }); p.delete('n'); p.append('a', '~*-._'); p.sort(); p.toString()", `"a=%7E*-._&q=x+y"`},
	{"new URLSearchParams([['a', '1'], ['a', '2']]).toString()", `"a=1&a=2"`},
	{"JSON.stringify({ u: new URL('https://a/') })", `"{\"u\":\"https://a/\"}"`},
	{"({ u: new URL('https://a/') })", `{"u":"https://a/"}`},
}

func TestURL(t *testing.T) {
	for _, c := range urlCases {
		out, _ := execute(t, c[0])
		if c[1] == "" && (out.Err == nil || out.Value != nil) {
			t.Errorf("%s: %s, want an error", c[0], out.Value)
		}
		if c[1] != "" && (out.Err != nil || string(out.Value) != c[1]) {
			t.Errorf("%s\n got %s %v\nwant %s", c[0], out.Value, out.Err, c[1])
		}
	}
}
