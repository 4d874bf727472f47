import { GrpcWebFetchTransport, SuiGrpcClient } from '@mysten/sui/grpc';
import type { ReaderErrorCode } from '@opentill/chain/reader-error';
import { isReaderError, readerError } from '@opentill/chain/reader-error';
import { createRateLimiter } from '@opentill/chain-sources/rate-limiter';
import type { AskOptions } from '@opentill/chain-sources/source';
import type { AdmittedCalls, AdmissionDeps } from '@opentill/chain-sources/await-rate-limit';
import { admitCalls, noteComplaint, awaitRateLimit } from '@opentill/chain-sources/await-rate-limit';
import { GatewayError } from '@opentill/domain/gateway-error';
import { createListCheckpointBytes, type ListCheckpointBytes } from './list-checkpoint-bytes.ts';
import type { OpenPostGrpc, Traffic } from './post-grpc.ts';
import { createPostGrpc } from './post-grpc.ts';
import { translateGrpcError } from './translate-grpc-error.ts';

export interface SuiServices {
  readonly ledger: SuiGrpcClient['ledgerService'];
  readonly state: SuiGrpcClient['stateService'];
  readonly execution: SuiGrpcClient['transactionExecutionService'];
  readonly subscription: SuiGrpcClient['subscriptionService'];
  readonly listCheckpointBytes: ListCheckpointBytes;
}

export interface CallOptions {
  readonly abort: AbortSignal;
  readonly fetch: typeof fetch;
  readonly [extra: string]: unknown;
}

export type SuiQuestion<T> = (services: SuiServices, call: CallOptions) => PromiseLike<T>;

