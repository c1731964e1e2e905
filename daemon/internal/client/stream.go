package client

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/url"

	"tenon/daemon/internal/fault"
	"tenon/proto"
)

// Exec runs a program and hands on its frames in order until the stream ends.
// It returns the run's result; a failure of the program is in it, a failure to
// run it at all is the error. The end of ctx hangs up, which cancels the run.
func (c *Client) Exec(ctx context.Context, r proto.ExecRequest, on func(proto.Frame)) (*proto.RunResult, error) {
	res, err := c.Open(ctx, "POST", "/v1/exec", r, "application/x-ndjson")
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	var result *proto.RunResult
	err = lines(res.Body, func(raw []byte) error {
		var f proto.Frame
		if err := json.Unmarshal(raw, &f); err != nil {
			return err
		}
		if f.Type == "result" {
			if err := json.Unmarshal(f.Data, &result); err != nil {
				return err
			}
		}
		if on != nil {
			on(f)
		}
		return nil
	})
	if result != nil {
		return result, nil
	}
	if err == nil {
		err = io.ErrUnexpectedEOF
	}
	return nil, c.broken(ctx, err)
}

// Call makes one call. asked, when not nil, hears of questions that the call
// waits for and that somebody here can answer, and of their end: frames of type
// ask, question and withdraw.
func (c *Client) Call(ctx context.Context, r proto.CallRequest, asked func(proto.Frame)) (*proto.CallResult, error) {
	return c.call(ctx, "/v1/call", r, asked)
}

// call makes what a route answers as a call's.
func (c *Client) call(ctx context.Context, route string, r any, asked func(proto.Frame)) (*proto.CallResult, error) {
	if asked == nil {
		var out proto.CallResult
		if err := c.Do(ctx, "POST", route, r, &out); err != nil {
			return nil, err
		}
		return &out, nil
	}
	res, err := c.Open(ctx, "POST", route, r, "application/x-ndjson")
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	var result *proto.CallResult
	var failure *proto.Error
	err = lines(res.Body, func(raw []byte) error {
		var f proto.Frame
		if err := json.Unmarshal(raw, &f); err != nil {
			return err
		}
		switch f.Type {
		case "ask", "question", "withdraw":
			asked(f)
		case "result":
			return json.Unmarshal(f.Data, &result)
		case "error":
			return json.Unmarshal(f.Data, &failure)
		}
		return nil
	})
	switch {
	case failure != nil:
		return nil, fault.FromWire(failure)
	case result != nil:
		return result, nil
	case err == nil:
		err = io.ErrUnexpectedEOF
	}
	return nil, c.broken(ctx, err)
}

// Events hands on the daemon's events until ctx ends or the daemon goes;
// types (comma-separated) selects some, empty means all. open, when not nil, is
// called once nothing is missed any more.
func (c *Client) Events(ctx context.Context, types string, open func(), on func(proto.Event) error) error {
	path := "/v1/events"
	if types != "" {
		path += "?types=" + url.QueryEscape(types)
	}
	res, err := c.Open(ctx, "GET", path, nil, "application/x-ndjson")
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if open != nil { // the daemon answers after it has subscribed us
		open()
	}
	stop := errors.New("")
	err = lines(res.Body, func(raw []byte) error {
		var e proto.Event
		if err := json.Unmarshal(raw, &e); err != nil {
			return err
		}
		if err := on(e); err != nil {
			stop = err
			return err
		}
		return nil
	})
	if err == nil || errors.Is(err, stop) {
		return err
	}
	return c.broken(ctx, err)
}

// lines reads newline-delimited JSON of any length; empty lines keep the
// connection alive and mean nothing.
func lines(r io.Reader, on func([]byte) error) error {
	br := bufio.NewReaderSize(r, 16<<10)
	for {
		line, err := br.ReadBytes('\n')
		if len(line) > 1 {
			if err := on(line); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
