import { errorCodeOf, OpentillError, type OpentillErrorDetails } from './opentill-error.ts';

/** One call: what is asked, anew for each attempt, because nonce and time must be new. */
export interface ApiCall {
  readonly url: string;
  /** Absent for a GET. */
  readonly body?: () => string;
  readonly headers: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal | undefined;
}

export interface CallSettings {
  /** For one attempt: connecting, sending, and the whole answer. */
  readonly timeoutMs: number;
  /** Attempts after the first. */
  readonly retries: number;
  /** The first pause between attempts; doubles, with jitter, up to `maxPauseMs`. */
  readonly firstPauseMs: number;
  /** A `Retry-After` that asks for more ends the call: whoever calls decides whether to wait so long. */
  readonly maxPauseMs: number;
  readonly fetch: typeof fetch;
}

/** Bytes of an answer that are read at most; the longest honest one is the list of tokens. */
const ANSWER_BYTES_MAX = 1_048_576;
/** After these another attempt may help, and can do no harm: every call of the API may be repeated. */
const REPEATED = new Set(['RATE_LIMITED', 'UNAVAILABLE', 'SERVER_FAULT', 'NO_ANSWER']);

/**
 * Asks until there is an answer that another attempt would not change, within the settings' bounds.
 * @returns `data` of the answer
 * @throws OpentillError
 */
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

/** Milliseconds before the next attempt; undefined when there is to be none. */
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
      redirect: 'error', // a signed request goes where it was meant to go, and nowhere else
      signal: ending.signal,
    });
    return readEnvelope(response, await readText(response), attempts);
  } catch (cause) {
    if (cause instanceof OpentillError) throw cause;
    if (signal !== undefined && isAborted(signal)) throw aborted(signal, attempts);
    const why = ending.signal.aborted ? `nothing within ${settings.timeoutMs} ms` : reasonOf(cause);
    throw new OpentillError('NO_ANSWER', `The gateway did not answer: ${why}`, { attempts, cause });
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', end);
  }
}

/** fetch hides why behind `fetch failed`. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? error.cause.message : error.message;
}

/** A function of its own: the compiler takes what it saw before an await for what still holds. */
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
      return ''; // no envelope
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
    // A proxy's own page for a gateway that is away is the gateway's being away.
    const isFault = httpStatus === 429 || httpStatus >= 500;
    throw isFault
      ? new OpentillError(errorCodeOf(httpStatus), `HTTP ${httpStatus} without an envelope`, details)
      : new OpentillError('UNREADABLE_ANSWER', `HTTP ${httpStatus}: not an answer of the gateway`, details);
  }
  if (envelope.code === 200 && httpStatus === 200) return envelope.data;
  throw new OpentillError(errorCodeOf(httpStatus), envelope.msg, details);
}

interface Envelope {
  readonly code: number;
  readonly msg: string;
  readonly data: unknown;
}

function parseEnvelope(text: string): Envelope | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof value !== 'object' || value === null) return undefined;
  const { code, msg, data } = value as Partial<Envelope>;
  return typeof code === 'number' && typeof msg === 'string' && data !== undefined
    ? { code, msg, data }
    : undefined;
}

/** Seconds alone: the gateway sends no dates. */
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
