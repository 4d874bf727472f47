const SHOP_NAME = 'Pebble & Pine';

/** Makes text safe for HTML content and attributes. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
}

const LINKS = [
  ['/', 'Shop'],
  ['/orders', 'Orders'],
  ['/callbacks', 'Callbacks'],
  ['/pay-out', 'Pay out'],
  ['/devnet', 'Devnet'],
] as const;

export interface Page {
  readonly title: string;
  /** The link that is marked in the menu. */
  readonly path?: string;
  readonly body: string;
  /** Shown in place of the title. */
  readonly heading?: string;
}

export function renderPage({ title, path, body, heading = escapeHtml(title) }: Page): string {
  const link = ([href, name]: (typeof LINKS)[number]) =>
    `<a href="${href}"${href === path ? ' aria-current="page"' : ''}>${name}</a>`;
  const [shop, orders, ...merchant] = LINKS.map(link);
  const isMerchant = LINKS.slice(2).some(([href]) => href === path);
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)} – ${escapeHtml(SHOP_NAME)}</title><link rel="icon" href="/pictures/logo.svg" type="image/svg+xml"><link rel="stylesheet" href="/shop.css"><script src="/shop.js" defer></script></head><body>
<header><a class="brand" href="/"><img src="/pictures/logo.svg" alt="" width="36" height="36">${escapeHtml(SHOP_NAME)}</a>
<nav aria-label="Shop">${shop}${orders}</nav><nav aria-label="Merchant" class="merchant"><details${isMerchant ? ' class="current"' : ''}><summary>Merchant</summary><div>${merchant.join('')}</div></details></nav></header>
<main><h1>${heading}</h1>${body}</main>
<footer><p>A demo shop on local chains: no real money, and nothing is shipped.</p></footer></body></html>`;
}

/** Page for a request that failed. */
export function problemPage(message: string): string {
  return renderPage({
    title: 'That did not work',
    body: `<p class="notice bad">${escapeHtml(message)}</p><p><a class="button" href="/">Back to the shop</a> <a class="button quiet" href="/orders">Your orders</a></p>`,
  });
}

/** Time of day of an ISO timestamp. */
export function timeOf(iso: string): string {
  return `<time datetime="${escapeHtml(iso)}">${escapeHtml(iso.slice(11, 19))} UTC</time>`;
}
