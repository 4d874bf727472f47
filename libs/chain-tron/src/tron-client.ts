import type { ReaderErrorCode } from '@opentill/chain/reader-error';
import { isReaderError, readerError } from '@opentill/chain/reader-error';
import type { HttpAnswer, PostJson, PostJsonOptions } from '@opentill/chain-sources/post-json';
import { createPostJson } from '@opentill/chain-sources/post-json';
import { createRateLimiter } from '@opentill/chain-sources/rate-limiter';
import type { AskOptions } from '@opentill/chain-sources/source';
import type { AdmittedCalls } from '@opentill/chain-sources/await-rate-limit';
import { admitCalls, noteComplaint, awaitRateLimit } from '@opentill/chain-sources/await-rate-limit';
import { GatewayError } from '@opentill/domain/gateway-error';
import type { AnswerDeduplicator } from './deduplicate-answers.ts';
import { decodeHeader } from './decode-block.ts';
import { parseRounding } from './parse-answer.ts';
import { readTronAnswer } from './read-answer.ts';
import { createCallQueue } from './serialize-calls.ts';

/** `wallet` serves the head and the pool, `walletsolidity` the solid state. */
export type Side = 'wallet' | 'walletsolidity';

export interface TronCall {
  readonly side: Side;
  readonly method: string;
  readonly body?: Readonly<Record<string, unknown>>;
  /** Shared with the same call to another source. The value may then be SAME. */
  readonly dedup?: AnswerDeduplicator | undefined;
  /**
   * Converts the answer at once to the small part that is kept, which saves garbage collection. Must not throw. Numbers
   * above 2^53 are rounded; `exactly` parses again with bigints, which takes longer.
   */
  readonly decode?: (value: unknown, exactly?: () => unknown) => unknown;
  readonly onBytes?: (bytes: number) => void;
  /**
   * One of many calls made together: it queues behind them and lets other calls pass. Otherwise, at a few requests a
   * second, the last of sixteen would exceed its timeout, and all would fail together each time.
   */
  readonly isQueued?: boolean;
}

export interface TronExchange {
  /** Host and port, never the path: it may contain a provider's key. */
  readonly endpoint: string;
  readonly methods: readonly [string];
  readonly outcome: 'OK' | ReaderErrorCode;
  /** Excludes the wait for the rate limit. */
  readonly durationMs: number;
  /** Body sizes on the wire. */
  readonly requestBytes: number;
  readonly answerBytes: number;
}

export interface TronClientConfig {
  /** A user name in the URL is the provider's key; it is sent as `TRON-PRO-API-KEY`. */
  readonly url: string;
  /** URL for `/walletsolidity`. @default url */
  readonly solidityUrl?: string | undefined;
  /** Last four bytes of the id of block 0. Both URLs must return it before their answers count. */
  readonly genesisId: string;
  /** From sending to the last byte. @default 5000 */
  readonly requestTimeoutMs?: number | undefined;
  readonly requestsPerSecond?: number | undefined;
  readonly onExchange?: ((exchange: TronExchange) => void) | undefined;
}

/** Opens no connection before the first call. */
export interface TronClient {
  readonly label: string;
  /** Integers are exact (parseAnswer). Throws a GatewayError with a ReaderErrorCode; does not retry. */
  call(call: TronCall, options?: AskOptions): Promise<unknown>;
  waitMs(): number;
  /**
   * Throws RPC_RATE_LIMITED before `count` calls that belong together if the provider requires a longer pause than a
   * call may wait, or if hurried calls would take longer than that together.
   */
  beginMany(count: number, options: AskOptions): void;
}

const OK = 200;
const REQUEST_TIMEOUT_MS = 5_000;
/** A block of 2 MB has about 10 MB of JSON. */
const ANSWER_BYTES_MAX = 32 * 1024 * 1024;
const IDENTIFIED_FOR_MS = 5 * 60 * 1_000;
const GENESIS: Pick<TronCall, 'method' | 'body'> = {
  method: 'getblock',
  body: { id_or_num: '0', detail: false },
};
/** After these errors another node may serve the URL, so its chain is checked again. */
const FAULTS_OF_IDENTITY: readonly ReaderErrorCode[] = [
  'RPC_UNAVAILABLE',
  'RPC_FORBIDDEN',
  'RPC_REFUSED',
  'INCONSISTENT_ANSWER',
  'WRONG_CHAIN',
];

