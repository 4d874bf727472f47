import type { ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { listenLocally, readBody } from './local-http-server.ts';
import { seededRandom } from './seeded-random.ts';
import { heightDigits, withHeader, type BlockWithHeader } from './tron-block-id.ts';

/** What TRON nodes and the providers before them do wrong. The first group befalls an HTTP request, the second an answer. */
export type TronNodeFault =
  /** 429 with `Retry-After: 1`. */
  | 'rateLimited'
  /** TronGrid's 403 of a key that asks too often, suspended for a second. */
  | 'suspended'
  /** The connection is reset before any answer. */
  | 'connectionReset'
  /** Half of the answer, then an orderly end, as if it were whole. */
  | 'truncatedJson'
  /** HTTP 503 with a page in HTML. */
  | 'unavailable'
  /** The answer comes after `delayMs`. */
  | 'delayed'
  /** HTTP 200 and `{"Error":"class java.lang…"}`. */
  | 'errorObject'
  /** The node behind the request is `lagBlocks` behind: older head, `{}` and `[]` for what is newer, without an error. */
  | 'laggingNode'
  /** The head is far above any block that there is: with a height and an id that fit. */
  | 'jumpedHead'
  /** Block 0 of another network. */
  | 'wrongGenesis'
  /** `{}` where there is a block or a receipt. */
  | 'emptyObject'
  /** `[]` where there are receipts. */
  | 'emptyInfos'
  /** A block without its transactions, and no receipts of it; the header is as it was. */
  | 'emptyBlock'
  /** A transaction of a block is left out, and its receipt as well; the header is as it was. */
  | 'leftOut'
  /** Likewise; and another transaction of the block is told with a field in its result that nobody knows. */
  | 'leftOutBesideOdd'
  /** The head is called solid. */
  | 'solidAhead'
  /** What is called solid is far above any block that there is. */
  | 'solidJumped'
  /** What is called solid is a block of long ago, though a newer one has been called so. */
  | 'solidFellBack'
  /** The last receipts of a block are left out. */
  | 'truncatedInfos'
  /** The receipts of the block before. */
  | 'otherInfos'
  /** Two receipts in the other's place. */
  | 'swappedInfos'
  /** A receipt lacks a log. Not revealed by one source alone. */
  | 'droppedLog'
  /** A receipt has a log more: another amount, to the recipient of a real one. Not revealed by one source alone. */
  | 'inventedLog'
  /** A transaction that failed is said to have succeeded, with the log that it would have had. */
  | 'inventedSuccess'
  /** A contract's run that succeeded is said to have failed, and to have logged nothing. */
  | 'inventedFailure';

export interface LyingTronOptions {
  readonly upstreamUrl: string;
  readonly seed: number;
  /** Chance of each fault, 0 to 1, wherever it can befall. */
  readonly faults?: Partial<Record<TronNodeFault, number>>;
  /** @default 3 */
  readonly lagBlocks?: number;
  /** @default 150 */
  readonly delayMs?: number;
  /** The transactions of which it may tell something that is not so; default all. Two liars must not tell the same. */
  readonly mayLieOf?: (txHash: string) => boolean;
  /** What it answers instead, unless that is undefined; `honest` asks the node behind it. No fault befalls such an answer. */
  readonly override?: (asked: AskedOfTron, honest: () => Promise<unknown>) => Promise<unknown>;
}

/** A request: `/wallet/getblock`, `getblock`, and what it carries. */
export interface AskedOfTron {
  readonly path: string;
  readonly method: string;
  readonly body: Readonly<Record<string, unknown>>;
}

export interface LyingTronProxy {
  readonly url: string;
  /** How often each fault was injected where it could do harm. */
  readonly injected: Partial<Record<TronNodeFault, number>>;
  /** How often each method was asked. */
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
/** So far a node falls back that takes what was solid long ago for solid. */
const FALL_BLOCKS = 40;
/** What is left out of a block and of its receipts alike. */
const SHORTENINGS = ['emptyBlock', 'leftOut', 'leftOutBesideOdd'] as const;
type Shortening = (typeof SHORTENINGS)[number];
const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && Object.keys(value).length > 0;

/**
 * A TRON node that lies, in front of one that does not, on a free port of 127.0.0.1. The same seed and the same sequence
 * of requests give the same lies.
 */
export async function createLyingTronProxy(options: LyingTronOptions): Promise<LyingTronProxy> {
  const { mayLieOf = () => true, lagBlocks = 3 } = options;
  const random = seededRandom(options.seed);
  const injected: LyingTronProxy['injected'] = {};
  const calls: Record<string, number> = {};
  let faults = options.faults ?? {};
  const happens = (fault: TronNodeFault): boolean => random() < (faults[fault] ?? 0);
  const told = <T>(fault: TronNodeFault, lie: T): T => {
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

  /** Blocks whose first half, transactions or receipts, has been asked for: what is left out of it, and so of the other one as well. */
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

  /** What a node answers that takes other blocks for solid; undefined: the truth. */
  async function lieOfSolid({ path, body }: AskedOfTron, truth: unknown): Promise<unknown> {
    if (happens('solidAhead'))
      return told('solidAhead', await honest(path.replace('walletsolidity', 'wallet'), body));
    if (happens('solidJumped')) return told('solidJumped', jumped(truth));
    if (!happens('solidFellBack')) return undefined;
    const height = Math.max(1, (heightIn(truth) ?? 0) - FALL_BLOCKS);
    return told('solidFellBack', await honest(path, { ...body, id_or_num: `${height}` }));
  }

  /** What a node that is behind answers, in the place of the truth. */
  async function asOfBefore({ path, method, body }: AskedOfTron, truth: unknown): Promise<unknown> {
    const [, side = 'wallet'] = path.split('/');
    const top = Math.max(0, (await headHeight(side)) - lagBlocks);
    if (method === 'getblock' && body['id_or_num'] === undefined)
      return told('laggingNode', await honest(path, { ...body, id_or_num: `${top}` }));
    const height = heightIn(truth);
    if (height === undefined || height <= top) return truth;
    return told('laggingNode', Array.isArray(truth) ? [] : {});
  }

  async function lieAbout(asked: AskedOfTron, truth: unknown): Promise<unknown> {
    const { method, body, path } = asked;
    if (method === 'getblock') {
      if (body['id_or_num'] === '0')
        return happens('wrongGenesis') ? told('wrongGenesis', ofAnotherChain(truth)) : truth;
      if (body['id_or_num'] === undefined && path.startsWith('/walletsolidity/') && isObject(truth)) {
        const lie = await lieOfSolid(asked, truth);
        if (lie !== undefined) return lie;
      }
      if (body['id_or_num'] === undefined && happens('jumpedHead')) return told('jumpedHead', jumped(truth));
    }
    const isWhole = method === 'getblockbynum' || method === 'gettransactioninfobyblocknum';
    const shortening = isWhole ? shorteningOf(method, Number(body['num'])) : undefined;
    if (shortening === 'emptyBlock') return withoutTransactions(truth, told);
    if (shortening !== undefined) return withoutOne(shortening, truth, Number(body['num']));
    if (isObject(truth) && happens('emptyObject')) return told('emptyObject', {});
    if (method === 'gettransactioninfobyid' && isObject(truth)) return lieOfOne(truth as RawInfo);
    if (method !== 'gettransactioninfobyblocknum' || !Array.isArray(truth) || truth.length === 0)
      return truth;
    const infos = truth as readonly RawInfo[];
    if (happens('emptyInfos')) return told('emptyInfos', []);
    if (happens('truncatedInfos'))
      return told('truncatedInfos', infos.slice(0, Math.floor(random() * infos.length)));
    if (happens('swappedInfos') && infos.length > 1)
      return told('swappedInfos', [infos[1], infos[0], ...infos.slice(2)]);
    if (happens('otherInfos'))
      return told('otherInfos', await honest(path, { num: Number(body['num']) - 1 }));
    return infos.map(lieOfOne);
  }

  /** The same one of both halves. */
  function withoutOne(fault: 'leftOut' | 'leftOutBesideOdd', truth: unknown, height: number): unknown {
    const without = (list: readonly { readonly id?: string; readonly txID?: string }[]) => {
      const place = height % Math.max(1, list.length);
      const { id, txID } = list[place] ?? {};
      return mayLieOf(id ?? txID ?? '') ? list.filter((_, other) => other !== place) : list;
    };
    if (Array.isArray(truth)) return truth.length === 0 ? truth : told(fault, without(truth));
    if (!isObject(truth) || !('transactions' in truth)) return truth;
    const left = without(truth.transactions as { readonly txID: string }[]);
    const [first, ...others] = fault === 'leftOutBesideOdd' ? left : [];
    return told(fault, { ...truth, transactions: first === undefined ? left : [oddly(first), ...others] });
  }

  function lieOfOne(info: RawInfo): RawInfo {
    const { log: logs = [] } = info;
    if (!mayLieOf(info.id ?? '')) return info;
    if (logs.length > 0 && happens('droppedLog')) return told('droppedLog', { ...info, log: logs.slice(1) });
    if (logs.length > 0 && happens('inventedLog')) {
      const more = { ...logs[0]!, data: '7'.padStart(64, '0') };
      return told('inventedLog', { ...info, log: [...logs, more] });
    }
    if (logs.length > 0 && happens('inventedFailure')) {
      const { log: _, ...rest } = info;
      return told('inventedFailure', {
        ...rest,
        result: 'FAILED',
        receipt: { ...info.receipt, result: 'REVERT' },
      });
    }
    const hasFailed = info.receipt?.result !== undefined && info.receipt.result !== 'SUCCESS';
    if (!hasFailed || !happens('inventedSuccess')) return info;
    const { result: _, ...rest } = info as RawInfo & { readonly result?: string };
    return told('inventedSuccess', { ...rest, receipt: { ...info.receipt, result: 'SUCCESS' } });
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
    if (happens('delayed')) await told('delayed', delay(options.delayMs ?? 150));
    if (happens('truncatedJson') && text.length > 4)
      response.end(told('truncatedJson', text.slice(0, text.length / 2)));
    else response.end(text);
  }

  const server = createServer((request, response) => {
    void (async () => {
      const path = request.url ?? '/';
      const method = path.split('/').at(-1) ?? '';
      const text = await readBody(request);
      calls[method] = (calls[method] ?? 0) + 1;
      if (happens('connectionReset')) return told('connectionReset', request.socket.destroy());
      if (happens('rateLimited'))
        return told('rateLimited', response.writeHead(429, { 'retry-after': '1' }).end('{}'));
      if (happens('suspended')) {
        const why = 'The key exceeds the frequency limit(15), and the query server is suspended for 1s';
        return told('suspended', response.writeHead(403).end(JSON.stringify({ Error: why })));
      }
      if (happens('unavailable'))
        return told('unavailable', response.writeHead(503).end('<html>unavailable</html>'));
      if (happens('errorObject'))
        return told('errorObject', response.end('{"Error":"class java.lang.NullPointerException : null"}'));
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

function withoutTransactions(truth: unknown, told: (fault: 'emptyBlock', lie: unknown) => unknown): unknown {
  if (Array.isArray(truth)) return truth.length === 0 ? truth : told('emptyBlock', []);
  if (!isObject(truth) || !('transactions' in truth)) return truth;
  const { transactions: _, ...rest } = truth;
  return told('emptyBlock', rest);
}

/** With one field more in its result. */
export function oddly<T extends object>(transaction: T & { readonly ret?: readonly object[] }): T {
  return { ...transaction, ret: [{ ...transaction.ret?.[0], odd: 1 }] };
}

/** The height that an answer is about. */
function heightIn(answer: unknown): number | undefined {
  if (Array.isArray(answer)) return (answer as readonly RawInfo[])[0]?.blockNumber;
  if (!isObject(answer)) return undefined;
  return (answer as RawBlock).block_header?.raw_data.number ?? (answer as RawInfo).blockNumber;
}

/** With a true id: nothing about it is wrong but that there is no such block. */
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
