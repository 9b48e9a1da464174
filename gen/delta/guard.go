package delta

import (
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/goldwire/goldwire/gen/ir"
)

// part says what a difference in one field of the model is: one of the kinds
// of changes, or, when there are none, no change for the reason why.
type part struct {
	kinds []Kind
	any   bool   // the kinds may belong to any member
	why   string // kinds is empty: why a difference is none
}

func is(kinds ...Kind) part { return part{kinds: kinds} }

// inside is a part that holds others, which are compared one by one.
func inside(kinds ...Kind) part { return part{kinds: kinds, any: true} }

func no(why string) part { return part{why: why} }

const (
	texts   = "texts say how to use it and are no part of the protocol"
	derived = "follows from parts that are compared"
	history = "tells the past, not what is"
	origin  = "says who defines it: the capability that it needs is compared"
)

// parts names every field of the model that two matched pieces may differ in.
// A test holds it complete.
var parts = map[reflect.Type]map[string]part{
	reflect.TypeFor[ir.Package](): {
		"Revision": no("two revisions have two names"), "Name": no("always mcp"), "Dir": no("made of the revision"),
		"Source": no("the file's name"), "SourceHash": no("the file's hash"), "Stateless": is(HandshakeChanged),
		"Doc": no(texts), "Changes": no(texts), "Place": no(texts),
		"Extensions": no("each is a capability, and those are compared"),
		"Types":      no("compared one by one"), "Methods": no("compared one by one"), "Errors": no("compared one by one"), "Consts": no("compared one by one"),
	},
	reflect.TypeFor[ir.Type](): {
		"Name": is(TypeRenamed), "Schema": no("how the file calls it: neither Go nor the wire knows"), "Kind": is(KindChanged),
		"Doc": no(texts), "Since": no(history), "Deprec": is(Deprecated, Undeprecated),
		"Fields": inside(MemberAdded, MemberRemoved, MadeRequired, MadeOptional, TypeChanged, ConstChanged, DefaultChanged, ImpliedChanged,
			BoundsChanged, FormatChanged, GoNameChanged, GetterAdded, GetterGone, Deprecated, Undeprecated),
		"Closed": is(ClosedChanged), "Values": inside(ValueAdded, ValueRemoved, ValueRenamed, OrderChanged), "Open": is(OpenChanged),
		"Arms": inside(ArmAdded, ArmRemoved, ImplAdded, ImplGone), "Plan": inside(PlanChanged, ArmAdded, ArmRemoved),
		"Target": is(TargetChanged), "Elem": is(ElemChanged), "Raws": inside(RawAdded, RawRemoved),
		"Role": no(derived), "Params": no(derived), "Result": no(derived), "MetaOf": no(derived), "Bounded": no(derived), "Extension": no(origin),
	},
	reflect.TypeFor[ir.Field](): {
		"JSON": no("members are matched by it"), "Name": is(GoNameChanged), "Type": is(TypeChanged, ConstChanged), "Required": is(MadeRequired, MadeOptional),
		"Const": is(ConstChanged), "Default": is(DefaultChanged, MadeRequired, MadeOptional), "Min": is(BoundsChanged), "Max": is(BoundsChanged), "MaxItems": is(BoundsChanged),
		"Format": is(FormatChanged), "Implied": is(ImpliedChanged), "Since": no(history), "Doc": no(texts), "Deprec": is(Deprecated, Undeprecated),
	},
	reflect.TypeFor[ir.Method](): {
		"Name": no("methods are matched by it"), "Definition": no("how the file calls it: neither Go nor the wire knows"),
		"Go": is(GoNameChanged), "Const": is(GoNameChanged), "Notification": is(MethodKindChanged), "Direction": is(DirectionChanged),
		"Params": is(ParamsChanged), "ParamsReq": is(ParamsMadeReq, ParamsMadeOpt), "Result": is(ResultChanged), "Outcomes": inside(OutcomeAdded, OutcomeRemoved),
		"Paginated": is(PagesChanged), "Items": is(PagesChanged), "Item": is(PagesChanged), "Server": inside(NeedAdded, NeedRemoved),
		"Client": inside(NeedAdded, NeedRemoved), "Gates": inside(GateAdded, GateRemoved), "Lifecycle": is(LifecycleChanged), "Since": no(history),
		"Embedded": is(EmbeddedChanged), "Extension": no(origin), "Doc": no(texts), "Deprec": is(Deprecated, Undeprecated),
	},
	reflect.TypeFor[ir.Extension](): {
		"Name": no(origin), "ID": no(origin), "Source": no(origin), "SourceHash": no(origin), "Place": no(texts),
	},
	reflect.TypeFor[ir.Error](): {
		"Name": no("errors are matched by it"), "Code": is(CodeChanged), "Data": is(DataChanged), "Doc": no(texts), "Since": no(history), "Deprec": no(texts),
	},
	reflect.TypeFor[ir.Const](): {
		"Name": no("constants are matched by it"), "Value": is(ConstantChanged), "Doc": no(texts), "Since": no(history),
	},
}

// explain holds that every difference between two matched pieces of the models
// is one of the changes that were found for the member, or none by parts.
func (f *found) explain(member string, older, newer any) error {
	o, n := reflect.ValueOf(older).Elem(), reflect.ValueOf(newer).Elem()
	known := parts[o.Type()]
	for i := range o.NumField() {
		name := o.Type().Field(i).Name
		x, y := o.Field(i).Interface(), n.Field(i).Interface()
		p, ok := known[name]
		if ok && len(p.kinds) == 0 || equal(name, x, y) {
			continue
		}
		where := member
		if p.any {
			where = "*"
		}
		if ok && f.has(where, p.kinds...) {
			continue
		}
		if ok && p.any && f.settled(name, older, newer) {
			continue
		}
		subject := f.subject
		if member != "" {
			subject += "." + member
		}
		return &UnclassifiedError{Subject: subject, Part: o.Type().Name() + "." + name, Older: text(x), Newer: text(y)}
	}
	return nil
}

// equal compares one field. A deprecation is there or not; its text is a text.
func equal(name string, x, y any) bool {
	if name == "Deprec" {
		return (x == "") == (y == "")
	}
	return reflect.DeepEqual(x, y)
}

// settled says whether lists differ only in what is compared inside of them:
// texts and the order in which things are written.
func (f *found) settled(name string, older, newer any) bool {
	o, ok := older.(*ir.Type)
	if !ok {
		return false
	}
	n := newer.(*ir.Type)
	switch name {
	case "Fields": // each was compared by itself, and explained
		return true
	case "Values":
		return sameKeys(o.Values, n.Values, func(v *ir.EnumValue) string { return v.Value + " " + v.Name })
	case "Arms":
		return sameKeys(o.Arms, n.Arms, func(a *ir.Arm) string { return a.Type + " " + a.Tag })
	case "Plan":
		return planOf(o, n) == planOf(n, o) && (o.Plan == nil) == (n.Plan == nil)
	case "Raws":
		return sameKeys(o.Raws, n.Raws, func(k ir.RawKind) string { return rawNames[k] })
	}
	return false
}

// sameKeys says whether two lists have the same keys in any order.
func sameKeys[T any](a, b []T, key func(T) string) bool {
	count := map[string]int{}
	for _, x := range a {
		count[key(x)]++
	}
	for _, x := range b {
		count[key(x)]--
	}
	for _, n := range count {
		if n != 0 {
			return false
		}
	}
	return true
}

// text writes a value of the model for a message.
func text(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(b)
}
