import { expect, it } from 'vitest';
import { createCallbackForwarder } from './forward-callbacks.ts';

const SHOP_PORT = 3011;
const CALLBACK = {
  body: Buffer.from('{"sign":"1"}'),
  headers: { 'webhook-id': 'event-1', 'x-signature': '1', cookie: 'secret', host: 'shop' },
};

/** Answers 200 by default. A real Response would load the HTTP client. */
function aForwarder(answer: () => object = () => ({ status: 200, body: null }), machineHost?: string) {
  const sent: { readonly url: string; readonly init: RequestInit }[] = [];
  const send = async (url: unknown, init: RequestInit = {}) => {
    sent.push({ url: String(url), init });
    return answer();
  };
  return {
    forwarder: createCallbackForwarder({ ownPort: SHOP_PORT, machineHost }, send as typeof fetch),
    sent,
  };
}

it('forwards body and signature headers unchanged, and no other header', async () => {
  const { forwarder, sent } = aForwarder();
  expect(await forwarder.forward(CALLBACK)).toBeUndefined();
  expect(forwarder.setTarget('http://localhost:4000/callbacks')).toBe(true);
  expect(await forwarder.forward(CALLBACK)).toBe('answered 200');
  const { url, init } = sent[0]!;
  expect(url).toBe('http://localhost:4000/callbacks');
  expect(init.headers).toEqual({ 'webhook-id': 'event-1', 'x-signature': '1', 'opentill-copy': '1' });
  expect(Buffer.from(init.body as Uint8Array).toString()).toBe('{"sign":"1"}');
});

it('reaches the machine outside its container, and does not forward a copy', async () => {
  const { forwarder, sent } = aForwarder(undefined, 'host.docker.internal');
  expect(forwarder.setTarget('http://127.0.0.1:4000/callbacks')).toBe(true);
  expect(await forwarder.forward(CALLBACK)).toBe('answered 200');
  const copy = { ...CALLBACK, headers: { ...CALLBACK.headers, 'opentill-copy': '1' } };
  expect(await forwarder.forward(copy)).toBeUndefined();
  expect(sent.map(({ url }) => url)).toEqual(['http://host.docker.internal:4000/callbacks']);
});

it('reports a receiver that does not answer, and stops on request', async () => {
  const { forwarder, sent } = aForwarder(() => {
    throw new TypeError('refused');
  });
  forwarder.setTarget('http://127.0.0.1:4000/');
  expect(await forwarder.forward(CALLBACK)).toBe('no answer');
  forwarder.setTarget(undefined);
  expect(await forwarder.forward(CALLBACK)).toBeUndefined();
  expect(sent).toHaveLength(1);
});

it.each(['https://localhost/', 'http://10.0.0.1/', 'http://evil.example/', 'file:///etc/passwd', 'x'])(
  'rejects %s, which is not http on this machine',
  (url) => {
    const { forwarder } = aForwarder();
    expect(forwarder.setTarget(url)).toBe(false);
    expect(forwarder.target).toBeUndefined();
  },
);

it.each(['http://localhost:3011/callbacks', 'http://127.0.0.1:3011/', 'http://[::1]:3011/'])(
  'rejects %s, its own address, where each copy would be forwarded again',
  (url) => {
    const { forwarder } = aForwarder();
    expect(forwarder.setTarget(url)).toBe(false);
  },
);
