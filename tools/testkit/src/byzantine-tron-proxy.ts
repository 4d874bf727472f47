import type { ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { listenLocally, readBody } from './local-http-server.ts';
import { seededRandom } from './seeded-random.ts';
import { heightDigits, withHeader, type BlockWithHeader } from './tron-block-id.ts';

/** Errors of TRON nodes and providers. The first group affects an HTTP request, the second a response. */
export type TronNodeFault =
  /** 429 with `Retry-After: 1`. */
  | 'rateLimited'
  /** TronGrid's 403 for a key that exceeds its rate, suspended for a second. */
  | 'suspended'
  | 'connectionReset'
  /** Half of the response, then an orderly end of the connection. */
  | 'truncatedJson'
  | 'unavailable'
  | 'delayed'
  /** HTTP 200 and `{"Error":"class java.lang…"}`. */
  | 'errorObject'
  /** The node lags by `lagBlocks`: older head, `{}` and `[]` for newer data, without an error. */
  | 'laggingNode'
  /** The head is far above every block, with matching height and id. */
  | 'jumpedHead'
  | 'wrongGenesis'
  /** `{}` instead of a block or receipt. */
  | 'emptyObject'
  | 'emptyInfos'
  /** A block without its transactions and receipts, with the original header. */
  | 'emptyBlock'
  /** A block without one transaction and its receipt, with the original header. */
  | 'leftOut'
  /** Like leftOut, and another transaction of the block has an unknown field in its result. */
  | 'leftOutBesideOdd'
  | 'solidAhead'
  /** Reports a solidified block far above every block. */
  | 'solidJumped'
  /** Reports an old solidified block after a newer one. */
  | 'solidFellBack'
  /** A block's last receipts are missing. */
  | 'truncatedInfos'
  /** Receipts of the previous block. */
  | 'otherInfos'
  | 'swappedInfos'
  /** A receipt lacks a log. A single source does not reveal it. */
  | 'droppedLog'
  /** A receipt has an invented log: another amount to a real recipient. A single source does not reveal it. */
  | 'inventedLog'
  /** Reports a failed transaction as successful, with the log that it would have emitted. */
  | 'inventedSuccess'
  /** Reports a successful contract call as failed, without logs. */
  | 'inventedFailure';

export interface ByzantineTronOptions {
  readonly upstreamUrl: string;
  readonly seed: number;
  /** Probability of each fault, 0 to 1, per opportunity. */
  readonly faults?: Partial<Record<TronNodeFault, number>>;
  /** @default 3 */
  readonly lagBlocks?: number;
  /** @default 150 */
  readonly delayMs?: number;
  /** Transactions that faults may affect; default all. Two proxies need disjoint sets. */
  readonly canReplaceIn?: (txHash: string) => boolean;
  /** Replaces a response, without faults, unless it returns undefined. */
  readonly override?: (asked: AskedOfTron, honest: () => Promise<unknown>) => Promise<unknown>;
}

/** `path` is for example `/wallet/getblock`, `method` its last part. */
export interface AskedOfTron {
  readonly path: string;
  readonly method: string;
  readonly body: Readonly<Record<string, unknown>>;
}

export interface ByzantineTronProxy {
  readonly url: string;
  /** Number of injected faults that could have an effect. */
  readonly injected: Partial<Record<TronNodeFault, number>>;
  readonly calls: Record<string, number>;
  setFaults(faults: Partial<Record<TronNodeFault, number>>): void;
  close(): Promise<void>;
}

interface RawBlock {
  readonly blockID?: string;
  readonly block_header?: { readonly raw_data: { readonly number?: number } };
}
interface RawLog {
  readonly address: string;
  readonly topics?: readonly string[];
  readonly data?: string;
}
interface RawInfo {
  readonly id?: string;
  readonly blockNumber?: number;
  readonly receipt?: { readonly result?: string };
  readonly log?: readonly RawLog[];
}
const JUMP_BLOCKS = 5_000;
const FALL_BLOCKS = 40;
/** Faults that remove the same data from a block and from its receipts. */
const SHORTENINGS = ['emptyBlock', 'leftOut', 'leftOutBesideOdd'] as const;
type Shortening = (typeof SHORTENINGS)[number];
const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && Object.keys(value).length > 0;

/** Byzantine node in front of an honest one. The same seed and sequence of requests give the same faults. */
export async function createByzantineTronProxy(options: ByzantineTronOptions): Promise<ByzantineTronProxy> {
  const { canReplaceIn = () => true, lagBlocks = 3 } = options;
  const random = seededRandom(options.seed);
  const injected: ByzantineTronProxy['injected'] = {};
  const calls: Record<string, number> = {};
  let faults = options.faults ?? {};
  const happens = (fault: TronNodeFault): boolean => random() < (faults[fault] ?? 0);
  const inject = <T>(fault: TronNodeFault, lie: T): T => {
    injected[fault] = (injected[fault] ?? 0) + 1;
    return lie;
  };

  async function honest(path: string, body: unknown): Promise<unknown> {
    const response = await fetch(options.upstreamUrl + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    return response.json();
  }
  const headHeight = async (side: string): Promise<number> => {
    const head = (await honest(`/${side}/getblock`, { detail: false })) as RawBlock;
    return head.block_header?.raw_data.number ?? 0;
  };

  /** Omissions by block, chosen at the first request for transactions or receipts, so that both agree. */
  const shortened = new Map<number, { readonly method: string; readonly lie: Shortening | undefined }>();
  function shorteningOf(method: string, height: number): Shortening | undefined {
    const half = shortened.get(height);
    if (half !== undefined && half.method !== method) {
      shortened.delete(height);
      return half.lie;
    }
    const lie = SHORTENINGS.find((fault) => faults[fault] && happens(fault));
    shortened.set(height, { method, lie });
    return lie;
  }

  /** Response of a node with a wrong solidified block; undefined for the true response. */
  async function lieOfSolid({ path, body }: AskedOfTron, truth: unknown): Promise<unknown> {
    if (happens('solidAhead'))
      return inject('solidAhead', await honest(path.replace('walletsolidity', 'wallet'), body));
    if (happens('solidJumped')) return inject('solidJumped', jumped(truth));
    if (!happens('solidFellBack')) return undefined;
    const height = Math.max(1, (heightIn(truth) ?? 0) - FALL_BLOCKS);
    return inject('solidFellBack', await honest(path, { ...body, id_or_num: `${height}` }));
  }

  async function asOfBefore({ path, method, body }: AskedOfTron, truth: unknown): Promise<unknown> {
    const [, side = 'wallet'] = path.split('/');
    const top = Math.max(0, (await headHeight(side)) - lagBlocks);
    if (method === 'getblock' && body['id_or_num'] === undefined)
      return inject('laggingNode', await honest(path, { ...body, id_or_num: `${top}` }));
    const height = heightIn(truth);
    if (height === undefined || height <= top) return truth;
    return inject('laggingNode', Array.isArray(truth) ? [] : {});
  }

  async function lieAbout(asked: AskedOfTron, truth: unknown): Promise<unknown> {
    const { method, body, path } = asked;
    if (method === 'getblock') {
      if (body['id_or_num'] === '0')
        return happens('wrongGenesis') ? inject('wrongGenesis', ofAnotherChain(truth)) : truth;
      if (body['id_or_num'] === undefined && path.startsWith('/walletsolidity/') && isObject(truth)) {
        const lie = await lieOfSolid(asked, truth);
        if (lie !== undefined) return lie;
      }
      if (body['id_or_num'] === undefined && happens('jumpedHead'))
        return inject('jumpedHead', jumped(truth));
    }
    const isWhole = method === 'getblockbynum' || method === 'gettransactioninfobyblocknum';
    const shortening = isWhole ? shorteningOf(method, Number(body['num'])) : undefined;
    if (shortening === 'emptyBlock') return withoutTransactions(truth, inject);
    if (shortening !== undefined) return withoutOne(shortening, truth, Number(body['num']));
    if (isObject(truth) && happens('emptyObject')) return inject('emptyObject', {});
    if (method === 'gettransactioninfobyid' && isObject(truth)) return lieOfOne(truth as RawInfo);
    if (method !== 'gettransactioninfobyblocknum' || !Array.isArray(truth) || truth.length === 0)
      return truth;
    const infos = truth as readonly RawInfo[];
    if (happens('emptyInfos')) return inject('emptyInfos', []);
    if (happens('truncatedInfos'))
      return inject('truncatedInfos', infos.slice(0, Math.floor(random() * infos.length)));
    if (happens('swappedInfos') && infos.length > 1)
      return inject('swappedInfos', [infos[1], infos[0], ...infos.slice(2)]);
    if (happens('otherInfos'))
      return inject('otherInfos', await honest(path, { num: Number(body['num']) - 1 }));
    return infos.map(lieOfOne);
  }

  /** Omits the same transaction from both halves. */
  function withoutOne(fault: 'leftOut' | 'leftOutBesideOdd', truth: unknown, height: number): unknown {
    const without = (list: readonly { readonly id?: string; readonly txID?: string }[]) => {
      const place = height % Math.max(1, list.length);
      const { id, txID } = list[place] ?? {};
      return canReplaceIn(id ?? txID ?? '') ? list.filter((_, other) => other !== place) : list;
    };
    if (Array.isArray(truth)) return truth.length === 0 ? truth : inject(fault, without(truth));
    if (!isObject(truth) || !('transactions' in truth)) return truth;
    const left = without(truth.transactions as { readonly txID: string }[]);
    const [first, ...others] = fault === 'leftOutBesideOdd' ? left : [];
    return inject(fault, { ...truth, transactions: first === undefined ? left : [oddly(first), ...others] });
  }

  function lieOfOne(info: RawInfo): RawInfo {
    const { log: logs = [] } = info;
    if (!canReplaceIn(info.id ?? '')) return info;
    if (logs.length > 0 && happens('droppedLog'))
      return inject('droppedLog', { ...info, log: logs.slice(1) });
    if (logs.length > 0 && happens('inventedLog')) {
      const more = { ...logs[0]!, data: '7'.padStart(64, '0') };
      return inject('inventedLog', { ...info, log: [...logs, more] });
    }
    if (logs.length > 0 && happens('inventedFailure')) {
      const { log: _, ...rest } = info;
      return inject('inventedFailure', {
        ...rest,
        result: 'FAILED',
        receipt: { ...info.receipt, result: 'REVERT' },
      });
    }
    const hasFailed = info.receipt?.result !== undefined && info.receipt.result !== 'SUCCESS';
    if (!hasFailed || !happens('inventedSuccess')) return info;
    const { result: _, ...rest } = info as RawInfo & { readonly result?: string };
    return inject('inventedSuccess', { ...rest, receipt: { ...info.receipt, result: 'SUCCESS' } });
  }

  async function answer(asked: AskedOfTron, response: ServerResponse): Promise<void> {
    const instead = await options.override?.(asked, () => honest(asked.path, asked.body));
    if (instead !== undefined) {
      response.setHeader('content-type', 'application/json').end(JSON.stringify(instead));
      return;
    }
    const isBehind = happens('laggingNode');
    let truth = await honest(asked.path, asked.body);
    if (isBehind) truth = await asOfBefore(asked, truth);
    const text = JSON.stringify(await lieAbout(asked, truth));
    response.setHeader('content-type', 'application/json');
    if (happens('delayed')) await inject('delayed', delay(options.delayMs ?? 150));
    if (happens('truncatedJson') && text.length > 4)
      response.end(inject('truncatedJson', text.slice(0, text.length / 2)));
    else response.end(text);
  }

  const server = createServer((request, response) => {
    void (async () => {
      const path = request.url ?? '/';
      const method = path.split('/').at(-1) ?? '';
      const text = await readBody(request);
      calls[method] = (calls[method] ?? 0) + 1;
      if (happens('connectionReset')) return inject('connectionReset', request.socket.destroy());
      if (happens('rateLimited'))
        return inject('rateLimited', response.writeHead(429, { 'retry-after': '1' }).end('{}'));
      if (happens('suspended')) {
        const why = 'The key exceeds the frequency limit(15), and the query server is suspended for 1s';
        return inject('suspended', response.writeHead(403).end(JSON.stringify({ Error: why })));
      }
      if (happens('unavailable'))
        return inject('unavailable', response.writeHead(503).end('<html>unavailable</html>'));
      if (happens('errorObject'))
        return inject('errorObject', response.end('{"Error":"class java.lang.NullPointerException : null"}'));
      return answer(
        { path, method, body: (text === '' ? {} : JSON.parse(text)) as AskedOfTron['body'] },
        response,
      );
    })().catch(() => response.destroy());
  });
  const url = await listenLocally(server);
  return {
    url,
    injected,
    calls,
    setFaults: (next) => void (faults = next),
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function withoutTransactions(
  truth: unknown,
  inject: (fault: 'emptyBlock', lie: unknown) => unknown,
): unknown {
  if (Array.isArray(truth)) return truth.length === 0 ? truth : inject('emptyBlock', []);
  if (!isObject(truth) || !('transactions' in truth)) return truth;
  const { transactions: _, ...rest } = truth;
  return inject('emptyBlock', rest);
}

/** Adds an unknown field to the result. */
export function oddly<T extends object>(transaction: T & { readonly ret?: readonly object[] }): T {
  return { ...transaction, ret: [{ ...transaction.ret?.[0], odd: 1 }] };
}

function heightIn(answer: unknown): number | undefined {
  if (Array.isArray(answer)) return (answer as readonly RawInfo[])[0]?.blockNumber;
  if (!isObject(answer)) return undefined;
  return (answer as RawBlock).block_header?.raw_data.number ?? (answer as RawInfo).blockNumber;
}

/** Moves a block far above the head, with a correct id. */
function jumped(raw: unknown): unknown {
  const block = raw as BlockWithHeader & { readonly blockID: string };
  const { number = 0, parentHash } = block.block_header.raw_data;
  const height = Number(number) + JUMP_BLOCKS;
  const parent = heightDigits(height - 1) + String(parentHash).slice(heightDigits(0).length);
  return withHeader(block, { number: height, parentHash: parent });
}

function ofAnotherChain(raw: unknown): unknown {
  const { blockID, ...block } = raw as Required<RawBlock>;
  return { ...block, blockID: `${blockID.slice(0, -8)}2b6653dc` };
}
