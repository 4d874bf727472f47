import { createHmac, randomUUID } from 'node:crypto';

export interface Signing {
  readonly token: string;
  /**
   * 1 signs only `data`. 2 also signs time, nonce and path, so that an intercepted request cannot be replayed. The
   * gateway's operator sets the version per merchant; the gateway then rejects the other one.
   * @default 1
   */
  readonly signVersion?: 1 | 2;
}

/** Lower-case hex HMAC-SHA256, the form that the gateway compares. */
export function hmacHex(key: string, message: string): string {
  return createHmac('sha256', key).update(message).digest('hex');
}

/**
 * `sign` of a GET: covers only the order id, so it stays valid permanently. It opens `status`; do not give it to
 * customers.
 */
export function signOrderId(token: string, orderId: string): string {
  return hmacHex(token, orderId);
}

/** Builds and signs the body of a POST, with a new nonce. `path` excludes the base URL: `/v1/order/createPayout`. */
export function signedBody({ token, signVersion }: Signing, path: string, data: object, now: Date): string {
  const text = JSON.stringify(data);
  const timestamp = Math.floor(now.getTime() / 1000);
  const nonce = randomUUID();
  const message = signVersion === 2 ? `${timestamp}.${nonce}.${path}.${text}` : text;
  // The body contains the exact text that was signed. Another serialisation could differ.
  return `{"sign":"${hmacHex(token, message)}","timestamp":${timestamp},"nonce":"${nonce}","data":${text}}`;
}
