import { Refused } from "../api/problem";

/**
 * Why a sign-in at a provider came to nothing. The address of the page carries the
 * code alone, which means something narrower here than elsewhere.
 */
export function providerRefusal(code: string, word: (prefix: string, name: string) => string): Refused {
  const narrow = word("provider-refusal", code);
  const text = narrow === code ? word("cause", code) : narrow;
  return new Refused(401, narrow === code ? code : "provider-refusal", text);
}
