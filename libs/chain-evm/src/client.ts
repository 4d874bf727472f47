import type { ReadOptions } from '@opentill/chain/chain-reader';
import type { ReaderErrorCode } from '@opentill/chain/reader-error';
import { readerError } from '@opentill/chain/reader-error';
import { GatewayError } from '@opentill/domain/gateway-error';
import type { JsonAnswer } from './post-json.ts';
import { postJson } from './post-json.ts';
import { codeOfHttpStatus, codeOfRpcError, mayBeBetterElsewhere } from './translate-rpc-error.ts';

export interface RpcRequest {
  readonly method: string;
  readonly params: readonly unknown[];
}

/** One HTTP exchange with a node, for metrics and logs. */
export interface RpcExchange {
  /** Host and port, never the path: keys of providers stand there. */
  readonly endpoint: string;
  readonly methods: readonly string[];
  readonly outcome: 'OK' | ReaderErrorCode;
  readonly durationMs: number;
}

export interface EvmClientConfig {
  /** One or more nodes of the same network. A call goes to one of them; after a fault the next call tries the next. */
  readonly urls: readonly string[];
  /** EIP-155 id that every URL must name before its answers count. */
  readonly chainId: number;
  /** From sending to the last byte. @default 5000 */
  readonly requestTimeoutMs?: number;
  /** A longer answer is broken off with RPC_RANGE_TOO_LARGE. @default 32 MiB */
  readonly answerBytesMax?: number;
  readonly onExchange?: (exchange: RpcExchange) => void;
}

export interface EvmClient {
  /**
   * Sends the requests in one HTTP call to one URL and gives their results in the order of the requests; so they
   * come from one node, unless a provider splits batches among several. Any error among the answers is the error
   * of the whole. Throws a GatewayError with a ReaderErrorCode; does not retry. `context.retryAfterMs` is how long the
   * URL of the next call asked to be left alone.
   */
  batch(requests: readonly RpcRequest[], options?: ReadOptions): Promise<readonly unknown[]>;
}

const REQUEST_TIMEOUT_MS = 5_000;
const ANSWER_BYTES_MAX = 32 * 1024 * 1024;
const CHAIN_ID_REQUEST: RpcRequest = { method: 'eth_chainId', params: [] };

interface Endpoint {
  readonly url: string;
  /** What may be logged of the URL. */
  readonly label: string;
  /** Whether it named the right chain since its last fault: another node may stand behind it afterwards. */
  identified: boolean;
  /** Until when it asked to be left alone, by `performance.now()`. */
  restingUntilMs: number;
}

/** A JSON-RPC client for reading one EVM network. Opens nothing until the first call; connections are kept alive. */
export function createEvmClient(config: EvmClientConfig): EvmClient {
  const endpoints: Endpoint[] = config.urls.map((url) => ({
    url,
    label: new URL(url).host,
    identified: false,
    restingUntilMs: 0,
  }));
  let current = 0;
  let lastId = 0;

  async function exchange(
    endpoint: Endpoint,
    requests: readonly RpcRequest[],
    options: ReadOptions,
  ): Promise<readonly unknown[]> {
    const firstId = lastId + 1;
    lastId += requests.length;
    const calls = requests.map((request, place) => ({ jsonrpc: '2.0', id: firstId + place, ...request }));
    const answer = await postJson(endpoint.url, calls.length === 1 ? calls[0] : calls, {
      timeoutMs: config.requestTimeoutMs ?? REQUEST_TIMEOUT_MS,
      bytesMax: config.answerBytesMax ?? ANSWER_BYTES_MAX,
      context: { endpoint: endpoint.label },
      ...options,
    });
    return resultsOf(answer, requests, firstId, endpoint.label);
  }

  async function identifiedExchange(
    endpoint: Endpoint,
    requests: readonly RpcRequest[],
    options: ReadOptions,
  ): Promise<readonly unknown[]> {
    if (endpoint.identified) return exchange(endpoint, requests, options);
    const [chainId, ...results] = await exchange(endpoint, [CHAIN_ID_REQUEST, ...requests], options);
    if (typeof chainId !== 'string' || Number(chainId) !== config.chainId) {
      throw readerError('WRONG_CHAIN', `the node serves chain id ${String(chainId)}, not ${config.chainId}`, {
        endpoint: endpoint.label,
      });
    }
    endpoint.identified = true;
    return results;
  }

  return {
    async batch(requests, options = {}) {
      const at = current;
      const endpoint = endpoints[at];
      if (endpoint === undefined) throw new TypeError('a client needs at least one URL');
      const startedAt = performance.now();
      const methods = requests.map((request) => request.method);
      const report = (outcome: RpcExchange['outcome']): void =>
        config.onExchange?.({
          endpoint: endpoint.label,
          methods,
          outcome,
          durationMs: performance.now() - startedAt,
        });
      try {
        const results = await identifiedExchange(endpoint, requests, options);
        report('OK');
        return results;
      } catch (error) {
        if (mayBeBetterElsewhere(error)) {
          endpoint.identified = false;
          // Calls that failed together move on by one URL, not by one each.
          if (current === at) current = (at + 1) % endpoints.length;
        }
        report(error instanceof GatewayError ? (error.code as ReaderErrorCode) : 'RPC_UNAVAILABLE');
        throw waitingForNext(error, endpoint, endpoints[current] ?? endpoint);
      }
    },
  };
}

