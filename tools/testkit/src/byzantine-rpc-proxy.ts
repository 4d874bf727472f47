import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { listenLocally, readBody } from './local-http-server.ts';
import { seededRandom } from './seeded-random.ts';

/** Errors of nodes and providers. The first group affects an HTTP request, the second a single call. */
export type RpcFault =
  /** 429 with `Retry-After: 1`. */
  | 'rateLimited'
  | 'connectionReset'
  /** Half of the response, then an orderly end of the connection. */
  | 'truncatedJson'
  | 'unavailable'
  | 'delayed'
  /** The node lags by `lagBlocks`: older head, null for newer blocks, incomplete logs without an error. */
  | 'laggingNode'
  /** A batch response lacks one answer. */
  | 'answerMissing'
  | 'internalError'
  | 'wrongChainId'
  /** Blocks are current, but logs come from a node that lags by `lagBlocks` (batches split among nodes). */
  | 'laggingLogs'
  | 'falseEmpty'
  /** eth_getLogs omits all logs of one block. */
  | 'droppedBlockOfLogs'
  /** eth_getLogs omits one log. A single source does not reveal it if the block has other logs. */
  | 'droppedLog'
  | 'duplicatedLog'
  /** eth_getLogs returns a log of a block that is not on the chain. */
  | 'orphanedLog'
  /** eth_getLogs adds an invented log: another amount to the recipient of a real one. */
  | 'inventedLog'
  | 'receiptMissing'
  /** The last one of a block's receipts is missing. */
  | 'blockReceiptsShort';

export interface ByzantineRpcOptions {
  readonly upstreamUrl: string;
  readonly seed: number;
  /** Probability of each fault, 0 to 1, per opportunity. */
  readonly faults?: Partial<Record<RpcFault, number>>;
  /** @default 4 */
  readonly lagBlocks?: number;
  /** @default 300 */
  readonly delayMs?: number;
  /** Rejects eth_getLogs over more blocks than this, with a provider's message. */
  readonly rangeCapBlocks?: number;
  /** Rejects responses with more logs than this, with a provider's message. */
  readonly resultCapLogs?: number;
  /** Logs that `droppedLog` may omit; default all. Two proxies of one node need disjoint sets. */
  readonly mayDrop?: (log: DroppableLog) => boolean;
  /** Replaces faults of single calls by a test's own response; undefined keeps them. */
  readonly override?: (
    call: RpcCall,
    honest: (call: Omit<RpcCall, 'id'>) => Promise<unknown>,
  ) => Promise<{ readonly result: unknown } | { readonly error: RpcAnswerError } | undefined>;
}

export interface RpcAnswerError {
  readonly code: number;
  readonly message: string;
}

export interface DroppableLog {
  readonly transactionHash: string;
  readonly logIndex: string;
}

/** Counters and faults can be read and changed at any time. */
export interface ByzantineRpcProxy {
  readonly url: string;
  /** Number of injected faults that could have an effect. */
  readonly injected: Partial<Record<RpcFault | 'rangeCap' | 'resultCap', number>>;
  readonly calls: Record<string, number>;
  setFaults(faults: Partial<Record<RpcFault, number>>): void;
  close(): Promise<void>;
}

export interface RpcCall {
  readonly id: unknown;
  readonly method: string;
  readonly params: readonly unknown[];
}
type RpcAnswer = { jsonrpc: '2.0'; id: unknown; result?: unknown; error?: RpcAnswerError };
interface RawLog extends DroppableLog {
  readonly blockHash: string;
  readonly data: string;
}
interface LogFilter {
  readonly fromBlock?: string;
  readonly toBlock?: string;
  readonly blockHash?: string;
}

interface View {
  readonly lagBlocks: number;
  readonly head: number;
}

const hex = (value: number): string => `0x${value.toString(16)}`;

