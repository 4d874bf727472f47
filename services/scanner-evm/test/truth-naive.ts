import { callRpc } from '@opentill/devnets/evm/json-rpc';

const TRANSFER_TOPIC = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef';
const ATTEMPTS_MAX = 50;
const BLOCKS_MAX = 50;

/** The scanner that everybody writes first: logs from its cursor to the head, tried again after errors. */
export interface NaiveScanner {
  /** Reads up to the head that the node names. */
  step(): Promise<void>;
  /** What it would have credited, as `transaction amount`: more lenient than any natural key. */
  readonly credited: ReadonlySet<string>;
}

interface RawLog {
  readonly transactionHash: string;
  readonly topics: readonly string[];
  readonly data: string;
}

/** Starts behind `height`; `isOurs` tells deposit addresses. */
export function createNaiveScanner(options: {
  readonly rpcUrl: string;
  readonly tokens: readonly string[];
  readonly height: number;
  readonly isOurs: (address: string) => boolean;
}): NaiveScanner {
  const { rpcUrl, tokens, isOurs } = options;
  const credited = new Set<string>();
  let cursor = options.height;

  /** Whatever went wrong, once more; with fewer blocks each time, since many errors mean that. */
  async function insist<T>(call: (attempt: number) => Promise<T>): Promise<T> {
    for (let attempt = 0; ; attempt += 1) {
      try {
        return await call(attempt);
      } catch (error) {
        if (attempt === ATTEMPTS_MAX) throw error;
      }
    }
  }

  async function readNext(head: number, attempt: number): Promise<void> {
    const to = Math.min(head, cursor + Math.max(1, BLOCKS_MAX >> attempt));
    const range = { fromBlock: `0x${(cursor + 1).toString(16)}`, toBlock: `0x${to.toString(16)}` };
    const filter = { ...range, address: tokens, topics: [TRANSFER_TOPIC] };
    for (const log of await callRpc<RawLog[]>(rpcUrl, 'eth_getLogs', [filter])) {
      if (log.topics.length !== 3 || !isOurs(`0x${log.topics[2]!.slice(26)}`)) continue;
      if (BigInt(log.data) > 0n) credited.add(`${log.transactionHash} ${BigInt(log.data)}`);
    }
    cursor = to;
  }

  return {
    credited,
    async step() {
      const head = Number(await insist(() => callRpc<string>(rpcUrl, 'eth_blockNumber', [])));
      while (cursor < head) await insist((attempt) => readNext(head, attempt));
    },
  };
}
