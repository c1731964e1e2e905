package faults

import (
	"testing"

	"tenon/daemon/internal/rig"
)

func TestMain(m *testing.M) { rig.Main(m) }
