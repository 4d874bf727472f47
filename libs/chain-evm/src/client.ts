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
  readonly url: string;
  /** EIP-155 id that the URL must name before its answers count. */
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
   * URL asked to be left alone.
   */
  batch(requests: readonly RpcRequest[], options?: ReadOptions): Promise<readonly unknown[]>;
}

const REQUEST_TIMEOUT_MS = 5_000;
const ANSWER_BYTES_MAX = 32 * 1024 * 1024;
const CHAIN_ID_REQUEST: RpcRequest = { method: 'eth_chainId', params: [] };

/** A JSON-RPC client for one URL of an EVM network. Opens nothing until the first call; connections are kept alive. */
export function createEvmClient(config: EvmClientConfig): EvmClient {
  const { url, chainId, onExchange } = config;
  const endpoint = new URL(url).host;
  /** Whether it named the right chain since its last fault: another node may stand behind it afterwards. */
  let identified = false;
  let lastId = 0;

  async function exchange(
    requests: readonly RpcRequest[],
    options: ReadOptions,
  ): Promise<readonly unknown[]> {
    const firstId = lastId + 1;
    lastId += requests.length;
    const calls = requests.map((request, place) => ({ jsonrpc: '2.0', id: firstId + place, ...request }));
    const answer = await postJson(url, calls.length === 1 ? calls[0] : calls, {
      timeoutMs: config.requestTimeoutMs ?? REQUEST_TIMEOUT_MS,
      bytesMax: config.answerBytesMax ?? ANSWER_BYTES_MAX,
      context: { endpoint },
      ...options,
    });
    return resultsOf(answer, requests, firstId, endpoint);
  }

  async function identifiedExchange(
    requests: readonly RpcRequest[],
    options: ReadOptions,
  ): Promise<readonly unknown[]> {
    if (identified) return exchange(requests, options);
    const [named, ...results] = await exchange([CHAIN_ID_REQUEST, ...requests], options);
    if (typeof named !== 'string' || Number(named) !== chainId) {
      throw readerError('WRONG_CHAIN', `the node serves chain id ${String(named)}, not ${chainId}`, {
        endpoint,
      });
    }
    identified = true;
    return results;
  }

  return {
    async batch(requests, options = {}) {
      const startedAt = performance.now();
      const methods = requests.map((request) => request.method);
      const report = (outcome: RpcExchange['outcome']): void =>
        onExchange?.({ endpoint, methods, outcome, durationMs: performance.now() - startedAt });
      try {
        const results = await identifiedExchange(requests, options);
        report('OK');
        return results;
      } catch (error) {
        if (mayBeBetterElsewhere(error)) identified = false;
        report(error instanceof GatewayError ? (error.code as ReaderErrorCode) : 'RPC_UNAVAILABLE');
        throw error;
      }
    },
  };
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
