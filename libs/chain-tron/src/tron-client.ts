import type { ReaderErrorCode } from '@opentill/chain/reader-error';
import { isReaderError, readerError } from '@opentill/chain/reader-error';
import type { HttpAnswer } from '@opentill/chain-sources/post-json';
import { createPostJson } from '@opentill/chain-sources/post-json';
import { createRateLimiter } from '@opentill/chain-sources/rate-limiter';
import type { AskOptions } from '@opentill/chain-sources/source';
import type { Turn } from '@opentill/chain-sources/take-turn';
import { beginTurn, noteComplaint, takeTurn } from '@opentill/chain-sources/take-turn';
import { GatewayError } from '@opentill/domain/gateway-error';
import type { AnswerTwin } from './answer-twin.ts';
import { decodeHeader } from './decode-block.ts';
import { readTronAnswer } from './read-answer.ts';

/** `wallet` shows the head and the pool, `walletsolidity` what is solid. */
export type Side = 'wallet' | 'walletsolidity';

/** One question to a node: `POST /<side>/<method>`. */
export interface TronCall {
  readonly side: Side;
  readonly method: string;
  readonly body?: Readonly<Record<string, unknown>>;
  /** Shared with the same question to another source. The value may then be SAME. */
  readonly twin?: AnswerTwin | undefined;
}

/** One HTTP exchange with a node, for metrics and logs. */
export interface TronExchange {
  /** Host and port, never the path: keys of providers stand there. */
  readonly endpoint: string;
  /** The one method that was asked, with its side. */
  readonly methods: readonly [string];
  readonly outcome: 'OK' | ReaderErrorCode;
  /** Without the time that the call waited for its turn. */
  readonly durationMs: number;
  /** Bodies as they went over the wire. */
  readonly requestBytes: number;
  readonly answerBytes: number;
}

export interface TronClientConfig {
  /** A user name in it is the provider's key, sent as `TRON-PRO-API-KEY`. */
  readonly url: string;
  /** Where `/walletsolidity` is served. @default url */
  readonly solidityUrl?: string | undefined;
  /** Last four bytes of the id of block 0, which both URLs must have before their answers count. */
  readonly genesisId: string;
  /** From sending to the last byte. @default 5000 */
  readonly requestTimeoutMs?: number | undefined;
  /** What the provider allows; absent: found out from its complaints. */
  readonly requestsPerSecond?: number | undefined;
  readonly onExchange?: ((exchange: TronExchange) => void) | undefined;
}

/** A client for one node or provider of a TRON network. Opens nothing until the first call. */
export interface TronClient {
  /** Host and port. */
  readonly label: string;
  /**
   * The parsed answer to one call, integers exact (parseAnswer). Throws a GatewayError with a ReaderErrorCode; does
   * not retry. `retryAfterMs` in its context, where known: how long the provider asked to be left alone.
   */
  call(call: TronCall, options?: AskOptions): Promise<unknown>;
  /** Milliseconds until the provider's limit lets a call through. */
  waitMs(): number;
}

const OK = 200;
const REQUEST_TIMEOUT_MS = 5_000;
/** A block of 2 MB has some 10 MB of JSON. */
const ANSWER_BYTES_MAX = 32 * 1024 * 1024;
const IDENTIFIED_FOR_MS = 5 * 60 * 1_000;
const GENESIS: Pick<TronCall, 'method' | 'body'> = {
  method: 'getblock',
  body: { id_or_num: '0', detail: false },
};
/** Faults behind which another node may have come to stand at the URL. */
const FAULTS_OF_IDENTITY: readonly ReaderErrorCode[] = [
  'RPC_UNAVAILABLE',
  'RPC_FORBIDDEN',
  'RPC_REFUSED',
  'INCONSISTENT_ANSWER',
  'WRONG_CHAIN',
];

/** See TronClient. Throws TypeError for what is no URL. */
export function createTronClient(config: TronClientConfig): TronClient {
  const { onExchange, genesisId } = config;
  const timeoutMs = config.requestTimeoutMs ?? REQUEST_TIMEOUT_MS;
  const endpoint = new URL(config.url).host;
  const limiter = createRateLimiter({ requestsPerSecond: config.requestsPerSecond });
  const wallet = createPostJson(...placeOf(config.url));
  const posts = {
    wallet,
    walletsolidity:
      config.solidityUrl === undefined ? wallet : createPostJson(...placeOf(config.solidityUrl)),
  };
  const identifiedUntilMs = { wallet: -Infinity, walletsolidity: -Infinity };

  async function exchange({ side, method, body = {}, twin }: TronCall, turn: Turn): Promise<Exchanged> {
    await takeTurn({ endpoint, limiter, timeoutMs }, 1, turn);
    const startedAt = performance.now();
    const traffic = { requestBytes: 0, answerBytes: 0 };
    const told = (outcome: TronExchange['outcome']): void =>
      onExchange?.({
        endpoint,
        methods: [`${side}/${method}`],
        outcome,
        durationMs: performance.now() - startedAt,
        ...traffic,
      });
    try {
      const answer = await posts[side](body, {
        path: `/${side}/${method}`,
        timeoutMs: Math.max(1, turn.deadline.atMs - performance.now()),
        bytesMax: ANSWER_BYTES_MAX,
        context: { endpoint, method },
        signal: turn.options.signal,
        traffic,
      });
      const read = (): unknown => readTronAnswer(answer, { endpoint, method });
      const value = twin === undefined || answer.status !== OK ? read() : twin.valueOf(answer.body, read);
      limiter.answered();
      told('OK');
      return { value, newConnection: answer.newConnection };
    } catch (error) {
      const shown = isReaderError(error, 'RPC_RATE_LIMITED') ? noteComplaint(limiter, error) : error;
      told(shown instanceof GatewayError ? (shown.code as ReaderErrorCode) : 'RPC_UNAVAILABLE');
      throw shown;
    }
  }

  async function identify(side: Side, turn: Turn): Promise<void> {
    const { value } = await exchange({ side, ...GENESIS }, turn);
    const named = `0x${decodeHeader(value, 0).hash.slice(-8)}`;
    if (named !== genesisId)
      throw readerError('WRONG_CHAIN', `the node serves the chain ${named}, not ${genesisId}`, { endpoint });
    identifiedUntilMs[side] = performance.now() + IDENTIFIED_FOR_MS;
  }

  return {
    label: endpoint,
    waitMs: limiter.waitMs,
    async call(call, options = {}) {
      const { side } = call;
      try {
        const turn = beginTurn({ endpoint, limiter, timeoutMs }, 1, options);
        if (performance.now() >= identifiedUntilMs[side]) await identify(side, turn);
        const { value, newConnection } = await exchange(call, turn);
        // At the other end of a new connection may stand another node: it has to name its chain as well.
        if (newConnection) await identify(side, turn);
        return value;
      } catch (error) {
        if (error instanceof GatewayError && FAULTS_OF_IDENTITY.includes(error.code as ReaderErrorCode))
          identifiedUntilMs[side] = -Infinity;
        throw error;
      }
    },
  };
}

interface Exchanged {
  readonly value: unknown;
  readonly newConnection: HttpAnswer['newConnection'];
}

/** The URL without its user name, and the key that this was as a header. */
function placeOf(url: string): readonly [url: string, headers: Readonly<Record<string, string>>] {
  const place = new URL(url);
  const key = decodeURIComponent(place.username);
  place.username = '';
  place.password = '';
  place.pathname = place.pathname.replace(/\/+$/, '');
  return [place.href, key === '' ? {} : { 'TRON-PRO-API-KEY': key }];
}
