import type { RulesChange, StopRules } from "../api/types";

/** What a form for stop rules holds. */
export type RuleFields = {
  /** Length of the idle rule, such as `2h`; ignored while `idleOn` is off. */
  idle: string;
  idleOn: boolean;
  after: string;
  /** `HH:MM` in the time zone of the account. */
  at: string;
  budget: string;
};

/** The idle rule of new instances. */
export const USUAL_IDLE = "2h";

/** A moment as a clock in a time zone shows it, `22:00`. */
export function clock(moment: string, timeZone: string): string {
  return new Intl.DateTimeFormat("en-GB", {
    timeZone,
    hour: "2-digit",
    minute: "2-digit",
    hourCycle: "h23",
  }).format(new Date(moment));
}

/** A form that shows rules as they are. */
export function fieldsOf(rules: StopRules, timeZone: string): RuleFields {
  return {
    idle: rules.idle ?? USUAL_IDLE,
    idleOn: Boolean(rules.idle),
    after: rules.after ?? "",
    at: rules.at ? clock(rules.at, timeZone) : "",
    budget: rules.budget?.amount ?? "",
  };
}

/** What has to be asked for so that the rules become what the form says; empty when nothing changes. */
export function rulesChange(before: RuleFields, after: RuleFields): RulesChange {
  const idle = (f: RuleFields) => (f.idleOn ? f.idle : "off");
  const changed = (old: string, now: string) => (old.trim() === now.trim() ? undefined : now.trim() || "off");
  const change: RulesChange = {
    idle: changed(idle(before), idle(after)),
    after: changed(before.after, after.after),
    at: changed(before.at, after.at),
    budget: changed(before.budget, after.budget),
  };
  return Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined));
}
