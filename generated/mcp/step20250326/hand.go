package step20250326

import (
	older "github.com/goldwire/goldwire/generated/mcp/v20241105"
	newer "github.com/goldwire/goldwire/generated/mcp/v20250326"
	"github.com/goldwire/goldwire/runtime/wire"
)

// noAudio is why audio is lost: content of 2024-11-05 is text, an image or a
// resource.
const noAudio = "2024-11-05 has no audio"

func downgradeContentBlockAudioContent(in *newer.AudioContent, e *wire.Env) (older.ContentBlock, error) {
	return audioText(in, e)
}

func downgradeSamplingMessageContentBlockAudioContent(in *newer.AudioContent, e *wire.Env) (older.SamplingMessageContentBlock, error) {
	return audioText(in, e)
}

// audioText is a text that stands for audio: "audio/wav, 12 kB".
func audioText(in *newer.AudioContent, e *wire.Env) (*older.TextContent, error) {
	if err := e.Instead("", noAudio); err != nil {
		return nil, err
	}
	out := &older.TextContent{Text: in.MIMEType + ", " + wire.SizeText(wire.Base64Len(in.Data))}
	if in.Annotations != nil {
		out.Annotations = new(older.Annotations)
		downAnnotations(out.Annotations, in.Annotations)
	}
	return out, nil
}
