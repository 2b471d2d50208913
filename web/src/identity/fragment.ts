/** The secret behind `#` of the present address, where no server log sees it: `#SECRET` or `#name=SECRET`. */
export function fragment(hash: string): string | undefined {
  const text = hash.replace(/^#/, "");
  const value = text.includes("=") ? text.slice(text.indexOf("=") + 1) : text;
  return value === "" ? undefined : decodeURIComponent(value);
}
