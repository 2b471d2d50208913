import type { RentRequest } from "../api/types";
import { type RuleFields, USUAL_IDLE } from "../rules/ruleFields";

/** What the rent form holds. */
export type RentFields = RuleFields & {
  count: number;
  name: string;
  /** What it is a part of. */
  project: string;
  onStart: string;
};

/** What a new form holds: the idle rule is on. */
export const FRESH: RentFields = {
  count: 1,
  name: "",
  project: "",
  idle: USUAL_IDLE,
  idleOn: true,
  after: "",
  at: "",
  budget: "",
  onStart: "",
};

/** The request that a form asks for; empty fields are left to the server. */
export function rentRequest(gpu: string, account: string | undefined, form: RentFields): RentRequest {
  const filled = (text: string) => text.trim() || undefined;
  return {
    gpu,
    count: form.count,
    account,
    name: filled(form.name),
    project: filled(form.project),
    on_start: filled(form.onStart),
    env: {},
    rules: {
      idle: form.idleOn ? form.idle : "off",
      after: filled(form.after),
      at: filled(form.at),
      budget: filled(form.budget),
    },
  };
}
