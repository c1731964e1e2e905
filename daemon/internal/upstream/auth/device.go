package auth

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"tenon/daemon/internal/fault"
)

const (
	pollDefault = 5 * time.Second // RFC 8628 section 3.2
	pollMost    = time.Minute
	slower      = 5 * time.Second // by slow_down, section 3.5
	// nowhere is the redirect address that a client of the device flow is
	// registered with: nobody is sent there, but registration wants one.
	nowhere = "http://127.0.0.1" + callbackPath
)

// deviceAnswer is the answer of a device authorization endpoint.
type deviceAnswer struct {
	Device   string      `json:"device_code"`
	Code     string      `json:"user_code"`
	URL      string      `json:"verification_uri"`
	OldURL   string      `json:"verification_url"` // as some wrote it before the RFC
	Complete string      `json:"verification_uri_complete"`
	Expires  json.Number `json:"expires_in"`
	Interval json.Number `json:"interval"`
}

// byDevice is the device flow.
func (s *Source) byDevice(ctx context.Context, w *web, p *place, before *record, scope string, r *record, tell func(Prompt)) error {
	var err error
	redirect := first(s.target.Redirect, nowhere)
	if r.Client, err = w.identify(ctx, s.target, p, before, redirect, scope, true); err != nil {
		return err
	}
	form := url.Values{"resource": {p.resource}}
	withScope(form, scope)
	var a deviceAnswer
	if err := w.form(ctx, "the device authorization endpoint", p.meta.Device, r.Client, form, &a); err != nil {
		return err
	}
	a.URL = first(a.URL, a.OldURL)
	if a.Device == "" || a.Code == "" {
		return fmt.Errorf("the device authorization endpoint gave no code")
	}
	for _, at := range []string{a.URL, a.Complete} {
		if at == "" && at != a.URL {
			continue
		}
		if _, err := w.address("verification_uri", at); err != nil {
			return err
		}
	}
	life := seconds(a.Expires, LoginWithin, LoginWithin)
	until, cancel := context.WithTimeoutCause(ctx, life,
		fault.New(fault.TimeoutExceeded, "the code for server %s was not used within %s", s.target.Server, life).At(s.target.Server, ""))
	defer cancel()
	deadline, _ := until.Deadline()
	// What a server gives to be shown is one line without control characters.
	tell(Prompt{Flow: Device, URL: a.URL, Code: clip(a.Code, 60), Complete: a.Complete, Expires: deadline})
	t, err := w.poll(until, p.meta.Token, r.Client, &a, p.resource)
	if err != nil {
		if until.Err() != nil {
			return context.Cause(until)
		}
		return err
	}
	t.into(r, scope, time.Now())
	return nil
}

// poll asks for the tokens until the user has decided.
func (w *web) poll(ctx context.Context, endpoint string, c client, a *deviceAnswer, resource string) (*tokens, error) {
	every := seconds(a.Interval, pollDefault, pollMost)
	timer := time.NewTimer(every)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		form := url.Values{"grant_type": {grantDevice}, "device_code": {a.Device}, "resource": {resource}}
		t, err := w.grant(ctx, endpoint, c, form)
		if err == nil {
			return t, nil
		}
		switch refused := asRefusal(err); {
		case refused != nil && refused.Code == "authorization_pending":
		case refused != nil && refused.Code == "slow_down":
			every = min(every+slower, pollMost)
		case refused == nil && fault.KindOf(err) == fault.ToolFailure:
			every = min(2*every, pollMost) // not there for the moment (section 3.5)
		default:
			return nil, err
		}
		timer.Reset(every)
	}
}

// seconds is a number of seconds within bounds.
func seconds(n json.Number, otherwise, most time.Duration) time.Duration {
	s, err := strconv.ParseFloat(strings.TrimSpace(string(n)), 64)
	if err != nil || s <= 0 {
		return otherwise
	}
	if s > most.Seconds() {
		return most
	}
	return max(time.Duration(s*float64(time.Second)), time.Second)
}
