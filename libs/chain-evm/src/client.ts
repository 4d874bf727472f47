import type { ReaderErrorCode } from '@opentill/chain/reader-error';
import { readerError } from '@opentill/chain/reader-error';
import { boundedText } from '@opentill/chain-sources/node-text';
import { createRateLimiter } from '@opentill/chain-sources/rate-limiter';
import { admitCalls } from '@opentill/chain-sources/await-rate-limit';
import { GatewayError } from '@opentill/domain/gateway-error';
import type { Asking } from './exchange-calls.ts';
import { createExchangeCalls } from './exchange-calls.ts';
import { watchAnswer } from './raw-answer.ts';
import { createSendCalls } from './send-calls.ts';
import type { AskOptions, EvmClient, RawAnswer, RpcExchange, RpcRequest } from './rpc-call.ts';

export type { EvmClient, RawAnswer, RpcExchange, RpcRequest };

export interface EvmClientConfig {
  readonly url: string;
  /** EIP-155 id. The URL must report it on each new connection and every few minutes. */
  readonly chainId: number;
  /** From sending to the last byte, over all exchanges of one batch. @default 5000 */
  readonly requestTimeoutMs?: number;
  /** A longer answer is cut off with RPC_RANGE_TOO_LARGE. @default 32 MiB */
  readonly answerBytesMax?: number;
  readonly requestsPerSecond?: number;
  readonly onExchange?: (exchange: RpcExchange) => void;
}

const REQUEST_TIMEOUT_MS = 5_000;
const ANSWER_BYTES_MAX = 32 * 1024 * 1024;
const CHAIN_ID_REQUEST: RpcRequest = { method: 'eth_chainId', params: [] };
const IDENTIFIED_FOR_MS = 5 * 60 * 1_000;
/** After these faults, another node may serve the URL. */
const FAULTS_OF_IDENTITY: readonly ReaderErrorCode[] = [
  'RPC_UNAVAILABLE',
  'RPC_FORBIDDEN',
  'RPC_REFUSED',
  'INCONSISTENT_ANSWER',
  'WRONG_CHAIN',
];

export function createEvmClient(config: EvmClientConfig): EvmClient {
  const endpoint = new URL(config.url).host;
  const timeoutMs = config.requestTimeoutMs ?? REQUEST_TIMEOUT_MS;
  const limiter = createRateLimiter({ requestsPerSecond: config.requestsPerSecond });
  const exchange = createExchangeCalls({
    url: config.url,
    endpoint,
    limiter,
    timeoutMs,
    bytesMax: config.answerBytesMax ?? ANSWER_BYTES_MAX,
    onExchange: config.onExchange,
  });
  const send = createSendCalls({ exchange, limiter, onNewConnection: identify });
  let identifiedUntilMs = -Infinity;

  async function identify(asking: Asking): Promise<void> {
    const exchanged = await exchange([CHAIN_ID_REQUEST], asking);
    if (exchanged.kind === 'batchRefused') throw exchanged.error;
    const [named] = exchanged.answer.results();
    if (typeof named !== 'string' || Number(named) !== config.chainId) {
      const why = `the node serves chain id ${boundedText(String(named))}, not ${config.chainId}`;
      throw readerError('WRONG_CHAIN', why, { endpoint });
    }
    identifiedUntilMs = performance.now() + IDENTIFIED_FOR_MS;
  }

  function forgetAfter(error: unknown): void {
    if (error instanceof GatewayError && FAULTS_OF_IDENTITY.includes(error.code as ReaderErrorCode))
      identifiedUntilMs = -Infinity;
  }

  async function ask(requests: readonly RpcRequest[], options: AskOptions = {}): Promise<RawAnswer> {
    try {
      const asking = admitCalls({ endpoint, limiter, timeoutMs }, requests.length, options);
      if (performance.now() >= identifiedUntilMs) await identify(asking);
      return watchAnswer(await send(requests, asking), forgetAfter);
    } catch (error) {
      forgetAfter(error);
      throw error;
    }
  }

  return {
    ask,
    batch: async (requests, options) => (await ask(requests, options)).results(),
    waitMs: limiter.waitMs,
  };
}
