/** Keeps focus, selections and animations; screen readers announce only changed text. */
export function morph(current: Element, wanted: Element): void {
  morphAttributes(current, wanted);
  const before = [...current.childNodes];
  const after = [...wanted.childNodes];
  after.forEach((child, place) => {
    const old = before[place];
    if (old === undefined) current.append(child);
    else if (!isSameKind(old, child)) old.replaceWith(child);
    else if (old instanceof Element) morph(old, child as Element);
    else if (old.nodeValue !== child.nodeValue) old.nodeValue = child.nodeValue;
  });
  for (const old of before.slice(after.length)) old.remove();
}

function isSameKind(a: Node, b: Node): boolean {
  if (a.nodeType !== b.nodeType || a.nodeName !== b.nodeName) return false;
  return !(a instanceof Element) || kindOf(a) === kindOf(b as Element);
}

/** Different kinds of elements with the same name differ in their class. */
function kindOf(element: Element): string {
  return element.getAttribute('class') ?? '';
}

function morphAttributes(current: Element, wanted: Element): void {
  for (const name of current.getAttributeNames()) {
    // The reader decides whether a `details` is open.
    if (name !== 'open' && !wanted.hasAttribute(name)) current.removeAttribute(name);
  }
  for (const { name, value } of wanted.attributes) {
    if (current.getAttribute(name) !== value) current.setAttribute(name, value);
  }
}
