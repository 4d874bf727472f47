import { errorCodeOf, OpentillError, type OpentillErrorDetails } from './opentill-error.ts';

/** `body` is built anew for each attempt, because nonce and time must be new. */
export interface ApiCall {
  readonly url: string;
  readonly body?: () => string;
  readonly headers: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal | undefined;
}

export interface CallSettings {
  /** One attempt: connecting, sending, and the complete response. */
  readonly timeoutMs: number;
  readonly retries: number;
  /** Doubles, with jitter, up to `maxPauseMs`. */
  readonly firstPauseMs: number;
  /** A longer `Retry-After` ends the call: the caller decides whether to wait. */
  readonly maxPauseMs: number;
  readonly fetch: typeof fetch;
}

/** The longest valid response is the list of tokens. */
const ANSWER_BYTES_MAX = 1_048_576;
/** Every API call is idempotent, so a retry is harmless. */
const REPEATED = new Set(['RATE_LIMITED', 'UNAVAILABLE', 'SERVER_FAULT', 'NO_ANSWER']);

/** @returns `data` of the response; @throws OpentillError */
export async function callApi(call: ApiCall, settings: CallSettings): Promise<unknown> {
  for (let attempts = 1; ; attempts += 1) {
    try {
      return await attempt(call, settings, attempts);
    } catch (error) {
      const pauseMs = error instanceof OpentillError ? pauseAfter(error, settings) : undefined;
      if (pauseMs === undefined) throw error;
      await pause(pauseMs, call.signal, attempts);
    }
  }
}

/** Milliseconds; undefined to give up. */
function pauseAfter(
  { code, attempts, retryAfterMs }: OpentillError,
  settings: CallSettings,
): number | undefined {
  if (!REPEATED.has(code) || attempts > settings.retries) return undefined;
  if (retryAfterMs !== undefined) return retryAfterMs > settings.maxPauseMs ? undefined : retryAfterMs;
  const doubled = Math.min(settings.maxPauseMs, settings.firstPauseMs * 2 ** (attempts - 1));
  return doubled * (0.5 + Math.random() / 2);
}

async function attempt(call: ApiCall, settings: CallSettings, attempts: number): Promise<unknown> {
  const { url, body, headers, signal } = call;
  if (signal !== undefined && isAborted(signal)) throw aborted(signal, attempts - 1);
  const ending = new AbortController();
  const end = (): void => ending.abort();
  const timer = setTimeout(end, settings.timeoutMs);
  signal?.addEventListener('abort', end, { once: true });
  try {
    const response = await settings.fetch(url, {
      method: body === undefined ? 'GET' : 'POST',
      headers: body === undefined ? headers : { ...headers, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: body() }),
      redirect: 'error', // a signed request must not reach another address
      signal: ending.signal,
    });
    return readEnvelope(response, await readText(response), attempts);
  } catch (cause) {
    if (cause instanceof OpentillError) throw cause;
    if (signal !== undefined && isAborted(signal)) throw aborted(signal, attempts);
    const why = ending.signal.aborted ? `no response within ${settings.timeoutMs} ms` : reasonOf(cause);
    throw new OpentillError('NO_ANSWER', `The gateway did not answer: ${why}`, { attempts, cause });
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', end);
  }
}

/** fetch reports `fetch failed`; the reason is in `cause`. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? error.cause.message : error.message;
}

/** A function, because the compiler assumes that `aborted` does not change across an await. */
function isAborted(signal: AbortSignal): boolean {
  return signal.aborted;
}

function aborted(signal: AbortSignal, attempts: number): OpentillError {
  return new OpentillError('ABORTED', 'The call was aborted', { attempts, cause: signal.reason });
}

async function readText(response: Response): Promise<string> {
  if (response.body === null) return '';
  const reader = response.body.getReader();
  const chunks: Uint8Array[] = [];
  for (let bytes = 0; ;) {
    const { done, value } = await reader.read();
    if (done) return Buffer.concat(chunks).toString('utf8');
    bytes += value.byteLength;
    if (bytes > ANSWER_BYTES_MAX) {
      await reader.cancel();
      return ''; // rejected as not an envelope
    }
    chunks.push(value);
  }
}

function readEnvelope(response: Response, text: string, attempts: number): unknown {
  const { status: httpStatus } = response;
  const details: OpentillErrorDetails = {
    httpStatus,
    requestId: response.headers.get('x-request-id') ?? undefined,
    retryAfterMs: retryAfterMs(response.headers.get('retry-after')),
    attempts,
  };
  const envelope = parseEnvelope(text);
  if (envelope === undefined) {
    // A reverse proxy's error page means that the gateway is unavailable.
    const isFault = httpStatus === 429 || httpStatus >= 500;
    throw isFault
      ? new OpentillError(errorCodeOf(httpStatus), `HTTP ${httpStatus} without an envelope`, details)
      : new OpentillError(
          'UNREADABLE_ANSWER',
          `HTTP ${httpStatus}: not a response of the gateway; check the url`,
          details,
        );
  }
  if (envelope.code === 200 && httpStatus === 200) return envelope.data;
  const { msg, detail } = envelope;
  throw new OpentillError(errorCodeOf(httpStatus), msg, { ...details, msg, detail });
}

interface Envelope {
  readonly code: number;
  readonly msg: string;
  readonly data: unknown;
  readonly detail: string | undefined;
}

function parseEnvelope(text: string): Envelope | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof value !== 'object' || value === null) return undefined;
  const { code, msg, data, detail } = value as { readonly [Member in keyof Envelope]?: unknown };
  return typeof code === 'number' && typeof msg === 'string' && data !== undefined
    ? { code, msg, data, detail: typeof detail === 'string' ? detail : undefined }
    : undefined;
}

/** Only seconds: the gateway sends no dates. */
function retryAfterMs(header: string | null): number | undefined {
  return header !== null && /^\d{1,6}$/.test(header) ? Number(header) * 1_000 : undefined;
}

async function pause(ms: number, signal: AbortSignal | undefined, attempts: number): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const stop = (): void => {
      clearTimeout(timer);
      if (signal !== undefined) reject(aborted(signal, attempts));
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop);
      resolve();
    }, ms);
    if (signal?.aborted === true) stop();
    else signal?.addEventListener('abort', stop, { once: true });
  });
}
