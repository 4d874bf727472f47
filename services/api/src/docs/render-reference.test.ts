import { expect, it } from 'vitest';
import { Ajv2020 } from 'ajv/dist/2020.js';
import ajvFormats from 'ajv-formats';
import { API_ERRORS } from '@opentill/contracts/http/api-errors';
import { OPENAPI_DOCUMENT } from '@opentill/contracts/http/openapi';
import { API_SCHEMAS } from '@opentill/contracts/http/schemas';
import { escapeHtml } from '../routes/escape-html.ts';
import { RECEIVERS } from './receivers.ts';
import { renderReference } from './render-reference.ts';
import { sampleValue } from './sample-value.ts';

const ASSET = { chain: 'ETH_SEPOLIA', symbol: 'USDT' };
const html = renderReference({ gatewayUrl: 'https://pay.example.com', asset: ASSET, local: undefined });
const ids = [...html.matchAll(/ id="(?<id>[^"]+)"/g)].map((match) => match.groups?.['id'] ?? '');

it('gives each operation, callback and schema a section that links lead to', () => {
  const operations = [OPENAPI_DOCUMENT.paths, OPENAPI_DOCUMENT.webhooks].flatMap((group) =>
    Object.values(group).flatMap((verbs) => Object.values(verbs as object) as { operationId: string }[]),
  );
  expect(new Set(ids).size).toBe(ids.length);
  expect(ids).toEqual(expect.arrayContaining(operations.map(({ operationId }) => operationId)));
  expect(ids).toEqual(expect.arrayContaining(Object.keys(API_SCHEMAS)));
  const targets = [...html.matchAll(/href="#(?<id>[^"]+)"/g)].map((match) => match.groups?.['id'] ?? '');
  expect(targets.filter((target) => !ids.includes(target))).toEqual([]);
});

it('shows every field of every schema and every error text', () => {
  for (const schema of Object.values(API_SCHEMAS) as { properties?: object }[])
    for (const field of Object.keys(schema.properties ?? {})) expect(html).toContain(`<code>${field}</code>`);
  const refusals = JSON.stringify(OPENAPI_DOCUMENT.paths);
  for (const { msg } of Object.values(API_ERRORS))
    if (refusals.includes(JSON.stringify(msg))) expect(html).toContain(escapeHtml(msg));
});

it('shows examples that are valid for their schemas', () => {
  const ajv = new Ajv2020({ allowUnionTypes: true, strictRequired: false });
  ajvFormats.default(ajv);
  ajv.addVocabulary(['components']);
  ajv.addSchema({ $id: 'api', components: { schemas: API_SCHEMAS } });
  const shown = [...html.matchAll(/aria-label="Example[^"]*"><code>(?<text>[^]*?)<\/code>/g)];
  expect(shown.length).toBeGreaterThan(6);
  for (const [name, schema] of Object.entries(API_SCHEMAS)) {
    const resolved = JSON.parse(
      JSON.stringify({ $ref: `#/components/schemas/${name}` }).replaceAll('"#/', '"api#/'),
    ) as object;
    const check = ajv.compile(resolved);
    if (name === 'ErrorEnvelope') continue; // its texts are shown instead
    check(sampleValue(schema, API_SCHEMAS));
    expect([name, check.errors]).toEqual([name, null]);
  }
});

it('loads only its icon and runs only its own script', () => {
  expect(html.match(/<script>/g)).toHaveLength(1);
  expect(html.match(/<link [^>]*>/g)).toEqual(['<link rel="icon" href="favicon.svg" type="image/svg+xml">']);
  expect(html.replaceAll(escapeHtml(RECEIVERS[0]!.code), '')).not.toMatch(
    /<script [a-z]|<img|<iframe| src=| style=|@import|url\(| on\w+=/,
  );
});

it('lists each error once, with the operations that answer it', () => {
  for (const { msg } of Object.values(API_ERRORS)) {
    const shown = html.split(`>${escapeHtml(msg)}<`).length - 1;
    expect([msg, shown]).toEqual([msg, 1]);
  }
  expect(html).toMatch(/The receiveAddress cannot be left blank\.<\/td><td[^>]*><a href="#createPayout">/);
});

it('has a receiver in five languages, and the commands to run them', () => {
  expect(RECEIVERS.map(({ language }) => language)).toEqual(['Node.js', 'Python', 'PHP', 'Go', 'Java']);
  for (const { code, command } of RECEIVERS) {
    expect(html).toContain(escapeHtml(code));
    expect(html).toContain(escapeHtml(command));
  }
});

it('fills in the base URL, and a token only from the local profile', () => {
  expect(html).toContain('GATEWAY=https://pay.example.com/m/my-shop\n');
  expect(html).toContain(escapeHtml("TOKEN='YOUR-TOKEN'"));
  expect(html).not.toContain('/devnet');
  const local = renderReference({
    gatewayUrl: 'http://localhost:3010',
    asset: { chain: 'BSC_TEST', symbol: 'USDC' },
    local: { token: 'the<token', shopUrl: 'http://localhost:3011' },
  });
  expect(local).toContain('GATEWAY=http://localhost:3010\n');
  expect(local).toContain(escapeHtml("TOKEN='the<token'"));
  expect(local).toContain('curl -s http://localhost:3011/devnet/pay');
  expect(local).toContain(escapeHtml('"symbol":"USDC","chain":"BSC_TEST"'));
  const secret = escapeHtml('WEBHOOK_SECRET="$(curl -s http://localhost:3011/devnet/webhook-secret)" node');
  expect(local).toContain(secret);
  expect(html).toContain(escapeHtml("WEBHOOK_SECRET='YOUR-SECRET' node"));
});

it('leads to a receiver before the payment, and says how to stop the copies', () => {
  const local = { token: 't', shopUrl: 'http://localhost:3011' };
  const page = renderReference({ gatewayUrl: 'http://localhost:3010', asset: ASSET, local });
  const steps = [...page.matchAll(/<h3>(\d)\. (.*?)<\/h3>/g)].map(([, at, name]) => `${at} ${name}`);
  expect(steps).toEqual([
    '1 Know your merchant',
    '2 Listen for callbacks',
    '3 Ask for an order',
    '4 Pay it',
    '5 See that it is paid',
  ]);
  const stop =
    'aria-label="Stop forwarding"><code>curl -s http://localhost:3011/callbacks/forward -d url=</code>';
  expect(page).toContain(stop);
  expect(page).toContain('<code>opentill-copy: 1</code>');
});

it('describes the signature of callbacks in the same words everywhere', () => {
  const signed = escapeHtml('webhook-id + "." + webhook-timestamp + "." + body');
  const callbacks = Object.keys(OPENAPI_DOCUMENT.webhooks).length;
  expect(html.split(signed)).toHaveLength(callbacks + 2);
});

it('shows an example of each GET', () => {
  for (const url of ['status/$ORDER?sign=$SIGN', 'pay?orderId=$ORDER&sign=$SIGN', 'supportSymbols'])
    expect(html).toContain(escapeHtml(`${url}"`));
});
