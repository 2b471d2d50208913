/**
 * Lets libraries that write `<style>` elements at run time work under
 * `style-src 'self'`: their text goes into constructed style sheets, which a
 * content security policy allows because no markup can make them. The element
 * that the library holds is never a real style element, so no policy is asked
 * and no nonce has to be put into the page.
 */
export function constructedSheets(document: Document) {
  const create = document.createElement.bind(document);
  const standIns = new WeakMap<Node, CSSStyleSheet>();

  const drop = (node: Node) => {
    const sheet = standIns.get(node);
    if (sheet) document.adoptedStyleSheets = document.adoptedStyleSheets.filter((s) => s !== sheet);
  };

  const styleStandIn = () => {
    const element = create("meta") as HTMLElement;
    const sheet = new CSSStyleSheet();
    let text = "";
    const property = {
      configurable: true,
      get: () => text,
      set: (css: string) => {
        text = css;
        sheet.replaceSync(css);
        if (!document.adoptedStyleSheets.includes(sheet)) document.adoptedStyleSheets.push(sheet);
      },
    };
    Object.defineProperties(element, {
      // Libraries find their own elements again by this name.
      tagName: { value: "STYLE" },
      innerHTML: property,
      textContent: property,
      sheet: { get: () => sheet },
    });
    standIns.set(element, sheet);
    const remove = element.remove.bind(element);
    element.remove = () => {
      drop(element);
      remove();
    };
    return element;
  };

  document.createElement = ((name: string, options?: ElementCreationOptions) =>
    name.toLowerCase() === "style" ? styleStandIn() : create(name, options)) as typeof document.createElement;

  const observer = new MutationObserver((changes) => {
    for (const change of changes) for (const node of change.removedNodes) if (!node.isConnected) drop(node);
  });
  observer.observe(document.head, { childList: true });
}
