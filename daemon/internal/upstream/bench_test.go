package upstream

func maybeSDKServer() {}
