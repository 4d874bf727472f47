import { readerError } from '@opentill/chain/reader-error';

export interface PostJsonOptions {
  readonly timeoutMs: number;
  readonly bytesMax: number;
  /** Goes into errors. */
  readonly context: Readonly<Record<string, unknown>>;
  readonly signal?: AbortSignal;
}

/** A whole HTTP answer. `json` is undefined for a refusal (status outside 2xx) whose body is not JSON. */
export interface JsonAnswer {
  readonly status: number;
  readonly json: unknown;
  /** What `Retry-After` asks for. */
  readonly retryAfterMs: number | undefined;
}

/**
 * Posts JSON and reads the answer whole, within the time and the size given. Redirects are not followed: they would
 * carry requests to a host that nobody configured. Throws READ_ABORTED, RPC_UNAVAILABLE or RPC_RANGE_TOO_LARGE.
 */
export async function postJson(url: string, body: unknown, options: PostJsonOptions): Promise<JsonAnswer> {
  const { signal, context } = options;
  const timeout = AbortSignal.timeout(options.timeoutMs);
  const failed = (cause: unknown): never => {
    if (signal?.aborted === true) throw readerError('READ_ABORTED', 'the read was aborted', context, cause);
    if (timeout.aborted)
      throw readerError('RPC_UNAVAILABLE', `no answer within ${options.timeoutMs} ms`, context, cause);
    throw readerError(
      'RPC_UNAVAILABLE',
      'the node could not be reached or broke off its answer',
      context,
      cause,
    );
  };

  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
    redirect: 'error',
    signal: signal === undefined ? timeout : AbortSignal.any([signal, timeout]),
  }).catch(failed);
  const text = await readBounded(response, options.bytesMax).catch(failed);
  if (text === undefined) {
    throw readerError('RPC_RANGE_TOO_LARGE', `the answer is larger than ${options.bytesMax} bytes`, context);
  }
  return {
    status: response.status,
    json: parse(text, response.ok, context),
    retryAfterMs: retryAfterMsOf(response),
  };
}

/** The body as text, or undefined when it is longer than `bytesMax`; the rest is then not downloaded. */
async function readBounded(response: Response, bytesMax: number): Promise<string | undefined> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > bytesMax) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function parse(text: string, ok: boolean, context: Readonly<Record<string, unknown>>): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    if (!ok) return undefined;
    throw readerError(
      'RPC_UNAVAILABLE',
      'the answer is not whole JSON',
      { ...context, bytes: text.length },
      cause,
    );
  }
}

/** Seconds or an HTTP date (RFC 9110 section 10.2.3); a date counts from the answer's own `Date`. */
function retryAfterMsOf(response: Response): number | undefined {
  const header = response.headers.get('retry-after');
  if (header === null) return undefined;
  if (/^\d+$/.test(header)) return Number(header) * 1_000;
  const waitMs = Date.parse(header) - Date.parse(response.headers.get('date') ?? '');
  return Number.isNaN(waitMs) ? undefined : Math.max(0, waitMs);
}
