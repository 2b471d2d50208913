const isChinese = (language: string) => language.startsWith("zh");

/** Names one after the other, with the marks of the language. */
export function listText(items: string[], language: string): string {
  return items.join(isChinese(language) ? "、" : ", ");
}

/** A name with a remark: `ann (Owner)`. */
export function inBrackets(name: string, remark: string, language: string): string {
  return isChinese(language) ? `${name}（${remark}）` : `${name} (${remark})`;
}
