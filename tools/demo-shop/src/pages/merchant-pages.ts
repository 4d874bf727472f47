import type { NetworkConfig } from '@opentill/contracts/network-config';
import type { DescribedNetwork } from '../devnet-wallet.ts';
import type { ShopOrder } from '../shop-order.ts';
import { escapeHtml, renderPage } from './layout.ts';
import { orderRow } from './order-pages.ts';
import { assetOptions } from './shop-pages.ts';

/** Accounts with published keys: anvil's tenth, the first of the mnemonic `abandon … about`, the SUI devnet's second. */
const RECEIVERS = {
  EVM: '0xa0Ee7A142d267C1f36714E4a8F75612F20a79720',
  TRON: 'TUEZSdKsoDHQMeZwihtdoBiN46zxhGWYdH',
  SUI: '0xc562357204cbc1e3d473450c0d666061e169ceac641dbf2a008250c1e9ae8baa',
};

/** Form of the merchant for payouts from the hot wallet, and the latest payouts. */
export function payOutPage(networks: readonly NetworkConfig[], payouts: readonly ShopOrder[]): string {
  const receivers = Object.entries(RECEIVERS)
    .map(([family, address]) => `<option value="${address}">${family}</option>`)
    .join('');
  const rows = payouts.map((order) => `<li>${orderRow(order, networks)}</li>`).join('');
  return renderPage({
    title: 'Pay out',
    path: '/pay-out',
    body: `<p class="lead">Money leaves from the gateway's hot wallet. Above the policy's limit an operator must approve it.</p>
<div class="two"><form class="card" method="post" action="/pay-out"><label for="receiver">To</label><input id="receiver" name="receiver" list="receivers" value="${RECEIVERS.EVM}" autocomplete="off"><datalist id="receivers">${receivers}</datalist><p class="hint">An address of the network below.</p>
<label for="amount">Amount</label><input id="amount" name="amount" value="5.00" inputmode="decimal"><label for="asset">Token</label><select id="asset" name="asset">${assetOptions(networks)}</select><button class="wide">Send</button></form>
<section data-live aria-label="Payouts">${payouts.length === 0 ? '<p class="dim">No payout yet.</p>' : `<ul class="rows">${rows}</ul>`}</section></div>`,
  });
}

/** The local chains, for wallets and programs. Keys are folded. */
export function devnetPage(
  networks: readonly DescribedNetwork[],
  { shopUrl, webhookSecret }: { readonly shopUrl: string; readonly webhookSecret: string },
): string {
  const code = (text: string) => `<code>${escapeHtml(text)}</code>`;
  const cards = networks.map((network) => {
    const tokens = network.tokens.map(
      ({ symbol, contract, decimals }) =>
        `<dt>${escapeHtml(symbol)}</dt><dd>${code(contract ?? 'native coin')}, ${decimals} decimals</dd>`,
    );
    const id = network.chainId ?? network.genesisId;
    return `<section class="card" aria-label="${escapeHtml(network.chain)}"><h2>${escapeHtml(network.name)}</h2>
<dl class="left"><dt>Chain</dt><dd>${code(network.chain)}</dd><dt>RPC</dt><dd>${code(network.rpcUrl)}</dd>${id === undefined ? '' : `<dt>Chain id</dt><dd>${code(String(id))}</dd>`}<dt>Confirmations</dt><dd>${escapeHtml(String(network.confirmations))}</dd>${tokens.join('')}<dt>Customer</dt><dd>${code(network.customer.address)}</dd></dl>
<details><summary>Key of the customer, for a wallet app</summary><p>${code(network.customer.privateKey)}</p><p class="hint">It is published and worthless on other chains. Never send real money to it.</p></details></section>`;
  });
  return renderPage({
    title: 'Devnet',
    path: '/devnet',
    body: `<p class="lead">The local chains, and the wallet of the test customer. For programs: <a href="/devnet.json">devnet.json</a></p>
<section class="card" aria-label="For your own program"><h2>For your own program</h2><p>This pays an order of any shop, as a customer:</p><pre tabindex="0" role="region" aria-label="Pay an order"><code>curl -s -H 'content-type: application/json' -d '{"orderId":"YOUR-ORDER"}' \\
  ${escapeHtml(shopUrl)}/devnet/pay</code></pre><p>This shop verifies callbacks with the webhook secret ${code(webhookSecret)}.</p></section>
<div class="two even">${cards.join('')}</div>`,
  });
}
