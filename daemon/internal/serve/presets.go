package serve

import (
	"context"
	"fmt"
	"sync"

	"tenon/daemon/internal/api"
	"tenon/daemon/internal/config"
	"tenon/daemon/internal/peer"
	"tenon/daemon/internal/policy"
	"tenon/proto"
)

// presets serves the routes about the two dials.
type presets struct{ d *daemon }

var _ api.Presets = presets{}

// switchAction is what switches are called in the audit events of history.
const switchAction = "preset"

// shownSwitches is how many of the last switches a list has.
const shownSwitches = 20

// List says what is in effect where the caller stands, and the names that there
// are for combinations of the dials.
func (p presets) List(ctx context.Context, c *peer.Caller) (*proto.Presets, error) {
	view, err := p.d.view(c, "")
	if err != nil {
		return nil, err
	}
	file, err := configOf(c)
	if err != nil {
		return nil, err
	}
	out := &proto.Presets{Current: policy.Derive(view.Permissions)}
	out.Sandbox, out.Approval = policy.Dials(view.Permissions)
	var written config.Dials
	if out.File, written, err = p.d.config.WrittenDials(file); err != nil {
		return nil, err
	}
	if view.Held {
		out.Waiting = policy.Named(view.Permissions, written.Sandbox, written.Approval)
	}
	builtin := len(config.BuiltinPresets())
	for i, known := range policy.Presets(view.Permissions) {
		out.Presets = append(out.Presets, proto.Preset{
			Name: known.Name, Sandbox: known.Sandbox, Approval: known.Approval, Own: i >= builtin,
		})
	}
	if c.May(peer.Presets) != nil {
		return out, nil
	}
	events, err := p.d.history.Events(ctx, switchAction, shownSwitches)
	if err != nil { // what is in effect does not hang on it
		p.d.log.Warn("the switches of presets cannot be read", "error", err)
	}
	for _, e := range events {
		out.Switches = append(out.Switches, proto.PresetSwitch{Time: e.Time, Actor: e.Actor, Detail: e.Detail})
	}
	return out, nil
}

// Use writes a preset's dials into the caller's file and records the switch. A
// preset that the file has already changes and records nothing.
func (p presets) Use(ctx context.Context, c *peer.Caller, r proto.PresetUse) (*proto.PresetUsed, error) {
	file, err := configOf(c)
	if err != nil {
		return nil, err
	}
	var done *config.Switch
	err = p.d.dials.change(p.d, func() error {
		done, err = p.d.config.UsePreset(r.Name, file)
		if err != nil || !done.Changed {
			return err
		}
		view, err := p.d.view(c, "")
		if err != nil {
			return err
		}
		from := policy.Named(view.Permissions, done.From.Sandbox, done.From.Approval)
		detail := switchText(from, done.To.Name, done.From, config.Dials{Sandbox: done.To.Sandbox, Approval: done.To.Approval}) + ", in " + done.File
		if view.Held {
			detail += "; waits for tenon trust --config"
		}
		p.d.history.Audit(string(c.Class), switchAction, detail)
		return nil
	})
	if err != nil {
		return nil, err
	}
	list, err := p.List(ctx, c)
	if err != nil {
		return nil, err
	}
	return &proto.PresetUsed{Changed: done.Changed, Backup: done.Backup, Presets: *list}, nil
}

func switchText(from, to string, before, after config.Dials) string {
	return fmt.Sprintf("%s → %s (%s → %s)", from, to, before, after)
}

// dials is what is in effect of the user's own configuration, so that each
// change of it becomes one audit event, whoever made it.
type dials struct {
	mu    sync.Mutex // held from a change to its record, which the watcher of files sees as well
	known bool
	now   config.Dials
}

// change does what records itself, and takes in what that brought.
func (s *dials) change(d *daemon, do func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := do()
	s.look(d)
	return err
}

// note records a change of what is in effect since the last look.
func (s *dials) note(d *daemon, actor, how string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.record(d, actor, how)
}

// by does something that may change what is in effect, and records that.
func (s *dials) by(d *daemon, actor, how string, do func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := do(); err != nil {
		return err
	}
	s.record(d, actor, how)
	return nil
}

func (s *dials) record(d *daemon, actor, how string) {
	before, knew := s.now, s.known
	if p := s.look(d); knew && s.now != before {
		d.history.Audit(actor, switchAction, switchText(policy.Named(p, before.Sandbox, before.Approval), policy.Derive(p), before, s.now)+", "+how)
	}
}

// look reads what is in effect. A configuration that cannot be read leaves it as
// it was.
func (s *dials) look(d *daemon) config.Permissions {
	view, err := d.config.View(d.o.Paths.Home, "", config.EnvFrom(d.o.Environ))
	if err != nil {
		return config.Permissions{}
	}
	s.known = true
	s.now.Sandbox, s.now.Approval = policy.Dials(view.Permissions)
	return view.Permissions
}
