package client

// scripts are those beside the good server.
func scripts() []Script { return nil }
