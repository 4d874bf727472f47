import type { NetworkConfig } from '@opentill/contracts/network-config';
import { dollars, PRODUCTS, type Product } from '../products.ts';
import { escapeHtml, renderPage } from './layout.ts';

/** Value and label of each token, grouped by network. */
export function assetOptions(networks: readonly NetworkConfig[]): string {
  return networks
    .map(({ chain, name, tokens }) => {
      const options = tokens.map(
        ({ symbol }) =>
          `<option value="${escapeHtml(`${chain}/${symbol}`)}">${escapeHtml(symbol)} on ${escapeHtml(name)}</option>`,
      );
      return `<optgroup label="${escapeHtml(name)}">${options.join('')}</optgroup>`;
    })
    .join('');
}

/** Name of a chain in the networks file, which the payment page shows as well. */
export function nameOf(networks: readonly NetworkConfig[], chain: string): string {
  return networks.find((network) => network.chain === chain)?.name ?? chain;
}

export function picture(product: Product, alt = product.alt): string {
  return `<img src="/pictures/${product.id}.svg" alt="${escapeHtml(alt)}" width="240" height="200">`;
}

export function shopWindow(): string {
  const cards = PRODUCTS.map(
    (
      product,
    ) => `<li class="product">${picture(product)}<div><h2>${product.name}</h2><p>${escapeHtml(product.text)}</p>
<footer><span class="price">${dollars(product.price)}</span><a class="button" href="/cart?product=${product.id}" aria-label="Buy ${product.name}">Buy</a></footer></div></li>`,
  );
  return renderPage({
    title: 'Small goods for long evenings',
    path: '/',
    body: `<p class="lead">Made in small batches. Pay with USDT or USDC, one for one dollar.</p><ul class="products">${cards.join('')}</ul>`,
  });
}

/** The cart, which holds one product. */
export function cartPage(product: Product, networks: readonly NetworkConfig[]): string {
  return renderPage({
    title: 'Your cart',
    body: `<div class="two"><section class="card item" aria-label="Product">${picture(product)}<div><h2>${product.name}</h2><p class="dim">${escapeHtml(product.text)}</p><p class="dim">Quantity: 1</p></div><span class="price">${dollars(product.price)}</span></section>
<form class="card" method="post" action="/buy"><h2>Summary</h2><dl><dt>${product.name}</dt><dd>${dollars(product.price)}</dd><dt>Shipping</dt><dd>free</dd><dt class="total">Total</dt><dd class="total">${dollars(product.price)}</dd></dl>
<input type="hidden" name="product" value="${product.id}"><label for="asset">Pay with</label><select id="asset" name="asset">${assetOptions(networks)}</select>
<button class="wide">Check out</button><p class="hint">Next you see your order and its payment page.</p></form></div>`,
  });
}
