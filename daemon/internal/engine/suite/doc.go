// Package suite holds one contract against every engine that is present: the
// same program gives the same result, the same warnings and the same failure on
// embedded, deno, bun and node, and none of them leaves anything behind. It has
// nothing but tests.
package suite
