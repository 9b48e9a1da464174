#!/usr/bin/env bash
# The step of action.yml: goldwire check with the inputs of the action as its
# flags. It writes every report to a folder, appends the Markdown one to the
# summary of the job, and ends with the status of the check.
set -euo pipefail

goldwire=${INPUT_GOLDWIRE:-$RUNNER_TEMP/goldwire-bin/goldwire}
reports=$RUNNER_TEMP/goldwire-reports
mkdir -p "$reports"

flags=(--revision "${INPUT_REVISION:-auto}")
for name in config server baseline flaky source; do
	var=INPUT_${name^^}
	if [ -n "${!var:-}" ]; then
		flags+=("--$name" "${!var}")
	fi
done
case ${INPUT_STRICT:-false} in
true) flags+=(--strict) ;;
false) ;;
*)
	echo "::error title=goldwire::strict is true or false, not ${INPUT_STRICT//[^a-zA-Z0-9]/?}"
	exit 2
	;;
esac
# The inputs come from the workflow, which may run what it likes anyway.
eval "flags+=(${INPUT_ARGS:-})"
if [ -n "${INPUT_COMMAND:-}" ]; then
	flags+=(-- bash -c "$INPUT_COMMAND")
elif [ -z "${INPUT_CONFIG:-}" ]; then
	echo "::error title=goldwire::name the server: command or config"
	exit 2
fi

status=0
rm -f "$reports/summary.md"
"$goldwire" check --report "json=$reports/report.json" --report "junit=$reports/junit.xml" --report "sarif=$reports/report.sarif" \
	--report "html=$reports/report.html" --report "markdown=$reports/summary.md" "${flags[@]}" || status=$?
if [ -f "$reports/summary.md" ]; then
	cat "$reports/summary.md" >>"${GITHUB_STEP_SUMMARY:-/dev/null}"
fi
{
	echo "status=$status"
	echo "reports=$reports"
} >>"${GITHUB_OUTPUT:-/dev/null}"
exit "$status"
