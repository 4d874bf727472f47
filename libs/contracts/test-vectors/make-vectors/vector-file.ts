/** The body exactly as sent, and whether its signature verifies with the file's token. */
export interface RequestVector {
  readonly name: string;
  readonly serialiser: string;
  readonly expect: 'accepted' | 'refused';
  /** Repeated because not every rejected body can be parsed. */
  readonly sign: string;
  readonly body?: string;
  readonly bodyBase64?: string;
}

export interface Version2Vector extends RequestVector {
  readonly path: string;
}

export interface OrderIdVector {
  readonly orderId: string;
  readonly sign: string;
  readonly expect: 'accepted' | 'refused';
}

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

/** signatures.json: vectors that a client or another implementation must agree with. */
export interface VectorFile {
  readonly about: string;
  readonly token: string;
  readonly requests: readonly RequestVector[];
  readonly version2: readonly Version2Vector[];
  readonly orderIds: readonly OrderIdVector[];
  readonly callbacks: readonly CallbackVector[];
}

export function bodyOf(vector: RequestVector): Buffer {
  return vector.bodyBase64 === undefined
    ? Buffer.from(vector.body ?? '', 'utf8')
    : Buffer.from(vector.bodyBase64, 'base64');
}
