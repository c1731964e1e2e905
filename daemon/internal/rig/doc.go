// Package rig is what tests of the whole product stand on: the real binary,
// built with the race detector, in a home of its own, with doubles of plugin
// hosts as processes beside it, and the check that nothing is left at the end.
// The cases, the faults and the soak use it; no part of the product does.
//
// A package that uses it lets [Main] be its TestMain, since the doubles are the
// test binary itself in another role.
package rig
