/** A path of this console to go to after signing in; anything else leads to the market. */
export function safeNext(next: string | null): string {
  if (!next?.startsWith("/") || next.startsWith("//") || next.includes("\\")) return "/market";
  return next;
}