export function createTronClient(config: TronClientConfig): TronClient {
  const { onExchange, genesisId } = config;
  const timeoutMs = config.requestTimeoutMs ?? REQUEST_TIMEOUT_MS;
  const endpoint = new URL(config.url).host;
  const limiter = createRateLimiter({ requestsPerSecond: config.requestsPerSecond });
  const posts = postsOf(config);
  const turnDeps = { endpoint, limiter, timeoutMs };
  const identifiedUntilMs = { wallet: -Infinity, walletsolidity: -Infinity };

  const takeQueuedTurn = createCallQueue(turnDeps);

  async function exchange(
    { side, method, body = {}, dedup, decode, onBytes }: TronCall,
    turn: OwnTurn,
  ): Promise<Exchanged> {
    await (turn.isQueued ? takeQueuedTurn(turn) : awaitRateLimit(turnDeps, 1, turn));
    const startedAt = performance.now();
    const traffic = { requestBytes: 0, answerBytes: 0 };
    const report = (outcome: TronExchange['outcome']): void =>
      onExchange?.({
        endpoint,
        methods: [`${side}/${method}`],
        outcome,
        durationMs: performance.now() - startedAt,
        ...traffic,
      });
    let isNew = false;
    try {
      const answer = await posts[side](
        body,
        postOptionsOf(`/${side}/${method}`, turn, { endpoint, method }, traffic),
      );
      isNew = answer.newConnection;
      if (answer.status === OK) onBytes?.(answer.body.length);
      const read = (): unknown => valueIn(answer, decode, { endpoint, method });
      const value = answer.status === OK && dedup !== undefined ? dedup.valueOf(answer.body, read) : read();
      limiter.answered();
      report('OK');
      return { value, newConnection: answer.newConnection };
    } catch (error) {
      if (isNew) identifiedUntilMs[side] = -Infinity; // not identified now, and no longer new for the next call
      const known = isReaderError(error, 'RPC_RATE_LIMITED') ? noteComplaint(limiter, error) : error;
      report(outcomeOf(known));
      throw timed(known, performance.now() - startedAt);
    }
  }

  async function identify(side: Side, turn: OwnTurn): Promise<void> {
    const { value } = await exchange({ side, ...GENESIS }, turn);
    requireGenesis(value, { genesisId, endpoint });
    identifiedUntilMs[side] = performance.now() + IDENTIFIED_FOR_MS;
  }

  return {
    label: endpoint,
    waitMs: limiter.waitMs,
    beginMany: (count, options) => void admitCalls(turnDeps, count, options),
    async call(call, options = {}) {
      const { side, isQueued = false } = call;
      let isNew = false;
      try {
        const turn = { ...admitCalls(turnDeps, 1, options), isQueued };
        if (performance.now() >= identifiedUntilMs[side]) await identify(side, turn);
        const answer = await exchange(call, turn);
        isNew = answer.newConnection;
        // A new connection may lead to another node, so its chain is checked.
        if (isNew) await identify(side, turn);
        return answer.value;
      } catch (error) {
        if (isNew || isFaultOfIdentity(error)) identifiedUntilMs[side] = -Infinity;
        throw error;
      }
    },
  };
}

function postOptionsOf(
  path: string,
  { deadline, options }: AdmittedCalls,
  context: PostJsonOptions['context'],
  traffic: NonNullable<PostJsonOptions['traffic']>,
): PostJsonOptions {
  const timeoutMs = Math.max(1, deadline.atMs - performance.now());
  return { path, timeoutMs, bytesMax: ANSWER_BYTES_MAX, context, signal: options.signal, traffic };
}

function outcomeOf(error: unknown): ReaderErrorCode {
  return error instanceof GatewayError ? (error.code as ReaderErrorCode) : 'RPC_UNAVAILABLE';
}

function isFaultOfIdentity(error: unknown): boolean {
  return error instanceof GatewayError && FAULTS_OF_IDENTITY.includes(error.code as ReaderErrorCode);
}

function valueIn(
  answer: HttpAnswer,
  decode: TronCall['decode'],
  context: { readonly endpoint: string; readonly method: string },
): unknown {
  const exactly = (): unknown => readTronAnswer(answer, context);
  return decode === undefined ? exactly() : decode(readTronAnswer(answer, context, parseRounding), exactly);
}

interface OwnTurn extends AdmittedCalls {
  readonly isQueued: boolean;
}

/** Adds the duration without earlier waits: a slow broken exchange is not retried at once. */
function timed(error: unknown, tookMs: number): unknown {
  if (!isReaderError(error, 'RPC_UNAVAILABLE')) return error;
  return readerError(error.code, error.message, { ...error.context, tookMs }, error.cause);
}

function requireGenesis(
  raw: unknown,
  { genesisId, endpoint }: { readonly genesisId: string; readonly endpoint: string },
): void {
  const named = `0x${decodeHeader(raw, 0).hash.slice(-8)}`;
  if (named !== genesisId)
    throw readerError('WRONG_CHAIN', `the node serves the chain ${named}, not ${genesisId}`, { endpoint });
}

function postsOf({ url, solidityUrl }: TronClientConfig): Readonly<Record<Side, PostJson>> {
  const wallet = createPostJson(...placeOf(url));
  const walletsolidity = solidityUrl === undefined ? wallet : createPostJson(...placeOf(solidityUrl));
  return { wallet, walletsolidity };
}

interface Exchanged {
  readonly value: unknown;
  readonly newConnection: HttpAnswer['newConnection'];
}

/** The user name becomes the API key header. */
function placeOf(url: string): readonly [url: string, headers: Readonly<Record<string, string>>] {
  const place = new URL(url);
  const key = decodeURIComponent(place.username);
  place.username = '';
  place.password = '';
  place.pathname = place.pathname.replace(/\/+$/, '');
  return [place.href, key === '' ? {} : { 'TRON-PRO-API-KEY': key }];
}