/** The error with the wait that the URL of the next call asked for: that of a URL left behind holds nothing up. */
function waitingForNext(error: unknown, failed: Endpoint, next: Endpoint): unknown {
  if (!(error instanceof GatewayError)) return error;
  const { retryAfterMs: asked, ...context } = error.context;
  const nowMs = performance.now();
  if (typeof asked === 'number') failed.restingUntilMs = nowMs + asked;
  if (next === failed) return error;
  const restMs = Math.ceil(next.restingUntilMs - nowMs);
  const wait = restMs > 0 ? { retryAfterMs: restMs } : {};
  return readerError(error.code as ReaderErrorCode, error.message, { ...context, ...wait }, error.cause);
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function resultsOf(
  answer: JsonAnswer,
  requests: readonly RpcRequest[],
  firstId: number,
  endpoint: string,
): readonly unknown[] {
  const { json, status } = answer;
  if (status === 429) throw refusal('RPC_RATE_LIMITED', 'the provider asks to slow down', answer, endpoint);
  const items = Array.isArray(json) ? (json as readonly unknown[]) : [json];
  const inconsistent = (why: string): never => {
    throw readerError('INCONSISTENT_ANSWER', `the node's answer is not one to the request: ${why}`, {
      endpoint,
    });
  };

  const results = new Map<number, unknown>();
  for (const item of items) {
    if (!isObject(item)) {
      throw refusal(
        codeOfHttpStatus(status) ?? 'INCONSISTENT_ANSWER',
        `not a JSON-RPC answer, HTTP ${status}`,
        answer,
        endpoint,
      );
    }
    if (item['error'] !== undefined && item['error'] !== null)
      throw rpcRefusal(item['error'], requests, answer, endpoint);
    const httpCode = codeOfHttpStatus(status);
    if (httpCode !== undefined) throw refusal(httpCode, `HTTP ${status}`, answer, endpoint);
    const id = item['id'];
    if (typeof id !== 'number' || id < firstId || id >= firstId + requests.length)
      inconsistent('a foreign id');
    else if (results.has(id)) inconsistent('an id twice');
    else if (!Object.hasOwn(item, 'result')) inconsistent('neither result nor error');
    else results.set(id, item['result']);
  }
  if (results.size !== requests.length)
    inconsistent(`${results.size} answers to ${requests.length} requests`);
  return requests.map((_, place) => results.get(firstId + place));
}

function rpcRefusal(
  error: unknown,
  requests: readonly RpcRequest[],
  answer: JsonAnswer,
  endpoint: string,
): GatewayError {
  const code = isObject(error) && typeof error['code'] === 'number' ? error['code'] : 0;
  const message =
    isObject(error) && typeof error['message'] === 'string' ? error['message'] : JSON.stringify(error);
  const byAnswer = codeOfRpcError({ code, message });
  const translated = byAnswer === 'RPC_REFUSED' ? (codeOfHttpStatus(answer.status) ?? byAnswer) : byAnswer;
  return refusal(translated, `the node answered an error: ${message.slice(0, 300)}`, answer, endpoint, {
    rpcCode: code,
    methods: [...new Set(requests.map((request) => request.method))],
  });
}

function refusal(
  code: ReaderErrorCode,
  message: string,
  answer: JsonAnswer,
  endpoint: string,
  context: Readonly<Record<string, unknown>> = {},
): GatewayError {
  const wait = answer.retryAfterMs === undefined ? {} : { retryAfterMs: answer.retryAfterMs };
  return readerError(code, message, { endpoint, status: answer.status, ...wait, ...context });
}
