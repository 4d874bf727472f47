/** One request: the body exactly as sent, and whether its signature verifies under the file's token. */
export interface RequestVector {
  readonly name: string;
  /** What made the signed text and the body. */
  readonly serialiser: string;
  readonly expect: 'accepted' | 'refused';
  /** The envelope's `sign`, here again because not every refused body can be read. */
  readonly sign: string;
  readonly body?: string;
  /** In place of `body`, where it is not text. */
  readonly bodyBase64?: string;
}

/** One request of signature version 2. */
export interface Version2Vector extends RequestVector {
  readonly path: string;
}

/** One GET request: the signature of an order id. */
export interface OrderIdVector {
  readonly orderId: string;
  readonly sign: string;
  readonly expect: 'accepted' | 'refused';
}

/** One callback as the gateway sends it: `data` serialised, signed and put into the envelope. */
export interface CallbackVector {
  readonly name: string;
  readonly secret: string;
  readonly eventId: string;
  readonly notifyType: string;
  readonly timestampSeconds: number;
  readonly data: Readonly<Record<string, unknown>>;
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** signatures.json: what a client or a second gateway has to agree with. */
export interface VectorFile {
  readonly about: string;
  readonly token: string;
  readonly requests: readonly RequestVector[];
  readonly version2: readonly Version2Vector[];
  readonly orderIds: readonly OrderIdVector[];
  readonly callbacks: readonly CallbackVector[];
}

/** The body's bytes. */
export function bodyOf(vector: RequestVector): Buffer {
  return vector.bodyBase64 === undefined
    ? Buffer.from(vector.body ?? '', 'utf8')
    : Buffer.from(vector.bodyBase64, 'base64');
}
