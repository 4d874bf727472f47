import type { ReaderError, ReaderErrorCode } from '@opentill/chain/reader-error';
import { readerError } from '@opentill/chain/reader-error';
import type { RpcRequest } from './rpc-call.ts';
import type { HttpAnswer } from '@opentill/chain-sources/post-json';
import { suggestedBlocksOf } from './suggested-blocks.ts';
import { boundedText } from '@opentill/chain-sources/node-text';
import type { RpcErrorAnswer } from './translate-rpc-error.ts';
import { batchRefusalOf, codeOfRpcError, isRevert } from './translate-rpc-error.ts';
import { codeOfHttpStatus } from '@opentill/chain-sources/http-status';

export type BatchAnswer =
  | { readonly kind: 'results'; readonly results: readonly unknown[] }
  /** With several errors it is the one that matters most: see RANKS. */
  | { readonly kind: 'failed'; readonly error: ReaderError }
  /** The provider rejects this many calls at once, not the calls themselves. */
  | {
      readonly kind: 'batchRefused';
      readonly error: ReaderError;
      readonly callsMax: number | undefined;
      /** Every batch of this size would be rejected, not only one with answers as large as these. */
      readonly lasting: boolean;
    };

/** Ids restart at 1 in every exchange, so that nodes of the same software answer with equal bytes. */
const FIRST_ID = 1;
/** The end of `"error"`. Its first letter is rare in blocks and logs: the search is eight times faster. */
const ERROR_END = 'rror"';
/** Go's JSON encoder ends an answer with a newline. */
const NEWLINE = 10;

export function batchBody(requests: readonly RpcRequest[]): unknown {
  const calls = requests.map(({ method, params }, place) => ({
    jsonrpc: '2.0',
    id: FIRST_ID + place,
    method,
    params,
  }));
  return calls.length === 1 ? calls[0] : calls;
}

export function hasNoErrorSign({ status, body }: HttpAnswer, requests: readonly RpcRequest[]): boolean {
  const brackets = requests.length === 1 ? '{}' : '[]';
  return (
    status >= 200 &&
    status < 300 &&
    String.fromCharCode(body.at(0) ?? 0, body.at(body.at(-1) === NEWLINE ? -2 : -1) ?? 0) === brackets &&
    !body.includes(ERROR_END)
  );
}

export function readBatchAnswer(
  answer: HttpAnswer,
  requests: readonly RpcRequest[],
  endpoint: string,
): BatchAnswer {
  const reading: HttpExchange = { answer, requests, endpoint };
  const httpCode = codeOfHttpStatus(answer.status);
  const json = parse(answer.body);
  if (answer.status === 429) return failed(reading, 'RPC_RATE_LIMITED', 'the provider reports a rate limit');
  if (answer.status === 413 && requests.length > 1) {
    const error = refusal(reading, 'RPC_RANGE_TOO_LARGE', 'HTTP 413');
    return { kind: 'batchRefused', error, callsMax: undefined, lasting: false };
  }
  const items = Array.isArray(json) ? (json as readonly unknown[]) : [json];
  if (!items.every(isObject)) {
    if (httpCode !== undefined) return failed(reading, httpCode, `HTTP ${answer.status}`);
    return json === undefined
      ? failed(reading, 'RPC_UNAVAILABLE', `the answer is not complete JSON (${answer.body.length} bytes)`)
      : failed(reading, 'INCONSISTENT_ANSWER', 'not a JSON-RPC answer');
  }
  const withError = items.filter(hasError);
  const coversBatch = !Array.isArray(json);
  const batchErrors = withError.filter((item) => !isAllowedError(reading, item, coversBatch));
  if (batchErrors.length > 0) return refusedBy(reading, batchErrors, coversBatch);
  if (httpCode !== undefined && withError.length < items.length)
    return failed(reading, httpCode, `HTTP ${answer.status}`);
  return inOrder(reading, items);
}

interface HttpExchange {
  readonly answer: HttpAnswer;
  readonly requests: readonly RpcRequest[];
  readonly endpoint: string;
}
type Item = Readonly<Record<string, unknown>>;

function hasError(item: Item): boolean {
  return item['error'] !== undefined && item['error'] !== null;
}

/** An error of a single call that allows it (`mayBeRefused`), not of the batch. */
function isAllowedError({ requests }: HttpExchange, item: Item, coversBatch: boolean): boolean {
  const single = requests.length === 1;
  const place = single ? 0 : placeOf(item, requests);
  if (place === undefined || requests[place]?.mayBeRefused !== true) return false;
  if (single) return true;
  const answered = rpcErrorOf(item['error']);
  // A contract's revert text is never about the batch, even if it mentions one.
  return !coversBatch && (isRevert(answered) || batchRefusalOf(answered, false) === undefined);
}

function isObject(value: unknown): value is Item {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function parse(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    return undefined;
  }
}

