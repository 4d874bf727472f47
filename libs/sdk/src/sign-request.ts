import { createHmac, randomUUID } from 'node:crypto';

export interface Signing {
  readonly token: string;
  /**
   * 1 signs only `data`. 2 also signs time, nonce and path, so that an intercepted request cannot be replayed. The
   * gateway's operator sets the version per merchant; the gateway rejects the other one. @default 1
   */
  readonly signVersion?: 1 | 2;
}

/** Lower-case, as the gateway compares it. */
export function hmacHex(key: string, message: string): string {
  return createHmac('sha256', key).update(message).digest('hex');
}

/** Covers only the order id, so it stays valid permanently. It opens `status`: do not give it to customers. */
export function signOrderId(token: string, orderId: string): string {
  return hmacHex(token, orderId);
}

/** Adds a new nonce. `path` excludes the base URL: `/v1/order/createPayout`. */
export function signedBody({ token, signVersion }: Signing, path: string, data: object, now: Date): string {
  const text = JSON.stringify(data);
  const timestamp = Math.floor(now.getTime() / 1000);
  const nonce = randomUUID();
  const message = signVersion === 2 ? `${timestamp}.${nonce}.${path}.${text}` : text;
  // Contains the exact text that was signed: another serialisation could differ.
  return `{"sign":"${hmacHex(token, message)}","timestamp":${timestamp},"nonce":"${nonce}","data":${text}}`;
}
