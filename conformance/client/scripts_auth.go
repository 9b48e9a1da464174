package client

func authScripts() []Script { return nil }
