package wire

// LookKind looks ahead as Has does and returns the kind of the member's value, KindNone if there is no such member.
func (d *Dec) LookKind(path ...string) (Kind, error) {
	i, err := d.lookup(path)
	if err != nil || i < 0 || i >= len(d.b) {
		return KindNone, err
	}
	return kindOf(d.b[i]), nil
}
