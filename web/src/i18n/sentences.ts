/**
 * Sentences of the server that have no code beside them, as patterns: what is found
 * is said in the user's language and for somebody in front of a console instead of a
 * command line; everything else stays as the server wrote it.
 */
type Pattern = [pattern: RegExp, key: string, holes: string[]];

const PATTERNS: Pattern[] = [
  [/^stops after (.+) without activity; its data are kept$/, "sentence.idle", ["span"]],
  [/^never stops because it is idle \(switched off\)$/, "sentence.idle-off", []],
  [/^stops (.+) after it became ready$/, "sentence.after", ["span"]],
  [/^stops at (.+) \(([^)]+)\)$/, "sentence.at", ["at", "zone"]],
  [/^stops when it has cost (\S+) (\S+)$/, "sentence.budget", ["amount", "currency"]],
  [/^if it has not left this state by (.+), the operator is called$/, "sentence.deadline", ["at"]],
  [/^it comes to rest; its data are kept$/, "sentence.comes-to-rest", []],
  [/^it is removed with its data$/, "sentence.removed", []],
  [
    /^the account's money ends at (.+) if everything goes on; then it is stopped and its data kept$/,
    "sentence.money-ends",
    ["at"],
  ],
  [/^instances have no way out of this node: its network mode is closed$/, "sentence.network-closed", []],
  [
    /^the cards are fake: their load follows what your programs do on the CPU, and CPU and memory are shared with others$/,
    "sentence.fake",
    [],
  ],
  [
    /^disk use is not limited on this host: (\d+) MiB were promised, and all instances share the node's disk$/,
    "sentence.disk",
    ["mib"],
  ],
  [
    /^the helper inside answered as user (\d+), exactly the device numbers (.+) show inside, and a shell ran$/,
    "sentence.evidence",
    ["user", "numbers"],
  ],
  [/^its data are kept; `suanli start` starts it again$/, "sentence.start-again", []],
  [
    /^rent with a longer --stop-idle, or with `--stop-idle off`, if it was not idle for you$/,
    "sentence.longer-idle",
    [],
  ],
  [/^`suanli release \S+` removes it; nothing of this start was billed$/, "sentence.not-billed", []],
  [/^stopped by the renter$/, "why.by-renter", []],
  [/^stopped by the operator$/, "why.by-operator", []],
  [/^stopped by its idle rule$/, "why.idle", []],
  [/^stopped by its timer rule$/, "why.timer", []],
  [/^stopped because its budget was spent$/, "why.budget-spent", []],
  [/^stopped because the account's money ended$/, "why.money-ended", []],
  [/^its first process ended$/, "why.init-died", []],
  [/^its machine was lost$/, "why.node-lost", []],
  [/^its machine never proved more than this$/, "event.never-proven", []],
  [/^proven ready: the meter runs$/, "sentence.meter-runs", []],
  [/^top-up$/, "sentence.top-up", []],
  [/^stopped by (.+)$/, "sentence.stopped-by", ["who"]],
  [/^the card no longer answers$/, "sentence.card-silent", []],
  [/^look at the machine's kernel log for Xid messages; .+$/, "sentence.card-silent-do", []],
  [/^its agent was last heard at (.+)$/, "sentence.agent-silent", ["at"]],
  [/^see whether the machine runs and its agent answers .+$/, "sentence.agent-silent-do", []],
  [/^its wall clock moved by (.+); bills follow the monotonic clock$/, "sentence.clock-step", ["by"]],
  [/^check the machine's time synchronisation, .+$/, "sentence.clock-step-do", []],
  [/^the machine has an instance that the books do not know$/, "sentence.unknown-instance", []],
  [
    /^find out (?:where it comes from|whose it is) .*before removing anything.*$/,
    "sentence.unknown-instance-do",
    [],
  ],
  [/^no evidence for the time from (\S+) to (\S+)$/, "sentence.no-evidence", ["from", "to"]],
  [/^find out why the machine never came back; .+$/, "sentence.no-evidence-do", []],
  [/^mail did not leave for three days: (.+)$/, "sentence.mail-stuck", ["why"]],
  [/^look at the mail settings .+$/, "sentence.mail-stuck-do", []],
];

/** People count disks in GiB. */
function hole(name: string, text: string): [string, string] {
  const mib = Number(text);
  return name === "mib" && mib % 1024 === 0
    ? ["size", `${mib / 1024} GiB`]
    : name === "mib"
      ? ["size", `${text} MiB`]
      : [name, text];
}

/** The key and holes of a sentence that is known, or `undefined`. */
export function recognise(text: string): { key: string; values: Record<string, string> } | undefined {
  for (const [pattern, key, holes] of PATTERNS) {
    const match = pattern.exec(text);
    if (match)
      return { key, values: Object.fromEntries(holes.map((name, i) => hole(name, match[i + 1] ?? ""))) };
  }
  return undefined;
}
