package embedded

import "testing"

func TestSnapshotStarts(t *testing.T) {
	s, err := takeSnapshot()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d KiB of %d KiB, from %d", len(s.data)>>10, s.size>>10, s.low)
}
