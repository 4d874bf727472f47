import { WEBHOOK_SIGNATURE } from '@opentill/contracts/http/openapi';
import { escapeHtml } from '../routes/escape-html.ts';
import type { DocsFacts } from './docs-facts.ts';
import { GUIDES } from './guides.ts';
import { listing, prose, table, tabs } from './markup.ts';
import { RECEIVERS } from './receivers.ts';

const MERCHANT_URL = 'https://pay.example.com/m/my-shop';
const ORDER_ID = 'order-1001';
/** Signs the text of a shell variable with the token. */
const signCommand = (variable: string) =>
  `SIGN=$(printf %s "$${variable}" | openssl dgst -sha256 -hmac "$TOKEN" -r | cut -d' ' -f1)`;

export const SIGN_ORDER_ID = signCommand('ORDER');

function createCommand({ chain, symbol }: DocsFacts['asset']): string {
  return `DATA='{"orderId":"'$ORDER'","amount":"25.00","symbol":"${symbol}","chain":"${chain}"}'
${signCommand('DATA')}
curl -s "$GATEWAY/v1/order/createCollection" -H 'content-type: application/json' \\
  -d "{\\"sign\\":\\"$SIGN\\",\\"timestamp\\":$(date +%s),\\"nonce\\":\\"$(openssl rand -hex 12)\\",\\"data\\":$DATA}"`;
}

const STATUS_COMMAND = `${SIGN_ORDER_ID}
curl -s "$GATEWAY/v1/order/status/$ORDER?sign=$SIGN"`;

/** The demo shop verifies callbacks with it. The api does not know it. */
function secretOf({ local }: Pick<DocsFacts, 'local'>): string {
  return local?.shopUrl === undefined
    ? "'YOUR-SECRET'"
    : `"$(curl -s ${local.shopUrl}/devnet/webhook-secret)"`;
}

/** Five steps to the first verified callback. */
export function renderStart(facts: DocsFacts): string {
  const { gatewayUrl, asset, local } = facts;
  const base =
    gatewayUrl === undefined ? MERCHANT_URL : gatewayUrl + (local?.token === undefined ? '/m/my-shop' : '');
  const set = `GATEWAY=${base}\nTOKEN='${local?.token ?? 'YOUR-TOKEN'}'\nORDER=${ORDER_ID}`;
  return `<section id="start"><h2>The first payment</h2>
<h3>1. Know your merchant</h3>${renderMerchant(facts, base)}
${listing('Your base URL, token and order id', set)}
<h3>2. Listen for callbacks</h3>${renderReceive(facts)}
<h3>3. Ask for an order</h3><p>${prose('The signature is over `data`, exactly as sent. The same `orderId` with the same values returns the same order, so a request may be repeated.')}</p>
${listing('Create an order', createCommand(asset))}
<p>${prose('The answer has the deposit `address`, which belongs to this order only, and `paymentUrl`, the payment page for your customer.')}</p>
<h3>4. Pay it</h3>${renderPay(facts)}
<h3>5. See that it is paid</h3><p>${prose('Your receiver prints `ORDER_SUCCESS` and the order id when the payment has its confirmations. Only `ORDER_SUCCESS` means paid. You can also ask for the status; the signature of a GET is over the order id.')}</p>${listing('Get the status of the order', STATUS_COMMAND)}</section>`;
}

function renderMerchant({ local, openAt }: DocsFacts, base: string): string {
  const rows = [
    ['Base URL', `<code>${escapeHtml(base)}</code>`],
    ['Token', 'signs your requests. It is never sent; keep it on your server'],
    ['Webhook secret', 'verifies the callbacks. It is shared by the gateway and your server only'],
    ['Callback URL', 'where the gateway posts what happens to your orders'],
  ];
  const origin =
    local?.token === undefined
      ? prose(
          'The operator of this gateway creates your merchant with `opentill merchant create --id my-shop --callback-url https://shop.example.com/callbacks`. The command shows, once, the base URL, the token and the webhook secret.',
        )
      : prose(
          'This gateway runs in the local profile, with worthless money. The commands below work as they are: they use the merchant `default`, whose token is filled in. `npm run -s opentill -- merchant create --id my-shop --callback-url http://127.0.0.1:4000/` creates another.',
        );
  const elsewhere =
    local === undefined && openAt !== undefined
      ? `<p>${prose('This gateway runs in the local profile. To have the token filled in, open this page on the machine of the gateway:')} <a href="${escapeHtml(openAt)}">${escapeHtml(openAt)}</a></p>`
      : '';
  return `<p>${origin}</p>${elsewhere}${table('What a merchant has', ['What', 'Value or use'], rows)}`;
}

