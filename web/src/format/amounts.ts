/** MiB as GiB with one decimal where it says something. */
export function gib(mib: number, language: string): string {
  return `${new Intl.NumberFormat(language, { maximumFractionDigits: 1 }).format(mib / 1024)} GiB`;
}

/** A number as people of that language write it. */
export function number(value: number, language: string, decimals = 0): string {
  return new Intl.NumberFormat(language, { maximumFractionDigits: decimals }).format(value);
}