export interface SuiExchange {
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

export interface SuiClientConfig {
  /** A user name in the URL is the provider's key; it is sent as `x-token`. */
  readonly url: string;
  /** Base58 digest of checkpoint 0. */
  readonly genesisId: string;
  /** From sending to the last byte. @default 5000 */
  readonly requestTimeoutMs?: number | undefined;
  readonly requestsPerSecond?: number | undefined;
  readonly onExchange?: ((exchange: SuiExchange) => void) | undefined;
}

/** Opens no connection before the first call. */
export interface SuiClient {
  readonly label: string;
  /**
   * `question` must pass `call` to each RPC. Throws a GatewayError with a ReaderErrorCode for errors of the node; does
   * not retry.
   */
  ask<T>(question: SuiQuestion<T>, options?: AskOptions): Promise<T>;
  /**
   * Reads an endless stream: `open` begins it and calls `alive` for every message. Ends when `signal` is aborted.
   * Throws when the stream fails, or is silent for `silenceMs`.
   */
  follow(follow: SuiFollowing): Promise<never>;
  waitMs(): number;
}

export interface SuiFollowing {
  readonly open: (services: SuiServices, call: CallOptions, alive: () => void) => Promise<void>;
  readonly silenceMs: number;
  readonly signal: AbortSignal;
}

const REQUEST_TIMEOUT_MS = 5_000;
/** For 100 checkpoints of 1,000 transactions of 760 bytes each. */
const ANSWER_BYTES_MAX = 80 * 1024 * 1024;
const FRAME_BYTES_MAX = 16 * 1024 * 1024;
const IDENTIFIED_FOR_MS = 5 * 60 * 1_000;
/** After these errors another node may serve the URL, so its chain is checked again. */
const FAULTS_OF_IDENTITY: readonly ReaderErrorCode[] = [
  'RPC_UNAVAILABLE',
  'RPC_FORBIDDEN',
  'INCONSISTENT_ANSWER',
  'WRONG_CHAIN',
];

export function createSuiClient(config: SuiClientConfig): SuiClient {
  const { host: endpoint, ...place } = placeOf(config.url);
  const timeoutMs = config.requestTimeoutMs ?? REQUEST_TIMEOUT_MS;
  const limiter = createRateLimiter({ requestsPerSecond: config.requestsPerSecond });
  const turns = { endpoint, limiter, timeoutMs };
  const asking: Asking = {
    ...turns,
    services: servicesAt(place.baseUrl, place.meta),
    openPost: createPostGrpc(place.secure),
    genesisId: config.genesisId,
    onExchange: config.onExchange,
  };
  let identifiedUntilMs = -Infinity;

  async function exchange<T>(question: SuiQuestion<T>, turn: AdmittedCalls): Promise<T> {
    const { value, traffic } = await exchangeOnce(asking, question, turn);
    // A new connection may lead to another node. Nodes that name their chain in each answer are checked already.
    if (traffic.newConnection && traffic.chainId === undefined) identifiedUntilMs = -Infinity;
    return value;
  }

  async function identify(turn: AdmittedCalls): Promise<void> {
    const { response } = await exchange(({ ledger }, call) => ledger.getServiceInfo({}, call), turn);
    if (response.chainId === undefined)
      throw readerError('INCONSISTENT_ANSWER', 'the node does not report its chain', { endpoint });
    checkChain(asking, response.chainId);
    identifiedUntilMs = performance.now() + IDENTIFIED_FOR_MS;
  }

  return {
    label: endpoint,
    waitMs: limiter.waitMs,
    async ask(question, options = {}) {
      try {
        const turn = admitCalls(turns, 1, options);
        if (performance.now() >= identifiedUntilMs) await identify(turn);
        const value = await exchange(question, turn);
        if (performance.now() >= identifiedUntilMs) await identify(turn);
        return value;
      } catch (error) {
        if (error instanceof GatewayError && FAULTS_OF_IDENTITY.includes(error.code as ReaderErrorCode))
          identifiedUntilMs = -Infinity;
        throw error;
      }
    },
    async follow(following) {
      const turn = admitCalls(turns, 1, { signal: following.signal });
      await identify(turn);
      await awaitRateLimit(turns, 1, turn);
      return followOnce(asking, following);
    },
  };
}

interface Asking extends AdmissionDeps {
  readonly services: SuiServices;
  readonly openPost: OpenPostGrpc;
  readonly genesisId: string;
  readonly onExchange: SuiClientConfig['onExchange'];
}

function checkChain({ genesisId, endpoint }: Asking, named: string | undefined): void {
  if (named !== undefined && named !== genesisId)
    throw readerError('WRONG_CHAIN', `the node serves the chain ${named}, not ${genesisId}`, { endpoint });
}

async function exchangeOnce<T>(
  asking: Asking,
  question: SuiQuestion<T>,
  turn: AdmittedCalls,
): Promise<{ readonly value: T; readonly traffic: Traffic }> {
  const { endpoint, limiter, services, onExchange } = asking;
  await awaitRateLimit(asking, 1, turn);
  const { signal } = turn.options;
  const startedAt = performance.now();
  const timeout = AbortSignal.timeout(Math.max(1, Math.ceil(turn.deadline.atMs - startedAt)));
  const abort = signal === undefined ? timeout : AbortSignal.any([signal, timeout]);
  const { fetch: post, traffic } = asking.openPost({ bytesMax: ANSWER_BYTES_MAX });
  const report = (outcome: SuiExchange['outcome']): void => {
    const { method, requestBytes, answerBytes } = traffic;
    const durationMs = performance.now() - startedAt;
    onExchange?.({ endpoint, methods: [method], outcome, durationMs, requestBytes, answerBytes });
  };
  try {
    const value = await question(services, { abort, fetch: post });
    checkChain(asking, traffic.chainId);
    limiter.answered();
    report('OK');
    return { value, traffic };
  } catch (error) {
    const known = translateGrpcError(error, { endpoint, signal, timedOut: timeout.aborted, traffic });
    if (known === undefined) throw error;
    report(known.code);
    throw isReaderError(known, 'RPC_RATE_LIMITED') ? noteComplaint(limiter, known) : known;
  }
}

async function followOnce(asking: Asking, { open, silenceMs, signal }: SuiFollowing): Promise<never> {
  const { endpoint, services } = asking;
  const silence = new AbortController();
  const timer = setTimeout(() => silence.abort(), silenceMs);
  const { fetch: post, traffic, frameRead } = asking.openPost({ bytesMax: FRAME_BYTES_MAX });
  const alive = (): void => {
    checkChain(asking, traffic.chainId);
    frameRead();
    timer.refresh();
  };
  try {
    await open(services, { abort: AbortSignal.any([signal, silence.signal]), fetch: post }, alive);
    throw readerError('RPC_UNAVAILABLE', 'the node ended a subscription', { endpoint });
  } catch (error) {
    const failed = { endpoint, signal, timedOut: silence.signal.aborted, traffic };
    throw translateGrpcError(error, failed) ?? error;
  } finally {
    clearTimeout(timer);
    silence.abort();
  }
}

interface Place {
  readonly baseUrl: string;
  readonly host: string;
  readonly secure: boolean;
  readonly meta: Readonly<Record<string, string>>;
}

/** The user name becomes the metadata `x-token`. */
function placeOf(url: string): Place {
  const place = new URL(url);
  const key = decodeURIComponent(place.username);
  place.username = '';
  place.password = '';
  const baseUrl = place.href.replace(/\/+$/, '');
  const secure = place.protocol === 'https:';
  return { baseUrl, host: place.host, secure, meta: key === '' ? {} : { 'x-token': key } };
}

function servicesAt(baseUrl: string, meta: Readonly<Record<string, string>>): SuiServices {
  // The text format is base64, which takes twice the time.
  const transport = new GrpcWebFetchTransport({ baseUrl, format: 'binary', meta: { ...meta } });
  const client = new SuiGrpcClient({ network: 'sui', transport });
  return {
    ledger: client.ledgerService,
    state: client.stateService,
    execution: client.transactionExecutionService,
    subscription: client.subscriptionService,
    listCheckpointBytes: createListCheckpointBytes(transport, client.ledgerService),
  };
}