function renderPay({ local }: DocsFacts): string {
  const shopUrl = local?.shopUrl;
  if (shopUrl === undefined)
    return `<p>${prose('Open the `paymentUrl` in a browser, and pay with a wallet of that network. On a test network use test tokens of its faucet. Every chain value that ends in `_TEST`, `_SEPOLIA` or `_AMOY` is a test network.')}</p>`;
  const shop = escapeHtml(shopUrl);
  return `<p>${prose('The demo shop holds a funded wallet of the local chains and pays for your customer:')}</p>
${listing('Pay the order on the local chain', `curl -s ${shopUrl}/devnet/pay -H 'content-type: application/json' -d '{"orderId":"'$ORDER'"}'`)}
<p>Open the <code>paymentUrl</code> in a browser to watch it. <a href="${shop}/devnet">The devnet page</a> shows the addresses of the chains, for a wallet of your own. In <a href="${shop}/">the demo shop</a> the button “Demo: pay as a test customer” does the same.</p>`;
}

function renderReceive({ local }: DocsFacts): string {
  const shopUrl = local?.shopUrl;
  const own =
    'In a second terminal, save one of [the receivers](#verify) and run it with the command that is above it. It prints each callback that it has verified.';
  const text = prose(own).replace(/\[([^\]]+)\]\((#\w+)\)/, '<a href="$2">$1</a>');
  if (shopUrl === undefined)
    return `<p>${text} ${prose('The operator sets the URL with `opentill merchant set my-shop --callback-url https://shop.example.com/callbacks`.')}</p>`;
  const shop = escapeHtml(shopUrl);
  const forward = `curl -s ${shopUrl}/callbacks/forward -d url=`;
  return `<p>${text} The command has the webhook secret of the merchant <code>default</code> filled in. The gateway posts the callbacks of that merchant to the demo shop, which shows them on <a href="${shop}/callbacks">a page</a>. The shop can forward a copy to your program:</p>
${listing('Forward callbacks to your program', `${forward}http://127.0.0.1:4000/`)}
<p>${prose('It answers 303 and prints `See Other. Redirecting to /callbacks`. A URL that is not `http` on this machine is answered 400, with the reason. An empty URL stops forwarding:')}</p>
${listing('Stop forwarding', forward)}
<ul><li>${prose('A copy is sent once, without retries. If your program missed it, set `ORDER` to another id and repeat steps 3 and 4.')}</li>
<li>${prose('A copy has the unchanged body and signatures. The header `opentill-copy: 1` marks it; that header is not signed.')}</li>
<li>${prose('`npm run -s opentill -- merchant set default --callback-url http://127.0.0.1:4000/`, run in the folder of the repository, sends the callbacks to your program without the shop. The gateway retries those.')}</li></ul>`;
}

export function renderSigning({ asset }: DocsFacts): string {
  return `<section id="signing"><h2>Signing</h2><p>${prose(
    'A POST is signed over its `data`, a GET over its `orderId`: HMAC-SHA256 with the merchant token as key, in hex. The signed text is `data` exactly as sent, without spaces. `GATEWAY` is the base URL of the merchant, such as `https://pay.example.com/m/my-shop`. With a shell:',
  )}</p>${listing('How to sign a POST', createCommand(asset))}${listing('How to sign a GET', STATUS_COMMAND)}</section>`;
}

/** Complete receivers in five languages. */
export function renderVerify(facts: Pick<DocsFacts, 'local'>): string {
  const secret = secretOf(facts);
  const panels = RECEIVERS.map(({ language, file, command, code }) => ({
    label: language,
    html: `<p>Save it as <code>${file}</code> and run it with the webhook secret:</p>${listing(`Run the receiver in ${language}`, `WEBHOOK_SECRET=${secret} ${command}`)}${listing(`Receiver in ${language}`, code)}`,
  }));
  return `<section id="verify"><h2>Verify callbacks</h2><p>${prose(
    'A callback has two signatures. Verify the header `webhook-signature`: it covers id, time and body. `sign` in the body, and the equal header `X-Signature`, cover only `data`; they are for clients of the older format.',
  )}</p><p>${prose(WEBHOOK_SIGNATURE)} ${prose('Use the raw body, before any JSON parser.')}</p><p>${prose(
    'Each program below is complete, uses only the standard library, and listens on port 4000.',
  )}</p>${tabs('receiver', 'Language', panels)}</section>`;
}

export function renderGuides(): string {
  const rows = GUIDES.map(([file, title, about]) => [`<a href="docs/guides/${file}">${title}</a>`, about]);
  return `<section id="guides"><h2>Guides and SDK</h2>${table('Guides', ['Guide', 'About'], rows)}<p><a href="docs/guides">All documents</a>. For programs: <a href="openapi.json">openapi.json</a> (OpenAPI 3.1).</p></section>`;
}
