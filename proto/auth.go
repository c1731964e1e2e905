package proto

// Login is how the login to a remote server stands.
type Login struct {
	Server    string   `json:"server"` // unconfigured: what a logout calls it
	URL       string   `json:"url"`    // as written: placeholders unexpanded
	State     string   `json:"state"`  // off, none, needed, valid, limited, unconfigured (no server of the view has it)
	Issuer    string   `json:"issuer,omitempty"`
	Client    string   `json:"client,omitempty"` // configured, document, registered
	Scopes    []string `json:"scopes,omitempty"`
	Expires   string   `json:"expires,omitempty"` // RFC 3339, of the access token
	Refreshes bool     `json:"refreshes"`         // it is replaced then without the user
	Detail    string   `json:"detail,omitempty"`
}

// LoginStart is POST /v1/servers/{name}/auth: logs in to a server.
type LoginStart struct {
	Flow string `json:"flow"` // browser, device, any
}

// LoginPrompt is the data of a frame of type login: what the user has to do.
type LoginPrompt struct {
	Flow     string `json:"flow"` // browser, device
	URL      string `json:"url"`
	Code     string `json:"code,omitempty"`     // to be typed there
	Complete string `json:"complete,omitempty"` // an address that holds the code
	Expires  string `json:"expires"`            // RFC 3339
}

// LoginEnded answers DELETE /v1/servers/{name}/auth.
type LoginEnded struct {
	Ended bool  `json:"ended"` // there was one
	Login Login `json:"login"`
}
