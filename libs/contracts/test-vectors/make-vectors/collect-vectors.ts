import { createHmac } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { makeAttacks } from './attacks.ts';
import type { Serialiser } from './run-serialisers.ts';
import type { CallbackVector, OrderIdVector, RequestVector, Version2Vector } from './vector-file.ts';

/** Signed with white space, which the body does not have: not compact JSON as documented. */
const REFUSED = new Set([
  'javascript/hostile/pretty-signed',
  'python/hostile/spaced-signed',
  'go/usual/newline-signed',
  'go-1.21/usual/newline-signed',
]);

export async function readToken(): Promise<string> {
  const text = await readFile(new URL('payloads.json', import.meta.url), 'utf8');
  return (JSON.parse(text) as { readonly token: string }).token;
}

export async function collectFrom(serialiser: Serialiser): Promise<readonly RequestVector[]> {
  const made = (await serialiser.run()) as readonly Omit<RequestVector, 'expect'>[];
  return made.map(({ name, serialiser: call, sign, body = '' }) => ({
    name,
    serialiser: call,
    expect: REFUSED.has(name) ? 'refused' : 'accepted',
    sign,
    body,
  }));
}

export function collectByHand(token: string): {
  readonly requests: readonly RequestVector[];
  readonly version2: readonly Version2Vector[];
  readonly orderIds: readonly OrderIdVector[];
  readonly callbacks: readonly CallbackVector[];
} {
  return {
    requests: makeAttacks(token),
    version2: makeVersion2(token),
    orderIds: makeOrderIds(token),
    callbacks: [
      makeCallback('plain secret', 'vectors-webhook-secret'),
      makeCallback('whsec_ secret', WHSEC_SECRET),
    ],
  };
}

const WHSEC_SECRET = `whsec_${Buffer.from('0123456789abcdef0123456789abcdef', 'latin1').toString('base64')}`;

function hmac(key: string | Buffer, text: string, encoding: 'hex' | 'base64' = 'hex'): string {
  return createHmac('sha256', key).update(text, 'utf8').digest(encoding);
}

function makeVersion2(token: string): readonly Version2Vector[] {
  const data = '{"amount":"12.5","symbol":"USDC","memo":"caf\u00e9 / x"}';
  const path = '/v1/order/createPayout';
  const make = (
    name: string,
    expect: 'accepted' | 'refused',
    message: string,
    sent = { path, timestamp: '1790000000', nonce: 'n-1', data },
  ): Version2Vector => {
    const sign = hmac(token, message);
    const body = `{"sign":"${sign}","timestamp":${sent.timestamp},"nonce":"${sent.nonce}","data":${sent.data}}`;
    return { name: `version-2/${name}`, serialiser: 'by hand', expect, path: sent.path, sign, body };
  };
  const message = `1790000000.n-1.${path}.${data}`;
  const sent = { path, timestamp: '1790000000', nonce: 'n-1', data };
  const pretty = data.replaceAll(',', ', \n');
  return [
    make('as-received', 'accepted', message),
    make('white-space', 'accepted', message, { ...sent, data: pretty }),
    make('white-space-signed', 'accepted', `1790000000.n-1.${path}.${pretty}`, { ...sent, data: pretty }),
    make('another-path', 'refused', message, { ...sent, path: '/v1/order/createCollection' }),
    make('another-timestamp', 'refused', message, { ...sent, timestamp: '1790000001' }),
    make('another-nonce', 'refused', message, { ...sent, nonce: 'n-2' }),
    make('nonce-with-path', 'refused', message, { ...sent, nonce: `n-1.${path}` }),
    make('respelled', 'refused', message, { ...sent, data: data.replace('/', '\\/') }),
    make('data-alone', 'refused', data),
  ];
}

function makeOrderIds(token: string): readonly OrderIdVector[] {
  const make = (orderId: string, signed = orderId): OrderIdVector => ({
    orderId,
    sign: hmac(token, signed),
    expect: orderId === signed ? 'accepted' : 'refused',
  });
  return [
    make('A-1001'),
    make('P:2024~07@9'),
    make('A-1001', 'A-1002'),
    make('A-1001', 'a-1001'),
    make('A-1001', '"A-1001"'),
  ];
}

function makeCallback(name: string, secret: string): CallbackVector {
  const [eventId, notifyType, timestampSeconds] = [
    '0192f0c1-7a3e-7c11-9d55-2f6f0a1b2c3d',
    'ORDER_SUCCESS',
    1790000123,
  ];
  const transaction = {
    txid: '0x5c504ed432cb51138bcf09aa5e8a410dd4a1e204ef84bfed1be16dfba1b22060',
    status: 'SUCCESS',
    timestamp: 1790000100,
    blockNum: 19000000,
    confirmedNum: 12,
    amount: '250.00',
    symbol: 'USDT',
    chain: 'ETH_SEPOLIA',
  };
  const data = {
    uid: null,
    orderId: 'A-1001',
    status: 'SUCCESS',
    reason: 'caf\u00e9 "x"',
    amount: '250.00',
    transaction,
  };
  const text =
    '{"amount":"250.00","orderId":"A-1001","reason":"caf\\u00e9 \\"x\\"","status":"SUCCESS","transaction":{"amount":"250.00",' +
    '"blockNum":19000000,"chain":"ETH_SEPOLIA","confirmedNum":12,"status":"SUCCESS","symbol":"USDT","timestamp":1790000100,' +
    `"txid":"${transaction.txid}"},"uid":null}`;
  const sign = hmac(secret, text);
  const body = `{"sign":"${sign}","timestamp":${timestampSeconds},"nonce":"${eventId}","notifyType":"${notifyType}","data":${text}}`;
  const key = secret.startsWith('whsec_') ? Buffer.from(secret.slice('whsec_'.length), 'base64') : secret;
  const headers = {
    'webhook-id': eventId,
    'webhook-timestamp': String(timestampSeconds),
    'webhook-signature': `v1,${hmac(key, `${eventId}.${timestampSeconds}.${body}`, 'base64')}`,
    'X-Signature': sign,
    'X-Timestamp': String(timestampSeconds),
  };
  return { name, secret, eventId, notifyType, timestampSeconds, data, body, headers };
}
