import { createHmac } from 'node:crypto';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { NotifyOrder, NotifyType } from '@opentill/contracts/notify-order';

/** A callback as a merchant's server sees it. */
export interface ReceivedCallback {
  readonly nonce: string;
  readonly notifyType: NotifyType;
  readonly data: NotifyOrder;
  /** The whole body, as received. */
  readonly text: string;
  readonly headers: IncomingHttpHeaders;
  /** Why its signatures don't hold; none when both do. */
  readonly problems: readonly string[];
}

/** A merchant's server that remembers everything and answers 200 unless told otherwise. */
export interface CallbackReceiver {
  readonly url: string;
  readonly received: readonly ReceivedCallback[];
  /** An order's callbacks in the order of their first arrival, without repetitions. */
  of(orderId: string): readonly ReceivedCallback[];
  /** Their types and statuses, `ORDER_PENDING INIT` for example. */
  story(orderId: string): readonly string[];
  /** Passes every callback on to another server as well. */
  forwardTo(url: string): void;
  /** Decides the status of an answer; 200 by default. */
  answer: (callback: ReceivedCallback) => number;
  close(): Promise<void>;
}

interface Envelope {
  readonly sign: string;
  readonly timestamp: number;
  readonly nonce: string;
  readonly notifyType: NotifyType;
  readonly data: NotifyOrder;
}

/** Listens on a port of 127.0.0.1, which must be free. */
export async function startCallbackReceiver(port: number, secret: string): Promise<CallbackReceiver> {
  const received: ReceivedCallback[] = [];
  let next: string | undefined;

  async function take(text: string, headers: IncomingHttpHeaders, response: ServerResponse): Promise<void> {
    const { nonce, notifyType, data } = JSON.parse(text) as Envelope;
    const problems = findSignatureProblems(text, headers, secret);
    const callback: ReceivedCallback = { nonce, notifyType, data, text, headers, problems };
    received.push(callback);
    if (next !== undefined) {
      const named = ['content-type', 'webhook-id', 'webhook-timestamp', 'webhook-signature'];
      const signed = named.map((name): [string, string] => [name, String(headers[name])]);
      await fetch(next, { method: 'POST', body: text, headers: signed }).catch(() => undefined); // the other server may be down on purpose
    }
    response.statusCode = receiver.answer(callback);
    response.end();
  }

  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      take(Buffer.concat(chunks).toString('utf8'), request.headers, response).catch((error: unknown) => {
        response.statusCode = 500;
        response.end(String(error));
      });
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', resolve);
  });
  const of = (orderId: string) => firstArrivals(received.filter((one) => one.data.orderId === orderId));
  const receiver: CallbackReceiver = {
    url: `http://127.0.0.1:${port}/callbacks`,
    received,
    of,
    story: (orderId) => of(orderId).map(({ notifyType, data }) => `${notifyType} ${data.status}`),
    forwardTo: (url) => (next = url),
    answer: () => 200,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return receiver;
}

/** The first of each nonce. */
export function firstArrivals(callbacks: readonly ReceivedCallback[]): readonly ReceivedCallback[] {
  const seen = new Set<string>();
  return callbacks.filter(({ nonce }) => !seen.has(nonce) && seen.add(nonce));
}

/** Verifies both schemes (docs/api.md section 6) with nothing of the gateway's own code. */
function findSignatureProblems(text: string, headers: IncomingHttpHeaders, secret: string): string[] {
  const problems: string[] = [];
  const { sign, timestamp, nonce, data } = JSON.parse(text) as Envelope;
  const hex = (message: string) => createHmac('sha256', secret).update(message).digest('hex');
  const marker = '"data":';
  const raw = text.slice(text.indexOf(marker) + marker.length, -1);
  if (hex(raw) !== sign) problems.push('sign does not hold over the raw bytes of data');
  if (hex(JSON.stringify(data)) !== sign) problems.push('sign does not hold over data serialised again');
  if (headers['x-signature'] !== sign) problems.push('X-Signature is not sign');
  if (headers['x-timestamp'] !== `${timestamp}`) problems.push('X-Timestamp is not timestamp');
  const { 'webhook-id': id, 'webhook-timestamp': at, 'webhook-signature': signature } = headers;
  const expected = createHmac('sha256', secret).update(`${nonce}.${timestamp}.${text}`).digest('base64');
  if (id !== nonce || at !== `${timestamp}`) problems.push('webhook-id and webhook-timestamp are others');
  if (signature !== `v1,${expected}`) problems.push('webhook-signature does not hold');
  return problems;
}
