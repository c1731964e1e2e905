package cli

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/local"
)

// installMark stands in every file that install writes; another file is not ours
// to touch.
const installMark = "written by tenon daemon install"

// launchLabel names the agent to launchd.
const launchLabel = "dev.tenon.daemon"

type daemonInstallOptions struct {
	app        *app
	now, print bool
}

func (a *app) daemonInstallCommand() *cobra.Command {
	o := &daemonInstallOptions{app: a}
	c := &cobra.Command{
		Use:   "install",
		Short: "Let systemd or launchd keep the daemon running",
		Long: "Writes a systemd user unit, or on macOS a launchd agent, that runs this executable as\n" +
			"the daemon from your login on. Without it a daemon starts with the first command that\n" +
			"needs one; install it where the daemon has to be there before, such as for MCP over TCP.",
		Args: args(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error { return daemonInstall(cmd.Context(), o) },
	}
	c.Flags().BoolVar(&o.now, "now", false, "also start it now, and at every login")
	c.Flags().BoolVar(&o.print, "print", false, "print the file, and change nothing")
	return c
}

func (a *app) daemonUninstallCommand() *cobra.Command {
	o := &daemonInstallOptions{app: a}
	c := &cobra.Command{
		Use:   "uninstall",
		Short: "Take the unit or agent away again",
		Args:  args(0, 0),
		RunE:  func(cmd *cobra.Command, _ []string) error { return daemonUninstall(cmd.Context(), o) },
	}
	c.Flags().BoolVar(&o.now, "now", false, "also stop it now, and start it at no login")
	return c
}

// manager is the one that runs services here.
type manager struct {
	name  string
	file  string               // what install writes
	text  func(service) string // its contents
	on    [][]string           // commands that start it now and at login
	off   [][]string           // that stop it
	needs string               // how it comes to run for this user
}

// service is what is to be run.
type service struct {
	executable string
	env        [][2]string // what decides the daemon's places
}

// managerOf is that of this system.
func (a *app) managerOf(goos string) (*manager, error) {
	p, err := a.paths()
	if err != nil {
		return nil, err
	}
	switch goos {
	case "linux":
		config := a.env["XDG_CONFIG_HOME"]
		if !filepath.IsAbs(config) {
			config = filepath.Join(p.Home, ".config")
		}
		const unit = "tenon.service"
		return &manager{
			name: "systemd", file: filepath.Join(config, "systemd", "user", unit), text: systemdUnit,
			on:    [][]string{{"systemctl", "--user", "daemon-reload"}, {"systemctl", "--user", "enable", "--now", unit}},
			off:   [][]string{{"systemctl", "--user", "disable", "--now", unit}},
			needs: "log in as this user, not by su or sudo, or let loginctl enable-linger start it",
		}, nil
	case "darwin":
		file := filepath.Join(p.Home, "Library", "LaunchAgents", launchLabel+".plist")
		domain := "gui/" + strconv.Itoa(os.Getuid())
		return &manager{
			name: "launchd", file: file, text: launchAgent,
			on:    [][]string{{"launchctl", "bootstrap", domain, file}},
			off:   [][]string{{"launchctl", "bootout", domain + "/" + launchLabel}},
			needs: "log in at the screen",
		}, nil
	}
	return nil, fault.New(fault.UsageError, "there is no service manager for %s here", goos).
		WithHint("a daemon starts by itself with the first command that needs one")
}

// service says how the daemon is run by a manager. What makes its places differ
// from those of a new login goes along.
func (a *app) service() (service, error) {
	exe, err := os.Executable()
	if err != nil {
		return service{}, fault.New(fault.UsageError, "cannot find this executable: %w", err)
	}
	s := service{executable: exe}
	for _, name := range []string{"TENON_RUNTIME_DIR", "TENON_STATE_DIR", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME"} {
		if v := a.env[name]; v != "" {
			s.env = append(s.env, [2]string{name, v})
		}
	}
	if file := a.configFile(); file != "" {
		s.env = append(s.env, [2]string{"TENON_CONFIG", file})
	}
	for _, kv := range s.env {
		if strings.ContainsAny(kv[1], "\n\r\x00") {
			return service{}, fault.New(fault.UsageError, "%s has a line break", kv[0])
		}
	}
	return s, nil
}

// systemdUnit is a unit for systemd --user. Servers are processes of the user as
// in any terminal: hardening such as NoNewPrivileges or PrivateTmp would break
// browsers with a sandbox of their own, sudo, and files that are shared with them.
func systemdUnit(s service) string {
	var b strings.Builder
	fmt.Fprintf(&b, `# %s; tenon daemon uninstall removes it.
[Unit]
Description=tenon: one daemon for your MCP servers
StartLimitIntervalSec=60
StartLimitBurst=5

[Service]
Type=exec
ExecStart=%s daemon run --supervised
`, installMark, systemdQuote(s.executable))
	for _, kv := range s.env {
		fmt.Fprintf(&b, "Environment=%s\n", systemdQuote(kv[0]+"="+kv[1]))
	}
	b.WriteString(`# A crash, and a newer build that takes over (75). An end that was asked for stays one.
Restart=on-failure
RestartSec=1
# The daemon ends its servers in good order; what is left after that is killed.
KillMode=mixed
TimeoutStopSec=60
# A server that takes too much memory is no reason to end all others.
OOMPolicy=continue
LimitNOFILE=65536

[Install]
WantedBy=default.target
`)
	return b.String()
}

// systemdQuote makes one word of a unit file, whatever is in it.
func systemdQuote(word string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "%", "%%", "\t", `\t`).Replace(word) + `"`
}

