import { createHmac } from 'node:crypto';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { NotifyOrder, NotifyType } from '@opentill/contracts/notify-order';

export interface ReceivedCallback {
  readonly nonce: string;
  readonly notifyType: NotifyType;
  readonly data: NotifyOrder;
  /** The body, unparsed. */
  readonly text: string;
  readonly headers: IncomingHttpHeaders;
  /** Empty if both signatures are valid. */
  readonly problems: readonly string[];
}

export interface CallbackReceiver {
  readonly url: string;
  readonly received: readonly ReceivedCallback[];
  /** Callbacks of an order by first arrival, without repetitions. */
  of(orderId: string): readonly ReceivedCallback[];
  /** Types and statuses of these callbacks, `ORDER_PENDING INIT` for example. */
  story(orderId: string): readonly string[];
  /** Also sends each callback to another server. */
  forwardTo(url: string): void;
  /** Returns the HTTP status of the answer; 200 by default. */
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

export async function startCallbackReceiver(
  port: number,
  secret: string,
  host = '127.0.0.1',
): Promise<CallbackReceiver> {
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
    server.listen(port, host, resolve);
  });
  const of = (orderId: string) => firstArrivals(received.filter((one) => one.data.orderId === orderId));
  const receiver: CallbackReceiver = {
    url: `http://${host}:${port}/callbacks`,
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

export function firstArrivals(callbacks: readonly ReceivedCallback[]): readonly ReceivedCallback[] {
  const seen = new Set<string>();
  return callbacks.filter(({ nonce }) => !seen.has(nonce) && seen.add(nonce));
}

/** Verifies both signature schemes (docs/api.md section 6) independently of the gateway's code. */
function findSignatureProblems(text: string, headers: IncomingHttpHeaders, secret: string): string[] {
  const problems: string[] = [];
  const { sign, timestamp, nonce, data } = JSON.parse(text) as Envelope;
  const hex = (message: string) => createHmac('sha256', secret).update(message).digest('hex');
  const marker = '"data":';
  const raw = text.slice(text.indexOf(marker) + marker.length, -1);
  if (hex(raw) !== sign) problems.push('sign is invalid for the raw bytes of data');
  if (hex(JSON.stringify(data)) !== sign) problems.push('sign is invalid for re-serialised data');
  if (headers['x-signature'] !== sign) problems.push('X-Signature differs from sign');
  if (headers['x-timestamp'] !== `${timestamp}`) problems.push('X-Timestamp differs from timestamp');
  const { 'webhook-id': id, 'webhook-timestamp': at, 'webhook-signature': signature } = headers;
  const expected = createHmac('sha256', secret).update(`${nonce}.${timestamp}.${text}`).digest('base64');
  if (id !== nonce || at !== `${timestamp}`)
    problems.push('webhook-id or webhook-timestamp differs from the body');
  if (signature !== `v1,${expected}`) problems.push('webhook-signature is invalid');
  return problems;
}