function inOrder(reading: HttpExchange, items: readonly Item[]): BatchAnswer {
  const { requests } = reading;
  const inconsistent = (why: string): BatchAnswer =>
    failed(reading, 'INCONSISTENT_ANSWER', `the node's answer does not match the request: ${why}`);
  const results = new Map<number, unknown>();
  for (const item of items) {
    const place = hasError(item) && requests.length === 1 ? 0 : placeOf(item, requests);
    if (place === undefined) return inconsistent('a foreign id');
    if (results.has(place)) return inconsistent('a duplicate id');
    if (hasError(item)) {
      results.set(place, refusalOf(reading, item).error);
      continue;
    }
    if (!Object.hasOwn(item, 'result')) return inconsistent('neither result nor error');
    results.set(place, item['result']);
  }
  if (results.size !== requests.length)
    return inconsistent(`${results.size} answers to ${requests.length} requests`);
  return { kind: 'results', results: requests.map((_, place) => results.get(place)) };
}

function placeOf(item: Item, requests: readonly RpcRequest[]): number | undefined {
  const id = item['id'];
  if (typeof id !== 'number' || !Number.isInteger(id)) return undefined;
  const place = id - FIRST_ID;
  return place >= 0 && place < requests.length ? place : undefined;
}

interface Refusal {
  readonly answered: RpcErrorAnswer;
  readonly error: ReaderError;
}

function refusalOf(reading: HttpExchange, item: Item): Refusal {
  const { answer, requests } = reading;
  const answered = rpcErrorOf(item['error']);
  const place = requests.length === 1 ? 0 : placeOf(item, requests);
  const request = place === undefined ? undefined : requests[place];
  const ofContract = request?.mayBeRefused === true && isRevert(answered);
  const byAnswer = ofContract ? 'RPC_REFUSED' : codeOfRpcError(answered);
  const code =
    byAnswer === 'RPC_REFUSED' && !ofContract ? (codeOfHttpStatus(answer.status) ?? byAnswer) : byAnswer;
  const suggestedBlocks = code === 'RPC_RANGE_TOO_LARGE' ? suggestedBlocksOf(answered.message) : undefined;
  const said = boundedText(answered.message);
  const data = request?.mayBeRefused === true ? errorDataOf(item['error']) : undefined;
  const error = refusal(reading, code, `the node answered an error: ${said}`, {
    rpcCode: answered.code,
    // Only one call of a batch may be too large: the caller must know which.
    ...(request === undefined ? {} : { method: request.method, place }),
    ...(request?.mayBeRefused === true ? { said } : {}),
    ...(data === undefined ? {} : { data }),
    ...(suggestedBlocks === undefined ? {} : { suggestedBlocks }),
  });
  return { answered, error };
}

const ERROR_DATA_MAX = 4_096;

/** geth's `data`, the `data` within it (Hardhat), or the hex after a word (Parity). */
function errorDataOf(error: unknown): string | undefined {
  const data = isObject(error) ? error['data'] : undefined;
  const text = isObject(data) ? data['data'] : data;
  if (typeof text !== 'string' || text.length > ERROR_DATA_MAX) return undefined;
  return /(?:^|\s)(0x(?:[0-9a-fA-F]{2})+)$/.exec(text)?.[1]?.toLowerCase();
}

function refusedBy(reading: HttpExchange, items: readonly Item[], coversBatch: boolean): BatchAnswer {
  const { requests } = reading;
  const refusals = items.map((item) => refusalOf(reading, item));
  if (requests.length > 1) {
    for (const { answered, error } of refusals) {
      const batchRefusal = batchRefusalOf(answered, coversBatch);
      if (batchRefusal !== undefined) return { kind: 'batchRefused', error, ...batchRefusal };
    }
  }
  const [worst] = refusals.map(({ error }) => error).sort((a, b) => rank(a.code) - rank(b.code));
  return worst === undefined
    ? failed(reading, 'INCONSISTENT_ANSWER', 'no answer')
    : { kind: 'failed', error: worst };
}

/** Reported first when calls of one batch fail differently; the others would reappear on the next attempt. */
const RANKS: readonly ReaderErrorCode[] = ['RPC_FORBIDDEN', 'RPC_RATE_LIMITED', 'RPC_UNAVAILABLE'];

function rank(code: ReaderErrorCode): number {
  if (code === 'RPC_RANGE_TOO_LARGE') return RANKS.length + 1;
  const at = RANKS.indexOf(code);
  return at === -1 ? RANKS.length : at;
}

function rpcErrorOf(error: unknown): RpcErrorAnswer {
  if (!isObject(error))
    return { code: 0, message: typeof error === 'string' ? error : JSON.stringify(error) };
  const { code, message, data } = error;
  // Some providers put the important part into `data` (dRPC, Infura's suggested range).
  const more = isObject(data) && typeof data['message'] === 'string' ? ` ${data['message']}` : '';
  const text = typeof message === 'string' ? message + more : JSON.stringify(error);
  return { code: typeof code === 'number' ? code : Number(code ?? 0) || 0, message: text };
}

function failed(reading: HttpExchange, code: ReaderErrorCode, message: string): BatchAnswer {
  return { kind: 'failed', error: refusal(reading, code, message) };
}

function refusal(
  { answer, requests, endpoint }: HttpExchange,
  code: ReaderErrorCode,
  message: string,
  context: Readonly<Record<string, unknown>> = {},
): ReaderError {
  const wait = answer.retryAfterMs === undefined ? {} : { retryAfterMs: answer.retryAfterMs };
  const methods = [...new Set(requests.map((request) => request.method))];
  return readerError(code, message, { endpoint, status: answer.status, methods, ...wait, ...context });
}