/** Byzantine node in front of an honest one. The same seed and sequence of requests give the same faults. */
export async function createByzantineRpcProxy(options: ByzantineRpcOptions): Promise<ByzantineRpcProxy> {
  const random = seededRandom(options.seed);
  const lagBlocks = options.lagBlocks ?? 4;
  let faults = options.faults ?? {};
  const injected: ByzantineRpcProxy['injected'] = {};
  const calls: Record<string, number> = {};

  const count = (fault: keyof typeof injected): true => {
    injected[fault] = (injected[fault] ?? 0) + 1;
    return true;
  };
  const happens = (fault: RpcFault): boolean => random() < (faults[fault] ?? 0);
  const strikes = (fault: RpcFault): boolean => happens(fault) && count(fault);
  const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)]!;
  const refusal = (id: unknown, code: number, message: string): RpcAnswer => ({
    jsonrpc: '2.0',
    id,
    error: { code, message },
  });

  async function upstream(body: RpcCall): Promise<RpcAnswer> {
    const headers = { 'content-type': 'application/json' };
    const response = await fetch(options.upstreamUrl, {
      method: 'POST',
      headers,
      body: JSON.stringify({ jsonrpc: '2.0', ...body }),
    });
    return (await response.json()) as RpcAnswer;
  }

  async function answerLogs(request: RpcCall, view: View): Promise<RpcAnswer> {
    const filter = request.params[0] as LogFilter;
    const lag = happens('laggingLogs') ? Math.max(view.lagBlocks, lagBlocks) : view.lagBlocks;
    let asked = request;
    if (filter.fromBlock !== undefined && filter.toBlock !== undefined) {
      const [from, to] = [Number(filter.fromBlock), Number(filter.toBlock)];
      if (options.rangeCapBlocks !== undefined && to - from + 1 > options.rangeCapBlocks) {
        count('rangeCap');
        return refusal(request.id, -32614, `eth_getLogs is limited to a ${options.rangeCapBlocks} range`);
      }
      const end = Math.min(to, view.head - lag);
      if (end < to && lag > view.lagBlocks) count('laggingLogs');
      if (end < from) return { jsonrpc: '2.0', id: request.id, result: [] };
      asked = { ...request, params: [{ ...filter, toBlock: hex(end) }] };
    }
    const answer = await upstream(asked);
    return Array.isArray(answer.result) ? falsified(answer, answer.result as RawLog[]) : answer;
  }

  function falsified(answer: RpcAnswer, logs: readonly RawLog[]): RpcAnswer {
    if (options.resultCapLogs !== undefined && logs.length > options.resultCapLogs) {
      count('resultCap');
      return refusal(answer.id, -32005, `query returned more than ${options.resultCapLogs} results`);
    }
    if (logs.length === 0) return answer;
    if (strikes('falseEmpty')) return { ...answer, result: [] };
    let result = [...logs];
    if (strikes('droppedBlockOfLogs')) {
      const { blockHash } = pick(result);
      result = result.filter((log) => log.blockHash !== blockHash);
    }
    const droppable = options.mayDrop === undefined ? result : result.filter(options.mayDrop);
    if (droppable.length > 0 && strikes('droppedLog')) result.splice(result.indexOf(pick(droppable)), 1);
    if (result.length > 0 && strikes('duplicatedLog')) result.push(pick(result));
    if (result.length > 0 && strikes('orphanedLog')) {
      const log = pick(result);
      result.push({ ...log, blockHash: `0x${'ab'.repeat(32)}` });
    }
    if (result.length > 0 && strikes('inventedLog')) {
      const log = pick(result);
      const logIndex = hex(Number(log.logIndex) + 1_000);
      result.push({ ...log, logIndex, data: `0x${(BigInt(log.data) + 1n).toString(16).padStart(64, '0')}` });
    }
    return { ...answer, result };
  }

  /** A lagging node also learns of finality later. */
  async function answerFinalized(request: RpcCall, view: View): Promise<RpcAnswer> {
    const answer = await upstream(request);
    const { number } = (answer.result ?? {}) as { readonly number?: string };
    if (view.lagBlocks === 0 || number === undefined) return answer;
    const height = Math.max(0, Number(number) - view.lagBlocks);
    return upstream({ ...request, params: [hex(height), request.params[1]] });
  }

  async function answerCall(request: RpcCall, view: View): Promise<RpcAnswer> {
    calls[request.method] = (calls[request.method] ?? 0) + 1;
    const honest = async (call: Omit<RpcCall, 'id'>): Promise<unknown> =>
      (await upstream({ ...call, id: request.id })).result;
    const overridden = await options.override?.(request, honest);
    if (overridden !== undefined) return { jsonrpc: '2.0', id: request.id, ...overridden };
    if (strikes('internalError')) return refusal(request.id, -32603, 'internal error');
    const behind = view.head - view.lagBlocks;
    switch (request.method) {
      case 'eth_chainId':
        return strikes('wrongChainId')
          ? { jsonrpc: '2.0', id: request.id, result: '0x1' }
          : upstream(request);
      case 'eth_blockNumber':
        return { jsonrpc: '2.0', id: request.id, result: hex(behind) };
      case 'eth_getBlockByNumber': {
        const [tag, full] = request.params;
        if (tag === 'latest') return upstream({ ...request, params: [hex(behind), full] });
        if (tag === 'finalized') return answerFinalized(request, view);
        if (typeof tag === 'string' && tag.startsWith('0x') && Number(tag) > behind)
          return { jsonrpc: '2.0', id: request.id, result: null };
        return upstream(request);
      }
      case 'eth_getLogs':
        return answerLogs(request, view);
      case 'eth_getTransactionReceipt':
        return strikes('receiptMissing')
          ? { jsonrpc: '2.0', id: request.id, result: null }
          : upstream(request);
      case 'eth_getBlockReceipts': {
        const answer = await upstream(request);
        const receipts = Array.isArray(answer.result) ? (answer.result as readonly unknown[]) : [];
        return receipts.length > 0 && strikes('blockReceiptsShort')
          ? { ...answer, result: receipts.slice(0, -1) }
          : answer;
      }
      default:
        return upstream(request);
    }
  }

  async function answerRequest(body: string, response: ServerResponse): Promise<void> {
    if (strikes('connectionReset')) {
      response.socket?.resetAndDestroy();
      return;
    }
    if (strikes('rateLimited')) {
      response.writeHead(429, { 'retry-after': '1', 'content-type': 'application/json' });
      response.end('{"jsonrpc":"2.0","id":null,"error":{"code":429,"message":"Too Many Requests"}}');
      return;
    }
    if (strikes('unavailable')) {
      response.writeHead(503, { 'content-type': 'text/html' });
      response.end('<html><h1>Error 503 Backend fetch failed</h1></html>');
      return;
    }
    if (strikes('delayed')) await delay(options.delayMs ?? 300);
    const parsed = JSON.parse(body) as RpcCall | readonly RpcCall[];
    const { result: head } = await upstream({ id: 0, method: 'eth_blockNumber', params: [] });
    const view = { head: Number(head), lagBlocks: strikes('laggingNode') ? lagBlocks : 0 };
    const isBatch = Array.isArray(parsed);
    const answers: RpcAnswer[] = [];
    // Sequential, so that the same seed gives the same faults.
    for (const request of isBatch ? (parsed as readonly RpcCall[]) : [parsed as RpcCall])
      answers.push(await answerCall(request, view));
    if (isBatch && answers.length > 1 && strikes('answerMissing'))
      answers.splice(Math.floor(random() * answers.length), 1);
    const text = JSON.stringify(isBatch ? answers : answers[0]);
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(strikes('truncatedJson') ? text.slice(0, text.length >> 1) : text);
  }

  const server = createServer((request, response) => {
    readBody(request)
      .then((body) => answerRequest(body, response))
      .catch(() => response.destroy());
  });
  return {
    url: await listenLocally(server),
    injected,
    calls,
    setFaults(changed) {
      faults = changed;
    },
    close: async () => {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}