// launchAgent is a property list for launchd.
func launchAgent(s service) string {
	text := func(v string) string {
		var b bytes.Buffer
		_ = xml.EscapeText(&b, []byte(v)) // a buffer takes everything
		return "<string>" + b.String() + "</string>"
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<!-- %s; tenon daemon uninstall removes it. -->
<plist version="1.0">
<dict>
	<key>Label</key>
	%s
	<key>ProgramArguments</key>
	<array>%s<string>daemon</string><string>run</string><string>--supervised</string></array>
	<key>EnvironmentVariables</key>
	<dict>
`, installMark, text(launchLabel), text(s.executable))
	for _, kv := range s.env {
		fmt.Fprintf(&b, "\t\t<key>%s</key>%s\n", kv[0], text(kv[1]))
	}
	b.WriteString(`	</dict>
	<key>RunAtLoad</key>
	<true/>
	<key>KeepAlive</key>
	<dict><key>SuccessfulExit</key><false/></dict>
	<key>ExitTimeOut</key>
	<integer>60</integer>
	<key>ProcessType</key>
	<string>Interactive</string>
</dict>
</plist>
`)
	return b.String()
}

func daemonInstall(ctx context.Context, o *daemonInstallOptions) error {
	m, err := o.app.managerOf(runtime.GOOS)
	if err != nil {
		return err
	}
	s, err := o.app.service()
	if err != nil {
		return err
	}
	text := m.text(s)
	if o.print {
		if o.app.flags.json {
			return o.app.document(map[string]any{"manager": m.name, "file": m.file, "text": text})
		}
		return o.app.write([]byte(text))
	}
	if err := o.app.mayInstall(ctx); err != nil {
		return err
	}
	changed, err := m.put(text)
	if err != nil {
		return err
	}
	if o.now {
		if err := m.command(m.on); err != nil {
			return err.WithHint("%s is written, and takes effect where %s runs for you: %s. Meanwhile a daemon starts with the first command", m.file, m.name, m.needs)
		}
	}
	if o.app.flags.json {
		return o.app.document(map[string]any{"manager": m.name, "file": m.file, "changed": changed, "started": o.now})
	}
	if changed {
		o.app.say("wrote %s for %s", m.file, m.name)
	} else {
		o.app.say("%s is as it should be", m.file)
	}
	if !o.now {
		for _, c := range m.on {
			o.app.say("to start it: %s", strings.Join(c, " "))
		}
	}
	return nil
}

// put writes the file, unless somebody else's is there.
func (m *manager) put(text string) (changed bool, err error) {
	switch have, err := local.ReadRegular(m.file); {
	case err == nil && string(have) == text:
		return false, nil
	case err == nil && !bytes.Contains(have, []byte(installMark)):
		return false, foreign(m.file)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return false, fault.New(fault.UsageError, "cannot read %s: %w", m.file, err)
	}
	if err := os.MkdirAll(filepath.Dir(m.file), 0o755); err != nil {
		return false, fault.New(fault.UsageError, "cannot make the folder of %s: %w", m.file, err)
	}
	if err := local.WriteFile(m.file, []byte(text), 0o644); err != nil {
		return false, fault.New(fault.UsageError, "cannot write %s: %w", m.file, err)
	}
	return true, nil
}

func foreign(file string) error {
	return fault.New(fault.UsageError, "%s was not written by tenon: it is left alone", file).
		WithHint("move it away first; tenon daemon install --print shows what would be there")
}

func daemonUninstall(ctx context.Context, o *daemonInstallOptions) error {
	m, err := o.app.managerOf(runtime.GOOS)
	if err != nil {
		return err
	}
	have, err := local.ReadRegular(m.file)
	there := err == nil
	switch {
	case there && !bytes.Contains(have, []byte(installMark)):
		return foreign(m.file)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return fault.New(fault.UsageError, "cannot read %s: %w", m.file, err)
	}
	if there {
		if err := o.app.mayInstall(ctx); err != nil {
			return err
		}
		if o.now {
			if err := m.command(m.off); err != nil {
				return err.WithHint("%s is still there; without %s: tenon daemon uninstall, then tenon daemon stop", m.file, m.name)
			}
		}
		if err := os.Remove(m.file); err != nil {
			return fault.New(fault.UsageError, "cannot remove %s: %w", m.file, err)
		}
	}
	if o.app.flags.json {
		return o.app.document(map[string]any{"manager": m.name, "file": m.file, "changed": there})
	}
	if !there {
		o.app.say("%s is not installed", m.file)
		return nil
	}
	o.app.say("removed %s", m.file)
	if !o.now {
		o.app.say("one that runs goes on until it is stopped: %s", strings.Join(m.off[0], " "))
	}
	return nil
}

// command gives commands to the service manager, one after the other. One that is
// not there, or refuses, is DaemonUnavailable: nobody has asked for anything wrong.
func (m *manager) command(commands [][]string) *fault.Error {
	for _, c := range commands {
		out, err := exec.Command(c[0], c[1:]...).CombinedOutput()
		if err == nil {
			continue
		}
		said, what := strings.TrimSpace(string(out)), "does not do as it is told"
		if errors.Is(err, exec.ErrNotFound) || slices.ContainsFunc(unreachable, func(words string) bool { return strings.Contains(said, words) }) {
			what = "cannot be reached"
		}
		e := fault.New(fault.DaemonUnavailable, "%s %s: %s: %w", m.name, what, strings.Join(c, " "), err)
		if said != "" {
			e.Message += ": " + said
		}
		return e
	}
	return nil
}

// unreachable are words of systemctl and launchctl where nobody is there to speak
// to: no bus, no manager of the user, no domain.
var unreachable = []string{"Failed to connect to bus", "not been booted with systemd", "Could not find domain", "Domain does not support specified action"}
